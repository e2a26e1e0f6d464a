# figure -> what the step draws it from: the rows' cells, or the models' training histories
FIGURES = {
    **{
        name: ("crosstabs", rows, [measures(row, CELLS) for row in rows])
        for name, rows in PARAMS.figures.items()
    },
    "accuracy": ("overview", [], []),
    "training": ("training", MODELS, expand(rules.train.output.plot, model=MODELS)),
}


rule figure:
    """Draw one figure, as a bitmap and as a vector graphic."""
    input:
        dataset=DATASET_YAML,
        table=rules.tables.output.table,
        inputs=lambda w: FIGURES[w.figure][2],
        code=code_of("figure"),
    output:
        report(
            f"{RESULTS}/figures/{{figure}}.png",
            category="Figures",
            caption="../report/figure.rst",
            labels={"figure": "{figure}"},
        ),
        f"{RESULTS}/figures/{{figure}}.pdf",
    log:
        f"{LOGS}/figures/{{figure}}.log",
    params:
        kind=lambda w: FIGURES[w.figure][0],
        names=lambda w: FIGURES[w.figure][1],
    shell:
        "python -m modp figure --kind {params.kind} --dataset {input.dataset:q}"
        " --table {input.table:q} --names {params.names:q} --inputs {input.inputs:q}"
        " --out {output:q} --log {log:q}"


rule reported:
    input:
        rules.tables.output,
        expand(rules.figure.output, figure=FIGURES),
