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
    wildcard_constraints:
        model=one_of(MODELS),
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
        weights=lambda w: weights_of(w.row),
        instances=lambda w: [
            instance(VARIANTS[w.row].model, number + 1)
            for number in range(VARIANTS[w.row].instances)
        ],
        code=code_of("postprocess"),
    output:
        synthetic("{row}"),
    log:
        f"{LOGS}/{{row}}.log",
    wildcard_constraints:
        row=one_of(VARIANTS),
    params:
        variant=lambda w: VARIANTS[w.row].model_dump_json(),
        zeros=PARAMS.zeros,
        seed=PARAMS.seed,
        device=PARAMS.device,
    shell:
        "python -m modp postprocess --records {input.records:q} --codebook {input.codebook:q}"
        " --weights {input.weights:q} --instances {input.instances:q}"
        " --variant {params.variant:q} --zeros {params.zeros} --seed {params.seed} --device {params.device}"
        " --out {output:q} --log {log:q}"


rule sweep:
    """Redraw the true records question by question, some sweeps long."""
    input:
        records=rules.code.output.records,
        codebook=rules.code.output.codebook,
        weights=lambda w: weights_of(w.row),
        code=code_of("sweep"),
    output:
        synthetic("{row}"),
    log:
        f"{LOGS}/{{row}}.log",
    wildcard_constraints:
        row=one_of(SWEPT),
    params:
        family=lambda w: family_of(w.row),
        sweeps=lambda w: SWEPT[w.row].sweeps,
        start=lambda w: SWEPT[w.row].start,
        zeros=PARAMS.zeros,
        seed=PARAMS.seed,
        device=PARAMS.device,
    shell:
        "python -m modp sweep --records {input.records:q} --codebook {input.codebook:q}"
        " --weights {input.weights:q} --family {params.family} --row {wildcards.row:q}"
        " --sweeps {params.sweeps} --start {params.start} --zeros {params.zeros} --seed {params.seed} --device {params.device}"
        " --threads {threads} --out {output:q} --log {log:q}"
