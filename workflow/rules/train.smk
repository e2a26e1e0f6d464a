rule train:
    """Fit one model in its stages."""
    input:
        records=rules.code.output.records,
        codebook=rules.code.output.codebook,
        code=code_of("train"),
    output:
        weights=f"{RESULTS}/{{model}}/model.safetensors",
        history=f"{RESULTS}/{{model}}/history.parquet",
        plot=f"{RESULTS}/plots/history/{{model}}.csv",
    log:
        text=f"{LOGS}/{{model}}/train.log",
        timing=f"{LOGS}/{{model}}/timing.csv",
    wildcard_constraints:
        model=one_of(MODELS),
    threads: cores_of_a_fit
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
        " --history {output.history:q} --plot {output.plot:q} --timing {log.timing:q}"
        " --log {log.text:q}"


rule gates:
    """Write how a model's gate shares the records out between its blades."""
    input:
        records=rules.code.output.records,
        codebook=rules.code.output.codebook,
        weights=rules.train.output.weights,
        code=code_of("gates"),
    output:
        gates("{model}"),
    log:
        f"{LOGS}/{{model}}/gates.log",
    wildcard_constraints:
        model=one_of(MODELS),
    shell:
        "python -m modp gates --records {input.records:q} --codebook {input.codebook:q}"
        " --weights {input.weights:q} --out {output:q} --log {log:q}"


rule fit:
    """Fit one stationary model: sweep chains until their crosstab is the true one."""
    input:
        records=rules.code.output.records,
        codebook=rules.code.output.codebook,
        code=code_of("fit"),
    output:
        weights=f"{RESULTS}/{{model}}/model.safetensors",
        history=f"{RESULTS}/{{model}}/history.parquet",
        plot=f"{RESULTS}/plots/history/{{model}}.csv",
    log:
        f"{LOGS}/{{model}}/fit.log",
    wildcard_constraints:
        model=one_of(STATIONARY),
    threads: cores_of_a_fit
    resources:
        mem_mb=2000,
    params:
        model=lambda w: PARAMS.stationary[w.model].model_dump_json(),
        zeros=PARAMS.zeros,
        seed=PARAMS.seed,
        device=PARAMS.device,
    shell:
        "python -m modp fit --records {input.records:q} --codebook {input.codebook:q}"
        " --name {wildcards.model:q} --model {params.model:q} --zeros {params.zeros} --seed {params.seed} --device {params.device}"
        " --threads {threads} --weights {output.weights:q} --history {output.history:q}"
        " --plot {output.plot:q} --log {log:q}"


rule trained:
    input:
        expand(rules.fit.output, model=STATIONARY),
        expand(rules.train.output, model=MODELS),
        expand(rules.gates.output, model=MODELS),
