rule fit:
    """Fit one model."""
    input:
        records=rules.code.output.records,
        codebook=rules.code.output.codebook,
        fitted=lambda w: fitted_elsewhere(w.model),
        design=lambda w: design(w.model),
        public=lambda w: public_table(w.model),
        toward=lambda w: drawn_toward(w.model),
        homes=whole("households.parquet"),
        home_codebook=whole("codebook_households.json"),
        said=whole("members.json"),
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
        **resources.gpus(PARAMS.device),
        mem_mb=resources.memory("fit", SIZE),
        runtime=resources.minutes("fit", SIZE),
    params:
        model=lambda w: PARAMS.models[w.model].model_dump_json(),
        weighted=lambda w: weighted(w.model),
        zeros=lambda w: PARAMS.zeros if PARAMS.family_of(w.model).excludes_zeros else "sample",
        seed=PARAMS.seed,
        device=PARAMS.device,
    shell:
        "python -m modp fit --records {input.records:q} --codebook {input.codebook:q}"
        " --name {wildcards.model:q} --model {params.model:q} --zeros {params.zeros} --seed {params.seed}"
        " --design {input.design:q} {params.weighted} --toward {input.toward:q} --homes {input.homes:q}"
        " --home-codebook {input.home_codebook:q} --said {input.said:q}"
        " --device {params.device} --threads {threads} --weights {output.weights:q}"
        " --history {output.history:q} --plot {output.plot:q} --log {log:q}"
