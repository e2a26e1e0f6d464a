# Whole households, where the data set says "records: households".
rule code:
    """Bring persons and their households together, code their answers, hold households out."""
    input:
        files=expand(rules.acquire.output.file, file=DATASET.names),
        dataset=DATASET_YAML,
        questions=QUESTIONS_YAML,
        code=code_of("gather"),
    output:
        records=f"{RESULTS}/records.parquet",
        homes=whole("households.parquet"),
        holdout=f"{RESULTS}/holdout.parquet",
        home_holdout=whole("holdout_households.parquet"),
        codebook=f"{RESULTS}/codebook.json",
        home_codebook=whole("codebook_households.json"),
        said=whole("members.json"),
    log:
        f"{LOGS}/code.log",
    resources:
        mem_mb=resources.memory("gather", SIZE),
        runtime=resources.minutes("gather", SIZE),
    params:
        seed=PARAMS.seed,
        share=PARAMS.holdout,
        order=SOURCES,
    shell:
        "python -m modp gather --files {input.files:q} --dataset {input.dataset:q}"
        " --questions {input.questions:q} --share {params.share} --seed {params.seed}"
        " --records {output.records:q} --homes {output.homes:q} --holdout {output.holdout:q}"
        " --home-holdout {output.home_holdout:q} --codebook {output.codebook:q}"
        " --home-codebook {output.home_codebook:q} --said {output.said:q} --log {log:q}"


rule coded:
    input:
        rules.code.output,
