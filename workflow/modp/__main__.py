"""Run one step of the pipeline: ``python -m modp STEP --help``."""

import sys

from modp.pipeline import handover

STEPS = {
    "acquire": "fetch or copy one source file",
    "code": "turn raw records into coded records and their codebook",
    "bootstrap": "resample the records: the ideal that a synthesis is compared with",
    "train": "fit a model in stages",
    "fit": "fit a stationary model",
    "fit_private": "fit a stationary model within a privacy budget, and draw its table",
    "epsilon": "trace a private model's fidelity along epsilon",
    "gates": "write the weights that a model's gate gives its blades",
    "synthesize": "draw instances from a model",
    "sweep": "redraw the true records question by question",
    "postprocess": "make a variant of a model's instances",
    "measure": "compare one synthetic table's crosstab with the true one",
    "privacy": "measure in how large a crowd a synthetic table's records hide",
    "attack": "attack a synthetic table as somebody would who does not know what was drawn from what",
    "frontier": "trace fidelity against privacy",
    "mixing": "follow a stationary model's chains",
    "tables": "summarise all variants: tables, metrics, plot data",
    "repeat": "run the pipeline once more with another seed",
    "repeats": "gather the metrics of a run and its repeats",
    "figure": "draw one figure",
    "report": "put everything about a run into one page",
    "anonymeter": "put Anonymeter's risks beside the other attacks",
    "card": "write the card of one model",
    "compare": "compare two runs: parameters that differ, metrics with their change",
    "convert": "turn weights that the author of the paper published into a model of ours",
    "schemas": "write the JSON schemas of the configuration files",
}
"""Each step is the module of the same name in modp.cli."""


def main(arguments: list[str] | None = None) -> int:
    """Run one step; return 0, or 1 with a message if what the user gave cannot be used."""
    # Here, since a process that hands its step over has no need of them.
    import argparse
    import importlib
    import time
    from pathlib import Path

    from modp.base.errors import InputError
    from modp.cli.output import Log

    began = time.monotonic()
    arguments = sys.argv[1:] if arguments is None else arguments
    parser = argparse.ArgumentParser(prog="python -m modp", description=__doc__)
    steps = parser.add_subparsers(dest="step", required=True, metavar="STEP")
    wanted = arguments[0] if arguments and arguments[0] in STEPS else None
    module = importlib.import_module(f"modp.cli.{wanted}") if wanted else None
    for name, summary in STEPS.items():
        step = steps.add_parser(name, help=summary, description=summary)
        if module and name == wanted:
            module.add_arguments(step)
            step.add_argument("--log", type=Path, help="also write messages to this file")
    options = parser.parse_args(arguments)
    assert module is not None
    log = Log(options.log)
    try:
        module.run(options, log)
    except InputError as fault:
        log(f"error in {wanted}: {fault}")
        return 1
    log.finished(options.step, time.monotonic() - began)
    return 0


if __name__ == "__main__":
    status = handover.run_elsewhere(sys.argv[1:])
    raise SystemExit(main() if status is None else status)
