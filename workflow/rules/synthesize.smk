rule synthesize:
    """Draw one instance: a synthetic record from each true one."""
    input:
        records=rules.code.output.records,
        codebook=rules.code.output.codebook,
        weights=rules.train.output.weights,
        code=code_of("synthesize"),
    output:
        f"{RESULTS}/instances/{{model}}/{{instance}}.parquet",
    log:
        f"{LOGS}/{{model}}/synthesize-{{instance}}.log",
    params:
        seed=PARAMS.seed,
        device=PARAMS.device,
    shell:
        "python -m modp synthesize --records {input.records:q} --codebook {input.codebook:q}"
        " --name {wildcards.model:q} --weights {input.weights:q} --instance {wildcards.instance}"
        " --seed {params.seed} --device {params.device} --out {output:q} --log {log:q}"


rule postprocess:
    """Make one variant of a model's instances."""
    input:
        records=rules.code.output.records,
        codebook=rules.code.output.codebook,
        weights=rules.train.output.weights,
        instances=lambda w: [
            f"{RESULTS}/instances/{w.model}/{k + 1}.parquet"
            for k in range(VARIANTS[f"{w.model}/{w.variant}"].instances)
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


rule synthesized:
    input:
        expand(
            rules.synthesize.output,
            model=MODELS,
            instance=range(1, PARAMS.instances + 1),
        ),
        [synthetic(row) for row in VARIANTS],
