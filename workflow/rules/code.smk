rule code:
    """Merge, cut into deciles, mark what is missing: raw columns become questions."""
    input:
        files=expand(rules.acquire.output.file, file=DATASET.names),
        dataset=DATASET_YAML,
        questions=QUESTIONS_YAML,
        code=code_of("code"),
    output:
        records=f"{RESULTS}/records.parquet",
        codebook=f"{RESULTS}/codebook.json",
    log:
        f"{LOGS}/code.log",
    params:
        seed=PARAMS.seed,
        order=DATASET.names,
    shell:
        "python -m modp code --files {input.files:q} --dataset {input.dataset:q}"
        " --questions {input.questions:q} --seed {params.seed} --records {output.records:q} --codebook {output.codebook:q}"
        " --log {log:q}"


rule bootstrap:
    """Resample the true records: the ideal that no synthesis can be expected to beat."""
    input:
        records=rules.code.output.records,
        codebook=rules.code.output.codebook,
        code=code_of("bootstrap"),
    output:
        f"{RESULTS}/bootstrap.parquet",
    log:
        f"{LOGS}/bootstrap.log",
    params:
        seed=PARAMS.seed,
    shell:
        "python -m modp bootstrap --records {input.records:q} --codebook {input.codebook:q}"
        " --seed {params.seed} --out {output:q} --log {log:q}"


rule coded:
    input:
        rules.code.output,
        rules.bootstrap.output,
        measures(BOOTSTRAP, CELLS),
