rule measure:
    """Compare one synthetic table with the true records, cell by cell of the crosstab."""
    input:
        records=rules.code.output.records,
        codebook=rules.code.output.codebook,
        synthetic=lambda w: synthetic(w.row),
        code=code_of("measure"),
    output:
        cells=measures("{row}", CELLS),
        summary=measures("{row}", SUMMARY),
        triples=measures("{row}", TRIPLES),
    log:
        f"{LOGS}/measures/{{row}}.log",
    wildcard_constraints:
        row=one_of(MEASURED),
    params:
        drawn=lambda w: "" if w.row in ENDS else "--drawn",
        notebook="--paper-notebook" if PARAMS.paper_notebook else "",
        zeros=PARAMS.zeros,
        seed=PARAMS.seed,
    shell:
        "python -m modp measure --records {input.records:q} --codebook {input.codebook:q}"
        " --synthetic {input.synthetic:q} {params.drawn} {params.notebook} --zeros {params.zeros} --cells {output.cells:q}"
        " --summary {output.summary:q} --triples {output.triples:q} --seed {params.seed}"
        " --log {log:q}"


rule privacy:
    """Measure in how large a crowd the records of one drawn table hide."""
    input:
        records=rules.code.output.records,
        codebook=rules.code.output.codebook,
        synthetic=lambda w: synthetic(w.row),
        code=code_of("privacy"),
    output:
        measures("{row}", PRIVACY),
    log:
        f"{LOGS}/privacy/{{row}}.log",
    wildcard_constraints:
        row=one_of(DRAWN),
    params:
        seed=PARAMS.seed,
    shell:
        "python -m modp privacy --records {input.records:q} --codebook {input.codebook:q}"
        " --synthetic {input.synthetic:q} --row {wildcards.row:q} --seed {params.seed}"
        " --out {output:q} --log {log:q}"


rule attack:
    """Measure what one table tells of the people whom the models saw, against those held out."""
    input:
        records=rules.code.output.records,
        holdout=rules.code.output.holdout,
        codebook=rules.code.output.codebook,
        synthetic=lambda w: synthetic(w.row),
        weights=lambda w: [] if w.row in ENDS else weights_of(w.row),
        code=code_of("attack"),
    output:
        attack=measures("{row}", ATTACK),
        roc=measures("{row}", ROC),
    log:
        f"{LOGS}/attack/{{row}}.log",
    wildcard_constraints:
        row=one_of(MEASURED),
    params:
        family=lambda w: family_of(w.row),
        attacked=PARAMS.attacked,
        seed=PARAMS.seed,
    shell:
        "python -m modp attack --records {input.records:q} --holdout {input.holdout:q}"
        " --codebook {input.codebook:q} --synthetic {input.synthetic:q} --row {wildcards.row:q}"
        " --family {params.family} --weights {input.weights:q} --attacked {params.attacked:q}"
        " --seed {params.seed} --out {output.attack:q} --roc {output.roc:q} --log {log:q}"


rule frontier:
    """Trace one model's fidelity against privacy, along sweeps or pass-through."""
    input:
        records=rules.code.output.records,
        codebook=rules.code.output.codebook,
        source=lambda w: (weights_of(w.model) if w.model in STATIONARY else instance(w.model, 1)),
        code=code_of("frontier"),
    output:
        frontier("{model}"),
    log:
        f"{LOGS}/{{model}}/frontier.log",
    wildcard_constraints:
        model=one_of(TRAINED),
    threads: cores_of_a_fit
    params:
        curve=lambda w: "sweeps" if w.model in STATIONARY else "pass-through",
        seed=PARAMS.seed,
    shell:
        "python -m modp frontier --records {input.records:q} --codebook {input.codebook:q}"
        " --curve {params.curve} --model {wildcards.model:q} --source {input.source:q}"
        " --seed {params.seed} --threads {threads} --out {output:q} --log {log:q}"


rule mixing:
    """Follow a stationary model's chains: which questions forget the true records slowly."""
    input:
        records=rules.code.output.records,
        codebook=rules.code.output.codebook,
        weights=rules.fit.output.weights,
        code=code_of("mixing"),
    output:
        mixing("{model}"),
    log:
        f"{LOGS}/{{model}}/mixing.log",
    wildcard_constraints:
        model=one_of(STATIONARY),
    threads: cores_of_a_fit
    params:
        seed=PARAMS.seed,
    shell:
        "python -m modp mixing --records {input.records:q} --codebook {input.codebook:q}"
        " --weights {input.weights:q} --model {wildcards.model:q} --seed {params.seed}"
        " --threads {threads} --out {output:q} --log {log:q}"


rule tables:
    """Summarise the run: its tables, metrics.json, and data for DVC's plots."""
    input:
        dataset=DATASET_YAML,
        published=PUBLISHED,
        records=rules.code.output.records,
        codebook=rules.code.output.codebook,
        cells=[measures(row, CELLS) for row in PARAMS.rows],
        summaries=[measures(row, SUMMARY) for row in PARAMS.rows],
        privacy=[measures(row, PRIVACY) for row in DRAWN],
        attacks=[measures(row, ATTACK) for row in MEASURED],
        gates=gates(PARAMS.answers_by_blade.model),
        mixing=[mixing(model) for model in STATIONARY],
        code=code_of("tables"),
    output:
        [f"{RESULTS}/tables/{table}.{ending}" for table in TABLES for ending in ("parquet", "tex")],
        report(
            expand(
                f"{RESULTS}/tables/{{table}}.md",
                table=TABLES,
            ),
            category="Tables",
            caption="../report/table.rst",
        ),
        metrics=f"{RESULTS}/metrics.json",
        parameters=f"{RESULTS}/parameters.json",
        plot=f"{RESULTS}/plots/accuracy.csv",
    log:
        f"{LOGS}/tables.log",
    params:
        rows=PARAMS.rows,
        seed=PARAMS.seed,
        folder=lambda w, output: Path(output[0]).parent,
        model=PARAMS.answers_by_blade.model,
        questions=PARAMS.answers_by_blade.questions,
        stationary=STATIONARY,
        run=PARAMS.model_dump_json(),
    shell:
        "python -m modp tables --records {input.records:q} --codebook {input.codebook:q}"
        " --rows {params.rows:q} --cells {input.cells:q} --summaries {input.summaries:q}"
        " --privacy {input.privacy:q} --attacks {input.attacks:q} --gates {input.gates:q} --gates-of {params.model:q}"
        " --questions {params.questions:q} --mixing {input.mixing:q}"
        " --mixing-of {params.stationary:q} --published {input.published:q}"
        " --dataset {input.dataset:q} --seed {params.seed} --folder {params.folder:q}"
        " --run {params.run:q} --parameters {output.parameters:q}"
        " --metrics {output.metrics:q} --plot {output.plot:q} --log {log:q}"


rule repeat:
    """Run everything that the metrics need once more, with another seed."""
    input:
        files=expand(rules.acquire.output.file, file=DATASET.names),
        parameters=rules.tables.output.parameters,
        code=code_of("repeat"),
    output:
        f"{RESULTS}/repeats/{{number}}.json",
    log:
        f"{LOGS}/repeats/{{number}}.log",
    wildcard_constraints:
        number=one_of(NUMBERS),
    threads: 4
    params:
        seed=lambda w: PARAMS.seed + int(w.number) - 1,
        folder=lambda w, output: Path(output[0]).with_suffix(""),
        name=NAME,
    shell:
        "python -m modp repeat --parameters {input.parameters:q} --seed {params.seed} --folder {params.folder:q}"
        " --dataset {params.name:q} --threads {threads} --out {output:q} --log {log:q}"


rule repeats:
    """Gather the metrics of all runs: mean and standard error of each."""
    input:
        first=rules.tables.output.metrics,
        others=expand(rules.repeat.output, number=NUMBERS),
        dataset=DATASET_YAML,
        code=code_of("repeats"),
    output:
        [f"{RESULTS}/tables/repeats.{ending}" for ending in ("parquet", "tex")],
        report(
            f"{RESULTS}/tables/repeats.md",
            category="Tables",
            caption="../report/table.rst",
            labels={"table": "repeats"},
        ),
    log:
        f"{LOGS}/repeats.log",
    params:
        seed=PARAMS.seed,
        folder=lambda w, output: Path(output[0]).parent,
    shell:
        "python -m modp repeats --metrics {input.first:q} {input.others:q} --dataset {input.dataset:q}"
        " --seed {params.seed} --folder {params.folder:q} --log {log:q}"
