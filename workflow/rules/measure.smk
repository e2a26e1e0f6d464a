rule measure:
    """Compare one synthetic table with the true records, cell by cell of the crosstab."""
    input:
        records=rules.code.output.records,
        codebook=rules.code.output.codebook,
        synthetic=lambda w: synthetic(w.row),
        code=code_of("measure"),
    output:
        f"{RESULTS}/cells/{{row}}.parquet",
    log:
        f"{LOGS}/cells/{{row}}.log",
    wildcard_constraints:
        row="|".join(re.escape(row) for row in PARAMS.rows),
    shell:
        "python -m modp measure --records {input.records:q} --codebook {input.codebook:q}"
        " --synthetic {input.synthetic:q} --out {output:q} --log {log:q}"


rule tables:
    """Summarise all rows: the accuracy table, metrics.json, and data for DVC's plots."""
    input:
        records=rules.code.output.records,
        codebook=rules.code.output.codebook,
        synthetic=[synthetic(row) for row in PARAMS.rows],
        cells=[cells(row) for row in PARAMS.rows],
        histories=expand(rules.train.output.history, model=MODELS),
        code=code_of("tables"),
    output:
        table=f"{RESULTS}/tables/accuracy.parquet",
        markdown=report(
            f"{RESULTS}/tables/accuracy.md",
            category="Tables",
            caption="../report/accuracy.rst",
        ),
        metrics=f"{RESULTS}/metrics.json",
        accuracy_plot=f"{RESULTS}/plots/accuracy.csv",
        history_plots=expand(f"{RESULTS}/plots/history/{{model}}.csv", model=MODELS),
    log:
        f"{LOGS}/tables.log",
    params:
        rows=PARAMS.rows,
        models=MODELS,
        title=DATASET.title,
        seed=PARAMS.seed,
        plots=f"{RESULTS}/plots",
    shell:
        "python -m modp tables --records {input.records:q} --codebook {input.codebook:q}"
        " --rows {params.rows:q} --synthetic {input.synthetic:q} --cells {input.cells:q}"
        " --models {params.models:q} --histories {input.histories:q}"
        " --title {params.title:q} --seed {params.seed} --table {output.table:q}"
        " --markdown {output.markdown:q} --metrics {output.metrics:q} --plots {params.plots:q}"
        " --log {log:q}"


rule measured:
    input:
        rules.tables.output,
        rules.tables.input.cells,
