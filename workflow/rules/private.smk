# What a formal guarantee costs is an evaluation on request: snakemake epsilon --cores 2
rule epsilon_of:
    """Trace one private model's fidelity along ε."""
    input:
        dataset=DATASET_YAML,
        records=rules.code.output.records,
        codebook=rules.code.output.codebook,
        public=lambda w: public_table(w.model),
        design=lambda w: design(w.model),
        code=code_of("epsilon"),
    output:
        table=f"{RESULTS}/epsilon/{{model}}.parquet",
        figure=[f"{RESULTS}/epsilon/{{model}}.png", f"{RESULTS}/epsilon/{{model}}.pdf"],
    log:
        f"{LOGS}/{{model}}/epsilon.log",
    wildcard_constraints:
        model=one_of(GUARANTEED),
    threads: 4
    resources:
        mem_mb=resources.memory("epsilon", SIZE),
        runtime=resources.minutes("epsilon", SIZE),
    params:
        model=lambda w: PARAMS.models[w.model].model_dump_json(),
        epsilons=PARAMS.grids.epsilons,
        seed=PARAMS.seed,
    shell:
        "python -m modp epsilon --records {input.records:q} --codebook {input.codebook:q}"
        " --dataset {input.dataset:q} --design {input.design:q} --name {wildcards.model:q} --model {params.model:q}"
        " --epsilons {params.epsilons} --seed {params.seed} --threads {threads}"
        " --table {output.table:q} --out {output.figure:q} --log {log:q}"


rule epsilon:
    input:
        expand(rules.epsilon_of.output, model=GUARANTEED),
