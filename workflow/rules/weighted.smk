# Only where the data set names weights.
WEIGHTED = f"{RESULTS}/tables/weighted/cells.parquet"
ESTIMATED = f"{RESULTS}/tables/weighted/estimates.parquet"


rule weigh:
    """Compare every row's weighted crosstab with the true one."""
    input:
        dataset=DATASET_YAML,
        records=rules.code.output.records,
        codebook=rules.code.output.codebook,
        weights=rules.code.output.weights,
        synthetic=[synthetic(row) for row in ROWS],
        code=code_of("weigh"),
    output:
        WEIGHTED,
    log:
        f"{LOGS}/weigh.log",
    threads: 4
    resources:
        mem_mb=resources.memory("weigh", SIZE),
        runtime=resources.minutes("weigh", SIZE),
    params:
        rows=list(ROWS),
        seed=PARAMS.seed,
    shell:
        "python -m modp weigh --records {input.records:q} --codebook {input.codebook:q}"
        " --weights {input.weights:q} --dataset {input.dataset:q} --rows {params.rows:q}"
        " --synthetic {input.synthetic:q} --seed {params.seed} --threads {threads} --out {output:q}"
        " --log {log:q}"


rule estimate:
    """Make the estimates that a user would publish, from the true records and from every row's."""
    input:
        files=expand(rules.acquire.output.file, file=DATASET.names),
        held=expand(rules.acquire.output.file, file=DATASET.held_names),
        dataset=DATASET_YAML,
        questions=QUESTIONS_YAML,
        records=rules.code.output.records,
        codebook=rules.code.output.codebook,
        weights=rules.code.output.weights,
        synthetic=[synthetic(row) for row in ROWS],
        code=code_of("estimate"),
    output:
        ESTIMATED,
    log:
        f"{LOGS}/estimate.log",
    resources:
        mem_mb=resources.memory("estimate", SIZE),
        runtime=resources.minutes("estimate", SIZE),
    params:
        rows=list(ROWS),
        guaranteed=[row for row in ROWS if ROWS[row].model in GUARANTEED],
        of=PARAMS.estimates.of,
        by=PARAMS.estimates.by,
        seed=PARAMS.seed,
        share=PARAMS.holdout,
    shell:
        "python -m modp estimate --records {input.records:q} --codebook {input.codebook:q}"
        " --weights {input.weights:q} --dataset {input.dataset:q} --rows {params.rows:q}"
        " --synthetic {input.synthetic:q} --seed {params.seed} --files {input.files:q}"
        " --held-files {input.held:q} --share {params.share} --questions {input.questions:q}"
        " --guaranteed {params.guaranteed:q} --of {params.of:q} --by {params.by:q} --out {output:q} --log {log:q}"
