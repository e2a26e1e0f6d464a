# figure -> its kind, the rows or models it shows, and the files of these
FIGURES = {
    **{
        name: (figure.kind, figure.of, drawn_from(figure))
        for name, figure in PARAMS.figures.items()
    },
    "accuracy": ("overview", [], []),
    "frontier": (
        "frontier",
        [],
        [
            f"{RESULTS}/tables/privacy.parquet",
            *[frontier(model) for model in TRACED],
        ],
    ),
    "risk_fidelity": (
        "risk_fidelity",
        [],
        [f"{RESULTS}/tables/attacks.parquet", measures(MARGINALS, CELLS)],
    ),
    **{f"mixing_{model}": ("mixing", [model], [mixing(model)]) for model in CHAINED},
    "three_way": ("three_way", PARAMS.names, [measures(row, TRIPLES) for row in PARAMS.names]),
    "training": (
        "training",
        TRAINED,
        [f"{RESULTS}/plots/history/{model}.csv" for model in TRAINED],
    ),
}


rule figure:
    """Draw one figure, as a bitmap and as a vector graphic."""
    input:
        dataset=DATASET_YAML,
        table=f"{RESULTS}/tables/accuracy.parquet",
        codebook=rules.code.output.codebook,
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
        seed=PARAMS.seed,
    shell:
        "python -m modp figure --kind {params.kind} --dataset {input.dataset:q}"
        " --codebook {input.codebook:q} --seed {params.seed} --table {input.table:q} --names {params.names:q} --inputs {input.inputs:q}"
        " --out {output:q} --log {log:q}"


rule figures:
    input:
        expand(rules.figure.output, figure=FIGURES),


rule reported:
    input:
        rules.tables.output,
        rules.repeats.output,
        rules.figures.input,


rule paper:
    """All figures and tables of the paper."""
    input:
        rules.reported.input,
