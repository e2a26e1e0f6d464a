# figure -> its kind, and the rows or models it shows
FIGURES = {
    **{name: (figure.kind, figure.of) for name, figure in PARAMS.figures.items()},
    **registry.drawn_by_every_run(
        (
            {
                registry.Of.HOUSEHOLDS: list(ROWS),
                registry.Of.MODELS: TRAINED,
            }
            if WHOLE_HOUSEHOLDS
            else {
                registry.Of.ROWS: PARAMS.names,
                registry.Of.MODELS: TRAINED,
                registry.Of.CHAINS: CHAINED,
                registry.Of.UTILITY: USEFUL if ANALYSES else [],
            }
        ),
        weighted=ESTIMATES,
        of_run=not WHOLE_HOUSEHOLDS,
    ),
}


rule figure:
    """Draw one figure, as a bitmap and as a vector graphic."""
    input:
        codebook=rules.code.output.codebook,
        published=lambda w: [PUBLISHED] if kind_of(w.figure).published else [],
        inputs=lambda w: drawn_from(w.figure),
        code=lambda w: engines.code_of_figure(FIGURES[w.figure][0]),
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
    resources:
        mem_mb=resources.memory("figure", SIZE),
        runtime=resources.minutes("figure", SIZE),
    params:
        kind=lambda w: FIGURES[w.figure][0],
        names=lambda w: FIGURES[w.figure][1],
        draws=lambda w: kind_of(w.figure).draws,
        title=DATASET.title,
        seed=PARAMS.seed,
    shell:
        "python -m modp figure --kind {params.kind} --title {params.title:q}"
        " --codebook {input.codebook:q} --published {input.published:q} --seed {params.seed}"
        " --names {params.names:q} --inputs {input.inputs:q} --out {output:q} --log {log:q}"


rule figures:
    input:
        expand(rules.figure.output, figure=FIGURES),


rule reported:
    input:
        rules.tables.output,
        [] if WHOLE_HOUSEHOLDS else rules.repeats.output,
        rules.figures.input,


rule paper:
    """All figures and tables of the paper."""
    input:
        rules.reported.input,
