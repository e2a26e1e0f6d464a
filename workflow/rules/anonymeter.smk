# Anonymeter pins old libraries, so it lives in an environment of its own: snakemake anonymeter --cores 2
rule anonymeter_environment:
    """Make the environment, beside the project's own."""
    input:
        where.at_hand("workflow/envs/anonymeter.txt"),
    output:
        touch(".anonymeter/ready"),
    log:
        "logs/anonymeter.log",
    params:
        folder=lambda w, output: Path(output[0]).parent,
    shell:
        "python -m venv {params.folder:q} && {params.folder:q}/bin/pip install -r {input:q} > {log:q} 2>&1"


rule anonymeter_risks:
    """Let Anonymeter attack one table: singling out, linkability, inference."""
    input:
        ready=rules.anonymeter_environment.output,
        records=rules.code.output.records,
        holdout=rules.code.output.holdout,
        synthetic=lambda w: synthetic(w.row),
        script=where.at_hand("workflow/scripts/anonymeter_risks.py"),
    output:
        f"{RESULTS}/anonymeter/{{row}}.json",
    log:
        f"{LOGS}/anonymeter/{{row}}.log",
    wildcard_constraints:
        row=one_of(MEASURED),
    resources:
        mem_mb=resources.memory("measure", SIZE),
        runtime=resources.minutes("measure", SIZE),
    params:
        folder=lambda w, input: Path(str(input.ready)).parent,
        secret=PARAMS.attacked[:1] or [""],
        seed=PARAMS.seed,
    shell:
        "{params.folder:q}/bin/python {input.script:q} --records {input.records:q}"
        " --holdout {input.holdout:q} --synthetic {input.synthetic:q} --secret {params.secret:q}"
        " --seed {params.seed} --out {output:q} > {log:q} 2>&1"


rule anonymeter:
    """Put Anonymeter's risks beside the other attacks."""
    input:
        dataset=DATASET_YAML,
        attacks=f"{RESULTS}/tables/attacks.parquet",
        risks=expand(rules.anonymeter_risks.output, row=MEASURED),
        code=code_of("anonymeter"),
    output:
        f"{RESULTS}/anonymeter/attacks.parquet",
        f"{RESULTS}/anonymeter/attacks.md",
    log:
        f"{LOGS}/anonymeter/table.log",
    resources:
        mem_mb=resources.memory("figure", SIZE),
        runtime=resources.minutes("figure", SIZE),
    params:
        rows=MEASURED,
        seed=PARAMS.seed,
    shell:
        "python -m modp anonymeter --dataset {input.dataset:q} --attacks {input.attacks:q}"
        " --rows {params.rows:q} --risks {input.risks:q} --seed {params.seed} --out {output:q} --log {log:q}"
