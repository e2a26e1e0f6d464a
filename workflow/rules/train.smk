rule train:
    """Fit one model in its stages; all cores work on one model at a time."""
    input:
        records=rules.code.output.records,
        codebook=rules.code.output.codebook,
        code=code_of("train"),
    output:
        weights=f"{RESULTS}/{{model}}/model.safetensors",
        history=f"{RESULTS}/{{model}}/history.parquet",
        plot=f"{RESULTS}/plots/history/{{model}}.csv",
    log:
        f"{LOGS}/{{model}}/train.log",
    threads: 4
    resources:
        mem_mb=2000,
    params:
        model=lambda w: PARAMS.models[w.model].model_dump_json(),
        seed=PARAMS.seed,
        device=PARAMS.device,
    shell:
        "python -m modp train --records {input.records:q} --codebook {input.codebook:q}"
        " --name {wildcards.model:q} --model {params.model:q} --seed {params.seed}"
        " --device {params.device} --threads {threads} --weights {output.weights:q}"
        " --history {output.history:q} --plot {output.plot:q} --log {log:q}"


rule trained:
    input:
        expand(rules.train.output, model=MODELS),
