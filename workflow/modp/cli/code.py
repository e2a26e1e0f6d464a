"""Turn raw records into coded records and their codebook."""

import argparse
from pathlib import Path

from modp import questions, records, seeds
from modp.cli.output import Log, written
from modp.config import load
from modp.pums.read import read


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the step's options."""
    parser.add_argument("--files", type=Path, nargs="+", required=True, help="raw files, in order")
    parser.add_argument("--questions", type=Path, required=True, help="the question set YAML")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--records", type=Path, required=True)
    parser.add_argument("--codebook", type=Path, required=True)


def run(options: argparse.Namespace, log: Log) -> None:
    """Read, code, write."""
    question_set = load(options.questions, questions.QuestionSet)
    raw = read(options.files, question_set.columns)
    codes, codebook = questions.code(raw, question_set, seeds.generator(options.seed, "deciles"))
    with written(options.codebook) as path:
        path.write_text(codebook.to_json(), encoding="utf-8")
    with written(options.records) as path:
        records.write(path, codes, codebook)
    log(
        f"{len(codes):,} records, {len(codebook.questions)} questions, "
        f"{codebook.block_starts[-1]} categories ({question_set.name})"
    )
