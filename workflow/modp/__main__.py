"""Make synthetic records of a table, or run one step of the pipeline: ``modp COMMAND --help``."""

import sys

from modp.pipeline import handover


def main(arguments: list[str] | None = None) -> int:
    """Run one command or step; return 0, or 1 with a message if what the user gave cannot be used."""
    # Here, since a process that hands its step over has no need of them.
    import argparse
    import importlib
    import time
    from pathlib import Path

    from modp.base.errors import InputError
    from modp.base.output import Log, without_room
    from modp.pipeline.steps import STEPS, listed

    began = time.monotonic()
    arguments = sys.argv[1:] if arguments is None else arguments
    parser = argparse.ArgumentParser(
        prog="modp",
        usage="modp [-h] COMMAND ...",
        description="Synthetic records whose crosstabs are the true ones. modp COMMAND --help tells more.",
        epilog=listed(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    steps = parser.add_subparsers(
        dest="step", required=True, metavar="COMMAND", prog="modp", help=argparse.SUPPRESS
    )
    wanted = arguments[0] if arguments and arguments[0] in STEPS else None
    module = importlib.import_module(f"modp.cli.{wanted}") if wanted else None
    for name, what in STEPS.items():
        step = steps.add_parser(name, description=what.summary)
        if module and name == wanted:
            module.add_arguments(step)
            step.add_argument("--log", type=Path, help="also write messages to this file")
    options = parser.parse_args(arguments)
    assert module is not None
    log = Log()
    try:
        log = Log(options.log)
        module.run(options, log)
    except InputError as fault:
        log(f"error in {wanted}: {fault}")
        return 1
    except Exception as failure:
        from modp.base.damage import damaged, files_of

        reason = without_room(failure)
        if reason is not None:
            path = getattr(failure, "filename", None) or "a file"
            log(f"error in {wanted}: {path} cannot be written: {reason}; make room there and run again")
            return 1
        faulty = damaged(files_of(options))
        if not faulty:
            raise
        log(f"error in {wanted}: {', '.join(map(str, faulty))} is damaged; delete it and run again")
        return 1
    log.finished(options.step, time.monotonic() - began)
    return 0


if __name__ == "__main__":
    status = handover.run_elsewhere(sys.argv[1:])
    raise SystemExit(main() if status is None else status)
