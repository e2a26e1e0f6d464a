rule acquire:
    """Fetch or copy one source file, whole or not at all."""
    input:
        dataset=DATASET_YAML,
        local=lambda w: local_file(w.file),
        code=code_of("acquire"),
    output:
        file=f"{RAW}/{{file}}",
        provenance=f"{RAW}/{{file}}.provenance.json",
    log:
        f"{LOGS}/acquire/{{file}}.log",
    wildcard_constraints:
        file=one_of(SOURCES),
    resources:
        mem_mb=resources.memory("acquire", SIZE),
        runtime=resources.minutes("acquire", SIZE),
    params:
        base_url=PARAMS.census.base_url,
        downloads=PARAMS.census.downloads,
    shell:
        "python -m modp acquire --dataset {input.dataset:q} --file {wildcards.file:q}"
        " --base-url {params.base_url:q} --downloads {params.downloads:q} --out {output.file:q}"
        " --provenance {output.provenance:q} --log {log:q}"


rule acquired:
    input:
        expand(rules.acquire.output, file=SOURCES),
