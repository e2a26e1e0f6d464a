# A data set taken apart by geography, each part modelled by itself: snakemake scattered --cores 2
wildcard_constraints:
    part=r"[^/]+",


SIZE_OF_A_PART = resources.size_of_a_part(DATASET, SIZE)


checkpoint listed_parts:
    """List the parts that the records are taken apart in."""
    input:
        parts=f"{RESULTS}/parts.parquet",
        code=code_of("listed"),
    output:
        f"{RESULTS}/parts.json",
    log:
        f"{LOGS}/parts/parts.log",
    resources:
        mem_mb=resources.memory("listed", SIZE),
        runtime=resources.minutes("listed", SIZE),
    shell:
        "python -m modp listed --parts {input.parts:q} --out {output:q} --log {log:q}"


rule part:
    """Code, fit, draw and measure one part, in a run of its own."""
    input:
        records=rules.code.output,
        toward=fitted_to_all,
        dataset=DATASET_YAML,
        code=code_of_a_part,
    output:
        f"{RESULTS}/parts/{{part}}.json",
    log:
        f"{LOGS}/parts/{{part}}.log",
    threads: 4
    resources:
        mem_mb=resources.memory("part", SIZE_OF_A_PART),
        runtime=resources.minutes("part", SIZE_OF_A_PART),
    params:
        results=lambda w, input: Path(input.records[0]).parent,
        rows=lambda w: scattered_rows(),
        run=PARAMS.model_dump_json(),
    shell:
        "python -m modp part --dataset {input.dataset:q} --results {params.results:q} --part {wildcards.part:q}"
        " --run {params.run:q} --rows {params.rows:q} --threads {threads} --out {output:q} --log {log:q}"


rule together:
    """Put one row's records of all parts into one table."""
    input:
        records=rules.code.output,
        parts=of_all_parts,
        code=code_of("together"),
    output:
        f"{TOGETHER}/{{row}}/synthetic.parquet",
    log:
        f"{LOGS}/scattered/{{row}}.log",
    wildcard_constraints:
        row=one_of(ROWS),
    resources:
        mem_mb=resources.memory("together", SIZE),
        runtime=resources.minutes("together", SIZE),
    params:
        results=lambda w, input: Path(input.records[0]).parent,
        parts=lambda w: parts(w),
    shell:
        "python -m modp together --results {params.results:q} --parts {params.parts:q} --row {wildcards.row:q}"
        " --out {output:q} --log {log:q}"


# There is no one model of all these records, of which an attacker could have the weights.
use rule measure as measure_together with:
    input:
        records=rules.code.output.records,
        holdout=rules.code.output.holdout,
        codebook=rules.code.output.codebook,
        synthetic=rules.together.output,
        weights=[],
        code=lambda w: code_of("measure", w.row),
    output:
        cells=f"{TOGETHER}/measures/{{row}}/{CELLS}",
        summary=f"{TOGETHER}/measures/{{row}}/{SUMMARY}",
        triples=f"{TOGETHER}/measures/{{row}}/{TRIPLES}",
        attack=f"{TOGETHER}/measures/{{row}}/{ATTACK}",
        roc=f"{TOGETHER}/measures/{{row}}/{ROC}",
        crowds=f"{TOGETHER}/measures/{{row}}/{PRIVACY}",
    log:
        f"{LOGS}/scattered/measures/{{row}}.log",


rule tables_together:
    """Summarise all parts' synthetic records as those of one run."""
    input:
        dataset=DATASET_YAML,
        records=rules.code.output.records,
        codebook=rules.code.output.codebook,
        cells=measured_together(CELLS),
        summaries=measured_together(SUMMARY),
        privacy=measured_together(PRIVACY),
        attacks=measured_together(ATTACK),
        ideal=[measures(BOOTSTRAP, file) for file in (CELLS, SUMMARY, ATTACK)],
        code=code_of("tables"),
    output:
        [
            f"{TOGETHER}/tables/{table}.{ending}"
            for table in (
                "accuracy",
                "three_way",
                "interactions",
                "privacy",
                "attacks",
                "mixing",
                "questions",
            )
            for ending in ("parquet", "md", "tex")
        ],
        warnings=f"{TOGETHER}/tables/warnings.json",
        metrics=f"{TOGETHER}/metrics.json",
        parameters=f"{TOGETHER}/parameters.json",
        plot=f"{TOGETHER}/plots/accuracy.csv",
    log:
        f"{LOGS}/scattered/tables.log",
    resources:
        mem_mb=resources.memory("tables", SIZE),
        runtime=resources.minutes("tables", SIZE),
    params:
        rows=lambda w: [BOOTSTRAP, *scattered_rows()],
        seed=PARAMS.seed,
        folder=lambda w, output: Path(output[0]).parent,
        run=PARAMS.model_dump_json(),
    shell:
        "python -m modp tables --records {input.records:q} --codebook {input.codebook:q}"
        " --rows {params.rows:q} --cells {input.ideal[0]:q} {input.cells:q}"
        " --summaries {input.ideal[1]:q} {input.summaries:q} --privacy {input.privacy:q}"
        " --attacks {input.ideal[2]:q} {input.attacks:q} --dataset {input.dataset:q} --seed {params.seed}"
        " --folder {params.folder:q} --run {params.run:q} --parameters {output.parameters:q}"
        " --metrics {output.metrics:q} --warnings {output.warnings:q} --plot {output.plot:q} --log {log:q}"


rule parts:
    """Gather the metrics of every part, and of all together."""
    input:
        parts=of_all_parts,
        names=f"{RESULTS}/parts.parquet",
        national=rules.tables_together.output.metrics,
        dataset=DATASET_YAML,
        code=code_of("parts"),
    output:
        [f"{TOGETHER}/tables/parts.{ending}" for ending in ("parquet", "tex")],
        report(
            f"{TOGETHER}/tables/parts.md",
            category="Tables",
            caption="../report/table.rst",
            labels={"table": "parts"},
        ),
    log:
        f"{LOGS}/scattered/parts.log",
    resources:
        mem_mb=resources.memory("parts", SIZE),
        runtime=resources.minutes("parts", SIZE),
    params:
        results=lambda w, input: Path(input.names).parent,
        rows=lambda w: scattered_rows(),
        seed=PARAMS.seed,
        folder=lambda w, output: Path(output[0]).parent,
    shell:
        "python -m modp parts --dataset {input.dataset:q} --results {params.results:q}"
        " --national {input.national:q} --metrics {input.parts:q} --rows {params.rows:q} --seed {params.seed}"
        " --folder {params.folder:q} --log {log:q}"


use rule figure as figure_together with:
    input:
        codebook=rules.code.output.codebook,
        published=[],
        inputs=lambda w: [
            f"{TOGETHER}/{file}"
            for file in registry.KINDS[TOGETHER_FIGURES[w.figure]].files(scattered_rows(), [])
        ],
        code=lambda w: engines.code_of_figure(TOGETHER_FIGURES[w.figure]),
    output:
        report(
            f"{TOGETHER}/figures/{{figure}}.png",
            category="Figures",
            labels={"figure": "{figure}, all parts"},
        ),
        f"{TOGETHER}/figures/{{figure}}.pdf",
    log:
        f"{LOGS}/scattered/figures/{{figure}}.log",
    wildcard_constraints:
        figure=one_of(TOGETHER_FIGURES),
    params:
        kind=lambda w: TOGETHER_FIGURES[w.figure],
        names=lambda w: scattered_rows(),
        draws=lambda w: registry.KINDS[TOGETHER_FIGURES[w.figure]].draws,
        title=DATASET.title,
        seed=PARAMS.seed,


rule scattered:
    input:
        rules.tables_together.output,
        rules.parts.output,
        expand(rules.figure_together.output, figure=TOGETHER_FIGURES),
