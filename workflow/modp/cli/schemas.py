"""Write the JSON schemas of the configuration files, for editors and for reading."""

import argparse
import json
from pathlib import Path

from modp.base.config import Strict
from modp.base.output import Log, written
from modp.pipeline.params import Params
from modp.pums.where import Dataset
from modp.survey.questions import QuestionSet

FILES: dict[str, type[Strict]] = {"params": Params, "dataset": Dataset, "questions": QuestionSet}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the step's options."""
    parser.add_argument("--folder", type=Path, default=Path("workflow/schemas"))


def run(options: argparse.Namespace, log: Log) -> None:
    """Write one file for each kind of configuration."""
    for name, kind in FILES.items():
        with written(options.folder / f"{name}.schema.json") as path:
            path.write_text(json.dumps(kind.model_json_schema(), indent=1) + "\n")
    log(f"{len(FILES)} schemas in {options.folder}")
