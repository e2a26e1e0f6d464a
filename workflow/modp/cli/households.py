"""Make synthetic households of persons who carry their household's key, and measure them.

The files are those of persons with their household's answers beside them, or of persons and of households.
Of the question set, questions of level ``household`` are the household's. Some households are held out, to
measure what is given away.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from modp.base import seeds
from modp.base.config import check
from modp.base.errors import InputError
from modp.base.output import Log, written
from modp.cli.gathered import gathered
from modp.cli.selected import fitted_questions
from modp.cli.whole import Said
from modp.households import HouseholdModel, SyntheticHouseholds, compare_households, household_privacy
from modp.models.households import rules
from modp.models.households.recipe import AGREE
from modp.pums.where import Dataset
from modp.summaries import households as summaries
from modp.summaries.printed import document
from modp.survey import households


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument(
        "files", type=Path, nargs="+", help="of persons, who carry their household's answers, or of both"
    )
    parser.add_argument("--questions", type=Path, required=True, help="the question set YAML")
    parser.add_argument("--key", default="SERIALNO", help="column of the household's key")
    parser.add_argument("--most", type=int, default=households.MOST, help="persons of the largest household")
    parser.add_argument("--holdout", type=float, default=0.2, help="share of the households to hold out")
    parser.add_argument("--sweeps", type=int, default=20, help="from the true households")
    parser.add_argument("--composition", choices=["kept", "resampled"], default="resampled")
    parser.add_argument("--prior", choices=["student", "none"], default="student")
    parser.add_argument("--seed", type=int, default=20240607, help="everything random derives from it")
    parser.add_argument("--threads", type=int, default=2, help="without influence on the result")
    parser.add_argument("--out", type=Path, required=True, help="folder for what is made")


def run(options: argparse.Namespace, log: Log) -> None:
    """Read, fit, draw, write two linked tables and a joined one, and what was measured."""
    if not 0 < options.holdout < 1:
        raise InputError(f"--holdout: a share between 0 and 1, not {options.holdout}")
    dataset = households_of(options.files, options.questions, options.key, options.most)
    questions = fitted_questions(options.questions, dataset)
    found = gathered(options.files, dataset, questions, options.holdout, options.seed, log)
    train, holdout, said = found.train, found.holdout, Said.of(questions)
    model = HouseholdModel.fit(
        train,
        seed=options.seed,
        threads=options.threads,
        progress=True,
        prior=options.prior,
        impossible=said.members,
    )
    synthetic = model.sample(
        train,
        sweeps=options.sweeps,
        composition=options.composition,
        seed=options.seed,
        threads=options.threads,
    )
    accuracy = compare_households(train, synthetic, holdout=holdout, seed=options.seed)
    privacy = household_privacy(train, synthetic, holdout, seed=options.seed)
    asked = tuple(name for name in AGREE if name in train.persons.codebook.names)
    shares = summaries.shares(
        {"true": train, "synthetic": synthetic}, asked, rules.stated(said.members, train)
    )
    options.out.mkdir(parents=True, exist_ok=True)
    for name, frame in _released(synthetic, seeds.generator(options.seed, "shuffled")).items():
        with written(options.out / f"{name}.parquet") as path:
            frame.to_parquet(path, index=False)
    with written(options.out / "model.safetensors") as path:
        model.save(path)
    with written(options.out / "measured.md") as path:
        facts = {"seed": str(options.seed), "sweeps": str(options.sweeps), "prior": options.prior}
        parts = summaries.printed(accuracy, shares, privacy)
        heading = "Synthetic households beside the true ones"
        path.write_text(document(heading, facts, summaries.NOTES, parts), encoding="utf-8")
    log(f"wrote {len(synthetic):,} households of {len(synthetic.persons):,} persons to {options.out}")
    log("measured.md and model.safetensors tell of true households: for you alone")


def _released(synthetic: SyntheticHouseholds, rng: np.random.Generator) -> dict[str, pd.DataFrame]:
    """The households in random order: their persons, themselves, and persons joined with their household."""
    persons, homes = synthetic[rng.permutation(len(synthetic))].to_frames()
    return {"persons": persons, "households": homes, "joined": persons.merge(homes, on="SERIALNO")}


def households_of(files: Sequence[Path], questions: Path, key: str, most: int) -> Dataset:
    """Return what a dataset YAML would say of these files."""
    content = {
        "title": "households",
        "questions": questions.as_posix(),
        "files": [path.as_posix() for path in files],
        "records": "households",
        "household": key,
        "most": most,
    }
    return check(content, Dataset, "the command's options")
