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
        drawn=lambda w, output: [
            *["--family", family_of(w.row), "--crowds", output.crowds],
            *(["--where", json.dumps(ROWS[w.row].condition)] if ROWS[w.row].condition else []),
        ],
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


rule releases:
    """Attack several tables of one row together, as somebody may who has more than one release."""
    input:
        records=rules.code.output.records,
        holdout=rules.code.output.holdout,
        codebook=rules.code.output.codebook,
        synthetic=lambda w: synthetic(w.row),
        weights=lambda w: [] if w.row in ENDS else weights_of(w.row),
        design=lambda w: [] if w.row in ENDS else design(w.row),
        code=lambda w: code_of("releases", None if w.row in ENDS else w.row),
    output:
        measures("{row}", RELEASES),
    log:
        f"{LOGS}/measures/{{row}}.releases.log",
    wildcard_constraints:
        row=one_of(AGAIN),
    resources:
        mem_mb=resources.memory("releases", SIZE),
        runtime=resources.minutes("releases", SIZE),
    params:
        drawn=lambda w: (
            []
            if w.row in ENDS
            else ["--family", family_of(w.row), "--row", ROWS[w.row].model_dump_json()]
        ),
        weighted=lambda w: "" if w.row in ENDS else weighted(ROWS[w.row].model),
        number=PARAMS.releases,
        attacked=PARAMS.attacked,
        zeros=PARAMS.zeros,
        seed=PARAMS.seed,
        device=PARAMS.device,
    shell:
        "python -m modp releases --records {input.records:q} --holdout {input.holdout:q}"
        " --codebook {input.codebook:q} --synthetic {input.synthetic:q} --name {wildcards.row:q}"
        " {params.drawn:q} --weights {input.weights:q} --zeros {params.zeros} --number {params.number}"
        " --attacked {params.attacked:q} --seed {params.seed} --device {params.device} --threads {threads}"
        " --design {input.design:q} {params.weighted}"
        " --out {output:q} --log {log:q}"


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
        releases=[measures(row, RELEASES) for row in AGAIN],
        gates=gates(PARAMS.answers_by_blade.model) if PARAMS.answers_by_blade else [],
        mixing=[mixing(model) for model in CHAINED],
        histories=expand(rules.fit.output.history, model=DRAWN_FROM),
        weighted=rules.weigh.output if DATASET.weight else [],
        estimated=rules.estimate.output if ESTIMATES else [],
        utility=rules.utility.output if USEFUL else [],
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
        again=AGAIN,
        chained=CHAINED,
        fitted=DRAWN_FROM,
        run=PARAMS.model_dump_json(),
    shell:
        "python -m modp tables --records {input.records:q} --codebook {input.codebook:q}"
        " --rows {params.rows:q} --cells {input.cells:q} --summaries {input.summaries:q}"
        " --privacy {input.privacy:q} --attacks {input.attacks:q} --gates {input.gates:q}"
        " --releases {input.releases:q} --releases-of {params.again:q}"
        " --mixing {input.mixing:q} --mixing-of {params.chained:q} --histories {input.histories:q}"
        " --histories-of {params.fitted:q}"
        " --weighted {input.weighted:q} --estimated {input.estimated:q} --utility {input.utility:q}"
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
