# Of whole households: the page on a run, after its figures.
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
        code=[*code_of("report_households"), engines.captions()],
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
