rule measure:
    """Compare one synthetic table with the true records, cell by cell of the crosstab."""
    input:
        records=rules.code.output.records,
        codebook=rules.code.output.codebook,
        synthetic=lambda w: synthetic(w.row),
        code=code_of("measure"),
    output:
        cells=measures("{row}", CELLS),
        summary=measures("{row}", SUMMARY),
    log:
        f"{LOGS}/measures/{{row}}.log",
    wildcard_constraints:
        row="|".join(re.escape(row) for row in PARAMS.rows),
    params:
        drawn=lambda w: "" if w.row == BOOTSTRAP else "--drawn",
    shell:
        "python -m modp measure --records {input.records:q} --codebook {input.codebook:q}"
        " --synthetic {input.synthetic:q} {params.drawn} --cells {output.cells:q}"
        " --summary {output.summary:q} --log {log:q}"


rule tables:
    """Summarise all rows: the accuracy table, metrics.json, and data for DVC's plots."""
    input:
        dataset=DATASET_YAML,
        codebook=rules.code.output.codebook,
        cells=[measures(row, CELLS) for row in PARAMS.rows],
        summaries=[measures(row, SUMMARY) for row in PARAMS.rows],
        code=code_of("tables"),
    output:
        table=f"{RESULTS}/tables/accuracy.parquet",
        markdown=report(
            f"{RESULTS}/tables/accuracy.md",
            category="Tables",
            caption="../report/accuracy.rst",
        ),
        metrics=f"{RESULTS}/metrics.json",
        plot=f"{RESULTS}/plots/accuracy.csv",
    log:
        f"{LOGS}/tables.log",
    params:
        rows=PARAMS.rows,
        seed=PARAMS.seed,
    shell:
        "python -m modp tables --codebook {input.codebook:q} --rows {params.rows:q}"
        " --cells {input.cells:q} --summaries {input.summaries:q} --dataset {input.dataset:q}"
        " --seed {params.seed} --table {output.table:q} --markdown {output.markdown:q}"
        " --metrics {output.metrics:q} --plot {output.plot:q} --log {log:q}"
