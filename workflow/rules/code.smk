rule code:
    """Merge, cut into deciles, mark what is missing: raw columns become questions."""
    input:
        files=expand(rules.acquire.output.file, file=DATASET.names),
        held=expand(rules.acquire.output.file, file=DATASET.held_names),
        dataset=DATASET_YAML,
        questions=QUESTIONS_YAML,
        codebook=CODEBOOK_OF or [],
        whole=WHOLE,
        code=code_of("code"),
    output:
        records=f"{RESULTS}/records.parquet",
        holdout=f"{RESULTS}/holdout.parquet",
        codebook=f"{RESULTS}/codebook.json",
        weights=f"{RESULTS}/weights.parquet",
        parts=f"{RESULTS}/parts.parquet" if DATASET.scatter else [],
    log:
        f"{LOGS}/code.log",
    resources:
        mem_mb=resources.memory("code", SIZE),
        runtime=resources.minutes("code", SIZE),
    params:
        seed=PARAMS.seed,
        share=PARAMS.holdout,
        order=SOURCES,
    shell:
        "python -m modp code --files {input.files:q} --held-files {input.held:q}"
        " --dataset {input.dataset:q} --questions {input.questions:q} --codebook-of {input.codebook:q}"
        " --share {params.share}"
        " --seed {params.seed} --records {output.records:q} --holdout {output.holdout:q}"
        " --codebook {output.codebook:q} --weights {output.weights:q} --parts {output.parts:q} --log {log:q}"


rule bootstrap:
    """Draw the two ends: a resample of the true records, the ideal of fidelity, and independent answers."""
    input:
        records=rules.code.output.records,
        codebook=rules.code.output.codebook,
        code=code_of("bootstrap"),
    output:
        bootstrap=synthetic(BOOTSTRAP),
        marginals=synthetic(MARGINALS),
    log:
        f"{LOGS}/bootstrap.log",
    resources:
        mem_mb=resources.memory("bootstrap", SIZE),
        runtime=resources.minutes("bootstrap", SIZE),
    params:
        seed=PARAMS.seed,
    shell:
        "python -m modp bootstrap --records {input.records:q} --codebook {input.codebook:q}"
        " --seed {params.seed} --bootstrap {output.bootstrap:q} --marginals {output.marginals:q}"
        " --log {log:q}"


rule coded:
    input:
        rules.code.output,
        rules.bootstrap.output,
        [measures(row, file) for row in ENDS for file in (CELLS, ATTACK)],
        [measures(row, RELEASES) for row in AGAIN if row in ENDS],
