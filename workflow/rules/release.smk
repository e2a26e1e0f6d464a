rule values:
    """Draw the answers inside the categories of one row's records: the table to be released."""
    input:
        files=expand(rules.acquire.output.file, file=DATASET.names),
        held=expand(rules.acquire.output.file, file=DATASET.held_names),
        dataset=DATASET_YAML,
        questions=QUESTIONS_YAML,
        records=rules.code.output.records,
        codebook=rules.code.output.codebook,
        synthetic=lambda w: synthetic(w.row),
        public=lambda w: where.at_hand(PARAMS.release.public) if PARAMS.release.public else [],
        code=lambda w: code_of("values", w.row),
    output:
        f"{RESULTS}/{{row}}/values.parquet",
    log:
        f"{LOGS}/{{row}}/values.log",
    wildcard_constraints:
        row=one_of(ROWS),
    resources:
        mem_mb=resources.memory("values", SIZE),
        runtime=resources.minutes("values", SIZE),
    params:
        model=lambda w: PARAMS.models[ROWS[w.row].model].model_dump_json(),
        values=PARAMS.release.values,
        seed=PARAMS.seed,
        share=PARAMS.holdout,
    shell:
        "python -m modp values --records {input.records:q} --codebook {input.codebook:q}"
        " --name {wildcards.row:q} --model {params.model:q} --synthetic {input.synthetic:q}"
        " --files {input.files:q} --held-files {input.held:q} --share {params.share}"
        " --dataset {input.dataset:q} --questions {input.questions:q} --values {params.values}"
        " --public {input.public:q} --seed {params.seed} --out {output:q} --log {log:q}"


rule release_row:
    """Put one row's records into a folder that may leave the house, in the input's own form."""
    input:
        files=expand(rules.acquire.output.file, file=DATASET.names),
        dataset=DATASET_YAML,
        questions=QUESTIONS_YAML,
        records=rules.code.output.records,
        codebook=rules.code.output.codebook,
        drawn=rules.values.output,
        accuracy=f"{RESULTS}/tables/accuracy.parquet",
        privacy=f"{RESULTS}/tables/privacy.parquet",
        interactions=f"{RESULTS}/tables/interactions.parquet",
        metrics=rules.tables.output.metrics,
        warnings=rules.tables.output.warnings,
        public=lambda w: where.at_hand(PARAMS.release.public) if PARAMS.release.public else [],
        templates=[engines.template(name) for name in engines.RELEASE],
        code=lambda w: code_of("release", w.row),
    output:
        # The folder is written whole; the name of the data file beside this one is the input's.
        f"{RESULTS}/{{row}}/release/README.md",
    log:
        f"{LOGS}/{{row}}/release.log",
    wildcard_constraints:
        row=one_of(PARAMS.release.rows),
    resources:
        mem_mb=resources.memory("release", SIZE),
        runtime=resources.minutes("release", SIZE),
    params:
        name=lambda w: ROWS[w.row].model,
        model=lambda w: PARAMS.models[ROWS[w.row].model].model_dump_json(),
        row=lambda w: ROWS[w.row].model_dump_json(),
        despite=lambda w: ("--despite-warnings" if w.row in PARAMS.release.despite_warnings else ""),
        values=PARAMS.release.values,
        zeros=PARAMS.zeros,
    shell:
        "python -m modp release --records {input.records:q} --codebook {input.codebook:q}"
        " --name {params.name:q} --model {params.model:q} --row {params.row:q}"
        " --drawn {input.drawn:q} --files {input.files:q}"
        " --dataset {input.dataset:q} --questions {input.questions:q}"
        " --values {params.values} --public {input.public:q} {params.despite} --accuracy {input.accuracy:q}"
        " --privacy {input.privacy:q} --interactions {input.interactions:q} --metrics {input.metrics:q} --warnings {input.warnings:q}"
        " --zeros {params.zeros} --out {output:q} --log {log:q}"


rule release:
    """All rows that params.yaml names under release."""
    input:
        lambda _: expand(rules.release_row.output, row=released_rows()),
