# Models with a formal guarantee. The ε sweep is an evaluation on request: snakemake epsilon --cores 2
EPSILONS = (0.1, 0.3, 1, 3, 10)


rule fit_private:
    """Fit one stationary model to noisy tables within a privacy budget, and draw its table."""
    input:
        records=rules.code.output.records,
        codebook=rules.code.output.codebook,
        code=code_of("fit_private"),
    output:
        weights=f"{RESULTS}/{{model}}/model.safetensors",
        history=f"{RESULTS}/{{model}}/history.parquet",
        released=synthetic(f"{{model}}/{RELEASED}"),
    log:
        f"{LOGS}/{{model}}/fit_private.log",
    wildcard_constraints:
        model=one_of(PRIVATE),
    threads: cores_of_a_fit
    resources:
        mem_mb=2000,
    params:
        model=lambda w: PARAMS.private[w.model].model_dump_json(),
        seed=PARAMS.seed,
    shell:
        "python -m modp fit_private --records {input.records:q} --codebook {input.codebook:q}"
        " --name {wildcards.model:q} --model {params.model:q} --seed {params.seed}"
        " --threads {threads} --weights {output.weights:q} --history {output.history:q}"
        " --out {output.released:q} --log {log:q}"


rule epsilon_of:
    """Trace one private model's fidelity along ε."""
    input:
        dataset=DATASET_YAML,
        records=rules.code.output.records,
        codebook=rules.code.output.codebook,
        code=code_of("epsilon"),
    output:
        table=f"{RESULTS}/epsilon/{{model}}.parquet",
        figure=[f"{RESULTS}/epsilon/{{model}}.png", f"{RESULTS}/epsilon/{{model}}.pdf"],
    log:
        f"{LOGS}/{{model}}/epsilon.log",
    wildcard_constraints:
        model=one_of(PRIVATE),
    threads: 4
    params:
        model=lambda w: PARAMS.private[w.model].model_dump_json(),
        epsilons=EPSILONS,
        seed=PARAMS.seed,
    shell:
        "python -m modp epsilon --records {input.records:q} --codebook {input.codebook:q}"
        " --dataset {input.dataset:q} --name {wildcards.model:q} --model {params.model:q}"
        " --epsilons {params.epsilons} --seed {params.seed} --threads {threads}"
        " --table {output.table:q} --out {output.figure:q} --log {log:q}"


rule epsilon:
    input:
        expand(rules.epsilon_of.output, model=PRIVATE),
