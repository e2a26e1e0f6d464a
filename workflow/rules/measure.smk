rule measure:
    """Measure one table: its crosstabs against the true ones, its crowds, and what attacks on it find."""
    input:
        records=rules.code.output.records,
        holdout=rules.code.output.holdout,
        codebook=rules.code.output.codebook,
        synthetic=lambda w: synthetic(w.row),
        weights=lambda w: weights_of(w.row),
        code=lambda w: code_of("measure", w.row),
    output:
        cells=measures("{row}", CELLS),
        summary=measures("{row}", SUMMARY),
        triples=measures("{row}", TRIPLES),
        attack=measures("{row}", ATTACK),
        roc=measures("{row}", ROC),
        crowds=measures("{row}", PRIVACY),
    log:
        f"{LOGS}/measures/{{row}}.log",
    wildcard_constraints:
        row=one_of(ROWS),
    resources:
        mem_mb=resources.memory("measure", SIZE),
        runtime=resources.minutes("measure", SIZE),
    params:
        drawn=lambda w, output: ["--family", family_of(w.row), "--crowds", output.crowds],
        notebook="--paper-notebook" if PARAMS.paper_notebook else "",
        attacked=PARAMS.attacked,
        zeros=PARAMS.zeros,
        seed=PARAMS.seed,
    shell:
        "python -m modp measure --records {input.records:q} --holdout {input.holdout:q}"
        " --codebook {input.codebook:q} --synthetic {input.synthetic:q} --row {wildcards.row:q}"
        " {params.drawn:q} {params.notebook} --weights {input.weights:q} --zeros {params.zeros}"
        " --attacked {params.attacked:q} --seed {params.seed} --cells {output.cells:q}"
        " --summary {output.summary:q} --triples {output.triples:q} --attack {output.attack:q}"
        " --roc {output.roc:q} --log {log:q}"


# The two ends have no model, and no record of what was drawn from what.
use rule measure as measure_end with:
    input:
        records=rules.code.output.records,
        holdout=rules.code.output.holdout,
        codebook=rules.code.output.codebook,
        synthetic=lambda w: synthetic(w.row),
        weights=[],
        code=code_of("measure"),
    output:
        cells=measures("{row}", CELLS),
        summary=measures("{row}", SUMMARY),
        triples=measures("{row}", TRIPLES),
        attack=measures("{row}", ATTACK),
        roc=measures("{row}", ROC),
    wildcard_constraints:
        row=one_of(ENDS),
    params:
        drawn=[],
        notebook="--paper-notebook" if PARAMS.paper_notebook else "",
        attacked=PARAMS.attacked,
        zeros=PARAMS.zeros,
        seed=PARAMS.seed,


rule frontier:
    """Trace one model's fidelity against privacy."""
    input:
        records=rules.code.output.records,
        holdout=rules.code.output.holdout,
        codebook=rules.code.output.codebook,
        weights=rules.fit.output.weights,
        instances=lambda w: instances_of(w.model, 1),
        code=lambda w: code_of("frontier", w.model),
    output:
        frontier("{model}"),
    log:
        f"{LOGS}/{{model}}/frontier.log",
    wildcard_constraints:
        model=one_of(CURVED),
    threads: cores_of_a_fit
    resources:
        mem_mb=resources.memory("frontier", SIZE),
        runtime=resources.minutes("frontier", SIZE),
    params:
        family=lambda w: family_of(w.model),
        seed=PARAMS.seed,
    shell:
        "python -m modp frontier --records {input.records:q} --holdout {input.holdout:q}"
        " --codebook {input.codebook:q} --family {params.family} --name {wildcards.model:q}"
        " --weights {input.weights:q} --instances {input.instances:q} --seed {params.seed} --threads {threads}"
        " --out {output:q} --log {log:q}"


rule mixing:
    """Follow a model's chains: which questions forget the true records slowly."""
    input:
        records=rules.code.output.records,
        codebook=rules.code.output.codebook,
        weights=rules.fit.output.weights,
        code=lambda w: code_of("mixing", w.model),
    output:
        mixing("{model}"),
    log:
        f"{LOGS}/{{model}}/mixing.log",
    wildcard_constraints:
        model=one_of(CHAINED),
    threads: cores_of_a_fit
    resources:
        mem_mb=resources.memory("mixing", SIZE),
        runtime=resources.minutes("mixing", SIZE),
    params:
        family=lambda w: family_of(w.model),
        seed=PARAMS.seed,
    shell:
        "python -m modp mixing --records {input.records:q} --codebook {input.codebook:q}"
        " --family {params.family} --weights {input.weights:q} --name {wildcards.model:q}"
        " --seed {params.seed} --threads {threads} --out {output:q} --log {log:q}"


rule tables:
    """Summarise the run: its tables, metrics.json, and data for DVC's plots."""
    input:
        dataset=DATASET_YAML,
        published=PUBLISHED,
        records=rules.code.output.records,
        codebook=rules.code.output.codebook,
        cells=[measures(row, CELLS) for row in PARAMS.names],
        summaries=[measures(row, SUMMARY) for row in PARAMS.names],
        privacy=[measures(row, PRIVACY) for row in ROWS],
        attacks=[measures(row, ATTACK) for row in MEASURED],
        gates=gates(PARAMS.answers_by_blade.model) if PARAMS.answers_by_blade else [],
        mixing=[mixing(model) for model in CHAINED],
        histories=expand(rules.fit.output.history, model=DRAWN_FROM),
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
        warnings=f"{RESULTS}/tables/warnings.json",
        metrics=f"{RESULTS}/metrics.json",
        parameters=f"{RESULTS}/parameters.json",
        plot=f"{RESULTS}/plots/accuracy.csv",
    log:
        f"{LOGS}/tables.log",
    resources:
        mem_mb=resources.memory("tables", SIZE),
        runtime=resources.minutes("tables", SIZE),
    params:
        rows=PARAMS.names,
        seed=PARAMS.seed,
        folder=lambda w, output: Path(output[0]).parent,
        chained=CHAINED,
        fitted=DRAWN_FROM,
        run=PARAMS.model_dump_json(),
    shell:
        "python -m modp tables --records {input.records:q} --codebook {input.codebook:q}"
        " --rows {params.rows:q} --cells {input.cells:q} --summaries {input.summaries:q}"
        " --privacy {input.privacy:q} --attacks {input.attacks:q} --gates {input.gates:q}"
        " --mixing {input.mixing:q} --mixing-of {params.chained:q} --histories {input.histories:q}"
        " --histories-of {params.fitted:q}"
        " --published {input.published:q}"
        " --dataset {input.dataset:q} --seed {params.seed} --folder {params.folder:q}"
        " --run {params.run:q} --parameters {output.parameters:q}"
        " --metrics {output.metrics:q} --warnings {output.warnings:q} --plot {output.plot:q} --log {log:q}"


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
    resources:
        mem_mb=resources.memory("repeat", SIZE),
        runtime=resources.minutes("repeat", SIZE),
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
    resources:
        mem_mb=resources.memory("figure", SIZE),
        runtime=resources.minutes("figure", SIZE),
    params:
        seed=PARAMS.seed,
        folder=lambda w, output: Path(output[0]).parent,
    shell:
        "python -m modp repeats --metrics {input.first:q} {input.others:q} --dataset {input.dataset:q}"
        " --seed {params.seed} --folder {params.folder:q} --log {log:q}"
