# The logs that tell how long each step took, in the order of the work.
LOGS_OF_STEPS = [
    *expand(rules.acquire.log, file=SOURCES),
    *rules.code.log,
    *rules.bootstrap.log,
    *expand(rules.fit.log, model=MODELS),
    *expand(rules.instances.log, model=INSTANCED),
    *expand(rules.draw.log, row=ROWS),
    *expand(rules.measure.log, row=MEASURED),
    *expand(rules.releases.log, row=AGAIN),
    *expand(rules.frontier.log, model=CURVED),
    *expand(rules.mixing.log, model=CHAINED),
    *rules.tables.log,
    *expand(rules.figure.log, figure=FIGURES),
]


rule page:
    """Put everything about the run into one page, and what may be published of it into another."""
    input:
        dataset=DATASET_YAML,
        codebook=rules.code.output.codebook,
        provenance=expand(rules.acquire.output.provenance, file=SOURCES),
        cells=[measures(row, CELLS) for row in PARAMS.names],
        tables=expand(f"{RESULTS}/tables/{{table}}.md", table=[*TABLES, "repeats"]),
        accuracy=f"{RESULTS}/tables/accuracy.parquet",
        privacy=f"{RESULTS}/tables/privacy.parquet",
        metrics=rules.tables.output.metrics,
        warnings=rules.tables.output.warnings,
        parameters=rules.tables.output.parameters,
        frontier=[frontier(model) for model in TRACED],
        figures=expand(f"{RESULTS}/figures/{{figure}}.png", figure=FIGURES),
        templates=[engines.template(name) for name in engines.PAGE],
        code=[*code_of("report"), engines.captions()],
    output:
        public=f"{RESULTS}/report_public.html",
        office=report(
            f"{RESULTS}/report.html",
            category="Report",
            caption="../report/page.rst",
        ),
    log:
        text=f"{LOGS}/report.log",
        run=f"{LOGS}/run.js",
    resources:
        mem_mb=resources.memory("report", SIZE),
        runtime=resources.minutes("report", SIZE),
    params:
        rows=PARAMS.names,
        shown=json.dumps(registry.shown(FIGURES)),
        logs=LOGS_OF_STEPS,
    shell:
        "python -m modp report --dataset {input.dataset:q} --codebook {input.codebook:q}"
        " --provenance {input.provenance:q} --rows {params.rows:q} --cells {input.cells:q}"
        " --tables {input.tables:q} --accuracy {input.accuracy:q} --privacy {input.privacy:q}"
        " --metrics {input.metrics:q} --warnings {input.warnings:q} --frontier {input.frontier:q}"
        " --figures {input.figures:q} --shown {params.shown:q}"
        " --parameters {input.parameters:q} --logs {params.logs:q} --out {output.office:q}"
        " --public {output.public:q} --run {log.run:q} --log {log.text:q}"


rule card:
    """Write the card of one model, and the statement on its privacy."""
    input:
        dataset=DATASET_YAML,
        codebook=rules.code.output.codebook,
        provenance=expand(rules.acquire.output.provenance, file=SOURCES),
        accuracy=f"{RESULTS}/tables/accuracy.parquet",
        privacy=f"{RESULTS}/tables/privacy.parquet",
        three_way=f"{RESULTS}/tables/three_way.parquet",
        metrics=rules.tables.output.metrics,
        warnings=rules.tables.output.warnings,
        attacks=f"{RESULTS}/tables/attacks.parquet",
        holdout=rules.code.output.holdout,
        templates=[engines.template(name) for name in engines.CARD],
        code=lambda w: code_of("card", w.model),
    output:
        statement=f"{RESULTS}/{{model}}/privacy.md",
        card=report(
            f"{RESULTS}/{{model}}/card.md",
            category="Model cards",
            caption="../report/card.rst",
            labels={"model": "{model}"},
        ),
    log:
        f"{LOGS}/{{model}}/card.log",
    wildcard_constraints:
        model=one_of(MODELS),
    resources:
        mem_mb=resources.memory("card", SIZE),
        runtime=resources.minutes("card", SIZE),
    params:
        model=lambda w: PARAMS.models[w.model].model_dump_json(),
        rows=lambda w: [ROWS[row].model_dump_json() for row in PARAMS.rows_of[w.model]],
        zeros=PARAMS.zeros,
        seed=PARAMS.seed,
    shell:
        "python -m modp card --dataset {input.dataset:q} --codebook {input.codebook:q}"
        " --provenance {input.provenance:q} --name {wildcards.model:q}"
        " --model {params.model:q} --rows {params.rows:q} --accuracy {input.accuracy:q}"
        " --privacy {input.privacy:q} --three-way {input.three_way:q} --metrics {input.metrics:q}"
        " --warnings {input.warnings:q}"
        " --attacks {input.attacks:q} --holdout {input.holdout:q} --zeros {params.zeros} --seed {params.seed}"
        " --statement {output.statement:q} --out {output.card:q} --log {log:q}"


rule cards:
    input:
        expand(rules.card.output, model=MODELS),
