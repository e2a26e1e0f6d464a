"""Measure on one GPU, in at most 8 minutes, what the design wants there; print the table.

- sweep: one sweep over 300,000 x 233 (at most .01 s);
- fit: the stationary model with triples, of 213,167 records with 262 categories, made, or of --records
  (20 s);
- blades: model_5_15 of params.yaml on 300,000 x 233 (60 s), and how near it comes to a bootstrap.

Every part runs in a process of its own, and is ended where the time runs out. The first sweep and a fit of a
few records, in which the GPU is set up and code compiled, are not counted.
Run: python benchmarks/gpu.py [--device cuda] [--seconds 480] [--records records.parquet]
     python benchmarks/gpu.py --device cpu --size 2000    (the same paths on a CPU, small)
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parent.parent
FLORIDA = (213_167, 53, 262)
"""Records, questions, categories."""

REPEATS = 5
FEW = 300


def ready(device: str) -> Callable[[], None]:
    """What waits until the device has done all that was asked of it."""
    import torch

    return torch.cuda.synchronize if device.startswith("cuda") else (lambda: None)


def timed(device: str, work: Callable[[], object], times: int = 1) -> tuple[float, object]:
    """The least seconds of some calls, to the end of what the device has to do, and what came out last."""
    wait, least, result = ready(device), float("inf"), None
    for _ in range(times):
        wait()
        began = time.perf_counter()
        result = work()
        wait()
        least = min(least, time.perf_counter() - began)
    return least, result


def sweep(device: str, size: int, _: Path | None) -> dict[str, object]:
    """One sweep, by the function that is for GPUs, of whatever device."""
    import numpy as np
    import steps
    import torch

    from modp.base.output import Log
    from modp.draws.gpu_sweeps import sweep_on
    from modp.models.stationary import matching

    few = steps.sample()[:2000]
    model, chains, _history = matching.fit(few, matching.Settings(triples=0), 1, 2, Log())
    codes = np.resize(chains, (size, chains.shape[1]))
    swept = sweep_on(torch.device(device), codes, model.tables, 1, 1)
    seconds, _ = timed(device, lambda: sweep_on(torch.device(device), codes, model.tables, 1, 2), REPEATS)
    return {
        "seconds": seconds,
        "said": f"{size:,} records, {swept.changed / codes.size:.3f} of answers changed",
    }


def fit(device: str, size: int, records: Path | None) -> dict[str, object]:
    """The stationary model with its default triples."""
    import made
    import stationary as compared

    from modp import Stationary

    whole = compared.coded(records) if records else made.records(size, *FLORIDA[1:])
    Stationary.fit(whole[:FEW], seed=1, device=device)
    seconds, model = timed(device, lambda: Stationary.fit(whole, seed=1, device=device))
    return {"seconds": seconds, "said": said(whole, model.sample(whole, sweeps=20, device=device))}


def blades(device: str, size: int, _: Path | None) -> dict[str, object]:
    """The paper's model of five blades."""
    import numpy as np
    import steps
    import yaml

    from modp import Blades

    steps.N = size
    whole = steps.enlarged(steps.sample(), np.random.default_rng(1))
    params = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    recipe = {key: value for key, value in params["models"]["model_5_15"].items() if key != "family"}
    Blades.fit(whole[:FEW], seed=1, device=device, **recipe)
    seconds, model = timed(device, lambda: Blades.fit(whole, seed=1, device=device, **recipe))
    return {"seconds": seconds, "said": said(whole, model.sample(whole, device=device))}


def said(true, drawn) -> str:
    """How near a table comes."""
    import work

    return f"{len(true):,} records x {true.block_starts[-1]}: {work.ratios(true, drawn)}"


PARTS = {"sweep": (sweep, 300_000, 0.01), "fit": (fit, FLORIDA[0], 20.0), "blades": (blades, 300_000, 60.0)}
"""What is measured, on how many records, and the seconds that it may take; the shortest first."""


def measured(name: str, options: argparse.Namespace, left: float) -> dict[str, object]:
    """One part, in a process of its own that has so many seconds."""
    command = [sys.executable, __file__, "--part", name, "--device", options.device]
    command += ["--size", str(options.size or PARTS[name][1])]
    command += ["--records", str(options.records.resolve())] if options.records else []
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=left)
    except subprocess.TimeoutExpired:
        return {"seconds": None, "said": f"not done within the {left:.0f} s that were left"}
    if done.returncode:
        return {"seconds": None, "said": f"failed: {done.stderr.strip().splitlines()[-1]}"}
    return json.loads(done.stdout.splitlines()[-1])


def name_of(device: str) -> str:
    import torch

    if device.startswith("cuda"):
        if not torch.cuda.is_available():
            sys.exit(
                "there is no GPU that torch can use: --device cpu --size 2000 runs the same paths, small"
            )
        return torch.cuda.get_device_name(device)
    return "a CPU, on which these paths are slower than the pipeline's own"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seconds", type=float, default=480)
    parser.add_argument("--records", type=Path, help="of the stationary fit; records.json beside it")
    parser.add_argument("--size", type=int, help="records, in place of the sizes that the design speaks of")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--part", choices=PARTS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part:
        print(json.dumps(PARTS[options.part][0](options.device, options.size, options.records)))
        return
    end = time.monotonic() + options.seconds
    print(f"Measured on {name_of(options.device)}.\n")
    print("| work | target s | measured s | within | |\n|---|--:|--:|---|---|")
    for name in options.parts:
        found, target = measured(name, options, max(1.0, end - time.monotonic())), PARTS[name][2]
        seconds = found["seconds"]
        cells = ["", ""] if seconds is None else [f"{seconds:.3g}", "yes" if seconds <= target else "**no**"]
        print(f"| {name} | {target:g} | {' | '.join(cells)} | {found['said']} |", flush=True)


if __name__ == "__main__":
    main()
