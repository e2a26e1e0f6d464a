# What the pipeline costs, on request: snakemake benchmarks --cores 2
BUDGETS = list(read_yaml(where.at_hand("benchmarks/budgets.yaml")))
BENCHMARKS = f"{PARAMS.results}/benchmarks"
BENCHMARK_SCRIPTS = (
    "budgets.yaml",
    "measured.py",
    "work.py",
    "made.py",
    "memory.py",
    "columns.py",
    "learning.py",
)


rule budget:
    """Measure one line of the budgets, in processes of its own."""
    input:
        script=where.at_hand("benchmarks/budgets.py"),
        scripts=[where.at_hand(f"benchmarks/{name}") for name in BENCHMARK_SCRIPTS],
        code=engines.package(),
    output:
        f"{BENCHMARKS}/{{budget}}.json",
    log:
        f"{LOGS}/benchmarks/{{budget}}.log",
    wildcard_constraints:
        budget=one_of(BUDGETS),
    threads: whole_machine
    resources:
        mem_mb=8000,
        runtime=120,
    params:
        data=[f"{name}={where.at_hand(path)}" for name, path in PARAMS.benchmarks.items()],
    shell:
        "python {input.script:q} measure {wildcards.budget} --data {params.data:q} --out {output:q}"
        " > {log:q} 2>&1"


rule benchmarks:
    """Print all budgets with what was measured."""
    input:
        script=where.at_hand("benchmarks/budgets.py"),
        measured=expand(rules.budget.output, budget=BUDGETS),
    output:
        table=f"{BENCHMARKS}/budgets.parquet",
        text=f"{BENCHMARKS}/budgets.md",
    log:
        f"{LOGS}/benchmarks/table.log",
    shell:
        "python {input.script:q} table {input.measured:q} --out {output.table:q} 2>&1 | tee {log:q}"


# What users would pick instead, on this data set's records: snakemake peers --cores 2
PEER_SCRIPTS = ("measured.py", "others.py", "learning.py", "stationary.py")
PEERS = f"{RESULTS}/peers"
OWN = ("bootstrap", "stationary-pairs", "stationary-triples", "population", "private")
OWN += ("cart-5", "cart-20", "chow-liu")
OTHERS = ("mostlyai", "dpmm")


rule peer_environment:
    """Make another method's environment, beside the project's own; say so where its packages are not to be had."""
    input:
        where.at_hand("workflow/envs/{peer}.txt"),
    output:
        ".peers/{peer}/state.txt",
    log:
        "logs/peers/{peer}.log",
    wildcard_constraints:
        peer=one_of([*OTHERS, "mbi"]),
    params:
        folder=lambda w, output: Path(output[0]).parent,
    shell:
        "(python -m venv {params.folder:q} && {params.folder:q}/bin/pip install -r {input:q} && echo ready"
        " > {output:q}) > {log:q} 2>&1 || echo 'its packages could not be installed: see {log}' > {output:q}"


rule peer:
    """Fit and draw by one method, and measure what it drew."""
    input:
        script=where.at_hand("benchmarks/peers.py"),
        scripts=[where.at_hand(f"benchmarks/{name}") for name in PEER_SCRIPTS],
        records=rules.code.output.records,
        holdout=rules.code.output.holdout,
        codebook=rules.code.output.codebook,
        state=lambda w: f".peers/{w.peer}/state.txt" if w.peer in OTHERS else [],
    output:
        f"{PEERS}/{{peer}}.json",
    log:
        f"{LOGS}/peers/{{peer}}.log",
    wildcard_constraints:
        peer=one_of([*OWN, *OTHERS]),
    threads: whole_machine
    resources:
        mem_mb=8000,
        runtime=120,
    params:
        seed=PARAMS.seed,
    shell:
        "python {input.script:q} measure {wildcards.peer} --records {input.records:q}"
        " --holdout {input.holdout:q} --codebook {input.codebook:q} --state {input.state:q}"
        " --seed {params.seed} --out {output:q} > {log:q} 2>&1"


rule peers:
    """Print all methods side by side."""
    input:
        script=where.at_hand("benchmarks/peers.py"),
        measured=expand(rules.peer.output, peer=[*OWN, *OTHERS]),
    output:
        table=f"{PEERS}/peers.parquet",
        text=f"{PEERS}/peers.md",
    log:
        f"{LOGS}/peers/table.log",
    shell:
        "python {input.script:q} table {input.measured:q} --out {output.table:q} 2>&1 | tee {log:q}"


# Others with a formal guarantee beside this project's, at the same budgets: snakemake peers_dp --cores 2
PEERS_DP = f"{RESULTS}/peers_dp"
PEER_RELEASES = {"mst": 3, "aim": 1, "aim_short": 1}
EPSILONS = [str(value) for value in PARAMS.grids.epsilons]


rule peer_dp:
    """Release once by one method at one ε, and measure that; stop it where it takes too long."""
    input:
        script=where.at_hand("benchmarks/peers_dp.py"),
        scripts=[
            where.at_hand(f"benchmarks/{name}")
            for name in ("measured.py", "others_dp.py", "graphical.py")
        ],
        records=rules.code.output.records,
        codebook=rules.code.output.codebook,
        state=".peers/mbi/state.txt",
    output:
        f"{PEERS_DP}/{{peer}}_{{epsilon}}_{{number}}.json",
    log:
        f"{LOGS}/peers_dp/{{peer}}_{{epsilon}}_{{number}}.log",
    wildcard_constraints:
        peer=one_of(PEER_RELEASES),
        epsilon=one_of(EPSILONS),
        number=r"\d+",
    threads: whole_machine
    resources:
        mem_mb=8000,
        runtime=PARAMS.grids.peer_minutes + 20,
        minutes=PARAMS.grids.peer_minutes,  # no parameter: what is made stays, however long another may take
    params:
        delta=[PARAMS.models[name].delta for name in GUARANTEED[:1]],
    shell:
        "python {input.script:q} measure {wildcards.peer} --epsilon {wildcards.epsilon}"
        " --delta {params.delta} --records {input.records:q} --codebook {input.codebook:q}"
        " --state {input.state:q} --minutes {resources.minutes} --out {output:q} > {log:q} 2>&1"


rule peers_dp:
    """Print and draw all methods with a guarantee along ε."""
    input:
        script=where.at_hand("benchmarks/peers_dp.py"),
        own=expand(rules.epsilon_of.output.table, model=GUARANTEED[:1]),
        dataset=DATASET_YAML,
        measured=[
            f"{PEERS_DP}/{peer}_{epsilon}_{number}.json"
            for peer, releases in PEER_RELEASES.items()
            for epsilon in EPSILONS
            for number in range(1, releases + 1)
        ],
    output:
        table=f"{PEERS_DP}/peers_dp.parquet",
        text=f"{PEERS_DP}/peers_dp.md",
        figure=[f"{PEERS_DP}/epsilon.png", f"{PEERS_DP}/epsilon.pdf"],
    log:
        f"{LOGS}/peers_dp/table.log",
    shell:
        "python {input.script:q} table {input.measured:q} --own {input.own:q}"
        " --dataset {input.dataset:q} --figures {output.figure:q} --out {output.table:q} 2>&1 | tee {log:q}"
