from pathlib import Path

from snakemake.utils import min_version

min_version("9.0")


# Of the folder in which the pipeline works, which may be another than this one, if it has its own.
configfile: "params.yaml" if Path("params.yaml").exists() else f"{workflow.basedir}/params.yaml"


include: "workflow/rules/common.smk"
include: "workflow/rules/acquire.smk"


if WHOLE_HOUSEHOLDS:

    include: "workflow/rules/households.smk"
    include: "workflow/rules/train.smk"
    include: "workflow/rules/households_rows.smk"
    include: "workflow/rules/figures.smk"
    include: "workflow/rules/households_report.smk"

else:

    include: "workflow/rules/code.smk"
    include: "workflow/rules/train.smk"
    include: "workflow/rules/synthesize.smk"
    include: "workflow/rules/weighted.smk"
    include: "workflow/rules/utility.smk"
    include: "workflow/rules/measure.smk"
    include: "workflow/rules/figures.smk"
    include: "workflow/rules/report.smk"
    include: "workflow/rules/private.smk"
    include: "workflow/rules/anonymeter.smk"
    include: "workflow/rules/release.smk"
    include: "workflow/rules/benchmarks.smk"
    include: "workflow/rules/scatter.smk"


# Must stand in this file: a default target in an included file is not used.
rule all:
    default_target: True
    input:
        rules.acquired.input,
        rules.coded.input,
        expand(rules.fit.output, model=MODELS),
        [] if WHOLE_HOUSEHOLDS else expand(rules.instances.output, model=INSTANCED),
        # Nothing later may miss these, but a table that somebody has deleted is made again.
        [synthetic(row) for row in ROWS],
        [synthetic_households(row) for row in ROWS] if WHOLE_HOUSEHOLDS else [],
        [] if WHOLE_HOUSEHOLDS else [measures(row, SUMMARY) for row in PARAMS.names],
        [] if WHOLE_HOUSEHOLDS else expand(rules.frontier.output, model=CURVED),
        rules.reported.input,
        rules.page.output,
        [] if WHOLE_HOUSEHOLDS else rules.cards.input,


onstart:
    claim(workflow)
    if engines.starts_jobs_here(workflow):
        WARM.start()


onsuccess:
    WARM.stop()
    finish(workflow)


onerror:
    WARM.stop()
