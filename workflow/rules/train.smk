rule fit:
    """Fit one model."""
    input:
        records=rules.code.output.records,
        codebook=rules.code.output.codebook,
        fitted=lambda w: fitted_elsewhere(w.model),
        toward=lambda w: drawn_toward(w.model),
        code=lambda w: code_of("fit", w.model),
    output:
        weights=f"{RESULTS}/{{model}}/model.safetensors",
        history=f"{RESULTS}/{{model}}/history.parquet",
        plot=f"{RESULTS}/plots/history/{{model}}.csv",
    log:
        f"{LOGS}/{{model}}/fit.log",
    wildcard_constraints:
        model=one_of(MODELS),
    threads: cores_of_a_fit
    resources:
        mem_mb=2000,
    params:
        model=lambda w: PARAMS.models[w.model].model_dump_json(),
        zeros=lambda w: PARAMS.zeros if PARAMS.family_of(w.model).excludes_zeros else "sample",
        seed=PARAMS.seed,
        device=PARAMS.device,
    shell:
        "python -m modp fit --records {input.records:q} --codebook {input.codebook:q}"
        " --name {wildcards.model:q} --model {params.model:q} --zeros {params.zeros} --seed {params.seed}"
        " --toward {input.toward:q}"
        " --device {params.device} --threads {threads} --weights {output.weights:q}"
        " --history {output.history:q} --plot {output.plot:q} --log {log:q}"
