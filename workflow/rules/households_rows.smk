# Of whole households: rows drawn from their models, and tables of them.
rule draw:
    """Draw one row: persons who belong together, and their households."""
    input:
        records=rules.code.output.records,
        codebook=rules.code.output.codebook,
        homes=rules.code.output.homes,
        home_codebook=rules.code.output.home_codebook,
        weights=lambda w: weights_of(w.row),
        code=lambda w: code_of("draw_households", w.row),
    output:
        persons=synthetic("{row}"),
        homes=synthetic_households("{row}"),
    log:
        f"{LOGS}/{{row}}.log",
    wildcard_constraints:
        row=one_of(ROWS),
    threads: 4
    resources:
        mem_mb=resources.memory("draw_households", SIZE),
        runtime=resources.minutes("draw_households", SIZE),
    params:
        model=lambda w: PARAMS.models[ROWS[w.row].model].model_dump_json(),
        row=lambda w: ROWS[w.row].model_dump_json(),
        seed=PARAMS.seed,
    shell:
        "python -m modp draw_households --records {input.records:q} --codebook {input.codebook:q}"
        " --homes {input.homes:q} --home-codebook {input.home_codebook:q} --name {wildcards.row:q}"
        " --model {params.model:q}"
        " --row {params.row:q} --weights {input.weights:q} --seed {params.seed} --threads {threads}"
        " --out {output.persons:q} --home-out {output.homes:q} --log {log:q}"


rule tables:
    """Summarise the run: its tables, metrics.json, and the crosstab of couples."""
    input:
        dataset=DATASET_YAML,
        records=rules.code.output.records,
        codebook=rules.code.output.codebook,
        homes=rules.code.output.homes,
        home_codebook=rules.code.output.home_codebook,
        said=rules.code.output.said,
        holdout=rules.code.output.holdout,
        home_holdout=rules.code.output.home_holdout,
        synthetic=[synthetic(row) for row in ROWS],
        home_synthetic=[synthetic_households(row) for row in ROWS],
        histories=expand(rules.fit.output.history, model=DRAWN_FROM),
        code=code_of("tables_households"),
    output:
        [f"{RESULTS}/tables/{table}.{ending}" for table in TABLES for ending in ("parquet", "tex")],
        report(
            expand(
                f"{RESULTS}/tables/{{table}}.md",
                table=TABLES,
            ),
            category="Tables",
            caption="../report/table.rst",
        ),
        warnings=f"{RESULTS}/tables/warnings.json",
        metrics=f"{RESULTS}/metrics.json",
        parameters=f"{RESULTS}/parameters.json",
        couples=f"{RESULTS}/measures/couples.parquet",
    log:
        f"{LOGS}/tables.log",
    resources:
        mem_mb=resources.memory("tables_households", SIZE),
        runtime=resources.minutes("tables_households", SIZE),
    params:
        rows=list(ROWS),
        fitted=DRAWN_FROM,
        seed=PARAMS.seed,
        folder=lambda w, output: Path(output[0]).parent,
        run=PARAMS.model_dump_json(),
    shell:
        "python -m modp tables_households --records {input.records:q} --codebook {input.codebook:q}"
        " --homes {input.homes:q} --home-codebook {input.home_codebook:q} --said {input.said:q}"
        " --holdout {input.holdout:q} --home-holdout {input.home_holdout:q} --rows {params.rows:q}"
        " --synthetic {input.synthetic:q} --home-synthetic {input.home_synthetic:q}"
        " --histories {input.histories:q} --histories-of {params.fitted:q} --dataset {input.dataset:q}"
        " --seed {params.seed} --run {params.run:q} --folder {params.folder:q} --couples {output.couples:q}"
        " --parameters {output.parameters:q} --metrics {output.metrics:q} --warnings {output.warnings:q}"
        " --log {log:q}"
