rule instances:
    """Draw a model's instances, one synthetic record from every true one in each; write its gate's weights."""
    input:
        records=rules.code.output.records,
        codebook=rules.code.output.codebook,
        weights=rules.fit.output.weights,
        code=lambda w: code_of("instances", w.model),
    output:
        instances=[instance("{model}", number + 1) for number in range(PARAMS.instances)],
        gates=gates("{model}"),
    log:
        f"{LOGS}/{{model}}/instances.log",
    wildcard_constraints:
        model=one_of(INSTANCED),
    resources:
        **resources.gpus(PARAMS.device),
        mem_mb=resources.memory("instances", SIZE),
        runtime=resources.minutes("instances", SIZE),
    params:
        family=lambda w: family_of(w.model),
        seed=PARAMS.seed,
        device=PARAMS.device,
    shell:
        "python -m modp instances --records {input.records:q} --codebook {input.codebook:q}"
        " --name {wildcards.model:q} --family {params.family} --weights {input.weights:q}"
        " --seed {params.seed} --device {params.device} --out {output.instances:q}"
        " --gates {output.gates:q} --log {log:q}"


rule draw:
    """Draw one row of the accuracy table."""
    input:
        records=rules.code.output.records,
        codebook=rules.code.output.codebook,
        weights=lambda w: weights_of(w.row),
        instances=lambda w: instances_of(ROWS[w.row].model, getattr(ROWS[w.row], "instances", 1)),
        design=lambda w: design(w.row),
        code=lambda w: code_of("draw", w.row),
    output:
        synthetic("{row}"),
    log:
        f"{LOGS}/{{row}}.log",
    wildcard_constraints:
        row=one_of(ROWS),
    resources:
        **resources.gpus(PARAMS.device),
        mem_mb=resources.memory("draw", SIZE),
        runtime=resources.minutes("draw", SIZE),
    params:
        family=lambda w: family_of(w.row),
        row=lambda w: ROWS[w.row].model_dump_json(),
        weighted=lambda w: weighted(ROWS[w.row].model),
        question=DATASET.asked_weight or [],
        zeros=PARAMS.zeros,
        seed=PARAMS.seed,
        device=PARAMS.device,
    shell:
        "python -m modp draw --records {input.records:q} --codebook {input.codebook:q}"
        " --name {wildcards.row:q} --family {params.family} --weights {input.weights:q}"
        " --row {params.row:q} --instances {input.instances:q} --zeros {params.zeros}"
        " --design {input.design:q} {params.weighted} --weight-question {params.question:q}"
        " --seed {params.seed} --device {params.device} --threads {threads} --out {output:q} --log {log:q}"
