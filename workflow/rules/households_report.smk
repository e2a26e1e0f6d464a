# Of whole households: the page on a run, after its figures, and what may leave the house.
LOGS_OF_STEPS = [
    *expand(rules.acquire.log, file=SOURCES),
    *rules.code.log,
    *expand(rules.fit.log, model=MODELS),
    *expand(rules.draw.log, row=ROWS),
    *rules.tables.log,
    *expand(rules.figure.log, figure=FIGURES),
]


rule page:
    """Put everything about the run into one page, and what may be published of it into another."""
    input:
        dataset=DATASET_YAML,
        records=rules.code.output.records,
        codebook=rules.code.output.codebook,
        homes=rules.code.output.homes,
        home_codebook=rules.code.output.home_codebook,
        provenance=expand(rules.acquire.output.provenance, file=SOURCES),
        tables=expand(f"{RESULTS}/tables/{{table}}.md", table=TABLES),
        households=f"{RESULTS}/tables/households.parquet",
        shares=f"{RESULTS}/tables/household_shares.parquet",
        privacy=f"{RESULTS}/tables/household_privacy.parquet",
        couples=rules.tables.output.couples,
        warnings=rules.tables.output.warnings,
        parameters=rules.tables.output.parameters,
        figures=expand(f"{RESULTS}/figures/{{figure}}.png", figure=FIGURES),
        templates=[engines.template(name) for name in engines.PAGE],
        code=[
            *dict.fromkeys(path for name in MODELS for path in code_of("report_households", name)),
            engines.captions(),
        ],
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
        mem_mb=resources.memory("report_households", SIZE),
        runtime=resources.minutes("report_households", SIZE),
    params:
        shown=json.dumps(registry.shown(FIGURES)),
        logs=LOGS_OF_STEPS,
    shell:
        "python -m modp report_households --records {input.records:q} --codebook {input.codebook:q}"
        " --homes {input.homes:q} --home-codebook {input.home_codebook:q} --dataset {input.dataset:q}"
        " --provenance {input.provenance:q} --tables {input.tables:q} --households {input.households:q}"
        " --shares {input.shares:q} --privacy {input.privacy:q} --couples {input.couples:q}"
        " --warnings {input.warnings:q} --figures {input.figures:q} --shown {params.shown:q}"
        " --parameters {input.parameters:q} --logs {params.logs:q} --out {output.office:q}"
        " --public {output.public:q} --run {log.run:q} --log {log.text:q}"


rule release_row:
    """Put one row's households into a folder that may leave the house."""
    input:
        files=expand(rules.acquire.output.file, file=DATASET.names),
        dataset=DATASET_YAML,
        questions=QUESTIONS_YAML,
        records=rules.code.output.records,
        codebook=rules.code.output.codebook,
        homes=rules.code.output.homes,
        home_codebook=rules.code.output.home_codebook,
        synthetic=lambda w: synthetic(w.row),
        home_synthetic=lambda w: synthetic_households(w.row),
        households=f"{RESULTS}/tables/households.parquet",
        shares=f"{RESULTS}/tables/household_shares.parquet",
        privacy=f"{RESULTS}/tables/household_privacy.parquet",
        warnings=rules.tables.output.warnings,
        templates=[engines.template(name) for name in engines.RELEASE_HOUSEHOLDS],
        code=lambda w: code_of("release_households", w.row),
    output:
        # The folder is written whole, with persons.csv, households.csv and joined.csv in it.
        f"{RESULTS}/{{row}}/release/README.md",
    log:
        f"{LOGS}/{{row}}/release.log",
    wildcard_constraints:
        row=one_of(PARAMS.release.rows),
    resources:
        mem_mb=resources.memory("release_households", SIZE),
        runtime=resources.minutes("release_households", SIZE),
    params:
        name=lambda w: ROWS[w.row].model,
        model=lambda w: PARAMS.models[ROWS[w.row].model].model_dump_json(),
        row=lambda w: ROWS[w.row].model_dump_json(),
        despite=lambda w: ("--despite-warnings" if w.row in PARAMS.release.despite_warnings else ""),
        values=PARAMS.release.values,
        seed=PARAMS.seed,
        share=PARAMS.holdout,
    shell:
        "python -m modp release_households --records {input.records:q} --codebook {input.codebook:q}"
        " --homes {input.homes:q} --home-codebook {input.home_codebook:q} --name {params.name:q}"
        " --model {params.model:q} --row {params.row:q} --synthetic {input.synthetic:q}"
        " --home-synthetic {input.home_synthetic:q} --files {input.files:q} --share {params.share}"
        " --dataset {input.dataset:q} --questions {input.questions:q} --values {params.values}"
        " {params.despite} --households {input.households:q} --shares {input.shares:q}"
        " --privacy {input.privacy:q} --warnings {input.warnings:q} --seed {params.seed} --out {output:q}"
        " --log {log:q}"


rule release:
    """All rows that params.yaml names under release."""
    input:
        lambda _: expand(rules.release_row.output, row=released_rows()),
