rule synthesize:
    """Draw a model's instances: in each, one synthetic record from every true one."""
    input:
        records=rules.code.output.records,
        codebook=rules.code.output.codebook,
        weights=rules.train.output.weights,
        code=code_of("synthesize"),
    output:
        [instance("{model}", number + 1) for number in range(PARAMS.instances)],
    log:
        f"{LOGS}/{{model}}/synthesize.log",
    params:
        seed=PARAMS.seed,
        device=PARAMS.device,
    shell:
        "python -m modp synthesize --records {input.records:q} --codebook {input.codebook:q}"
        " --name {wildcards.model:q} --weights {input.weights:q} --seed {params.seed}"
        " --device {params.device} --out {output:q} --log {log:q}"


rule postprocess:
    """Make one variant of a model's instances."""
    input:
        records=rules.code.output.records,
        codebook=rules.code.output.codebook,
        weights=rules.train.output.weights,
        instances=lambda w: [
            instance(w.model, number + 1)
            for number in range(VARIANTS[f"{w.model}/{w.variant}"].instances)
        ],
        code=code_of("postprocess"),
    output:
        f"{RESULTS}/{{model}}/{{variant}}/synthetic.parquet",
    log:
        f"{LOGS}/{{model}}/{{variant}}.log",
    params:
        variant=lambda w: VARIANTS[f"{w.model}/{w.variant}"].model_dump_json(),
        seed=PARAMS.seed,
        device=PARAMS.device,
    shell:
        "python -m modp postprocess --records {input.records:q} --codebook {input.codebook:q}"
        " --weights {input.weights:q} --instances {input.instances:q}"
        " --variant {params.variant:q} --seed {params.seed} --device {params.device}"
        " --out {output:q} --log {log:q}"
