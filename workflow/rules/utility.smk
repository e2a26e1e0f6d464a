rule utility:
    """Try rows as learners and analysts would, beside the true records and people held out."""
    input:
        files=expand(rules.acquire.output.file, file=DATASET.names),
        held=expand(rules.acquire.output.file, file=DATASET.held_names),
        dataset=DATASET_YAML,
        questions=QUESTIONS_YAML,
        records=rules.code.output.records,
        holdout=rules.code.output.holdout,
        codebook=rules.code.output.codebook,
        synthetic=[synthetic(row) for row in USEFUL],
        raw=[values(row) for row in USEFUL],
        code=code_of("utility"),
    output:
        measured=f"{RESULTS}/tables/utility/measured.parquet",
        estimated=f"{RESULTS}/tables/utility/estimated.parquet",
    log:
        f"{LOGS}/utility.log",
    resources:
        mem_mb=resources.memory("utility", SIZE),
        runtime=resources.minutes("utility", SIZE),
    params:
        rows=USEFUL,
        targets=[] if PARAMS.utility.targets == "auto" else PARAMS.utility.targets,
        analyses=json.dumps([analysis.model_dump() for analysis in ANALYSES]),
        seed=PARAMS.seed,
        share=PARAMS.holdout,
    shell:
        "python -m modp utility --records {input.records:q} --holdout {input.holdout:q}"
        " --codebook {input.codebook:q} --files {input.files:q} --held-files {input.held:q}"
        " --share {params.share} --dataset {input.dataset:q} --questions {input.questions:q}"
        " --rows {params.rows:q} --synthetic {input.synthetic:q} --raw {input.raw:q}"
        " --resample --targets {params.targets:q} --analyses {params.analyses:q} --seed {params.seed}"
        " --out {output.measured:q} --estimates {output.estimated:q} --log {log:q}"
