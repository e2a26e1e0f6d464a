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


# An attempt to contradict the guarantee, of no data set's records: snakemake audit --cores 1
AUDIT_OF = (1, 4)


rule audit:
    """Attack a thousand small releases with and without one record, and as many of a household's."""
    input:
        script=where.at_hand("benchmarks/audit.py"),
        measured=where.at_hand("benchmarks/measured.py"),
        code=code_of("epsilon"),
    output:
        f"{PARAMS.results}/audit.txt",
    log:
        "logs/audit.log",
    resources:
        mem_mb=2000,
        runtime=60,
    params:
        households=AUDIT_OF,
    shell:
        "(for size in {params.households}; do python {input.script:q} --household $size || exit 1; done)"
        " > {output:q} 2> {log:q}"
