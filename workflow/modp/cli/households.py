"""Make synthetic households of persons who carry their household's key, and measure them.

The files are those of persons with their household's answers beside them. Of the question set, questions of
level ``household`` are the household's. Some households are held out, to measure what is given away.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from modp.base import seeds
from modp.base.config import load
from modp.base.errors import InputError
from modp.base.output import Log, written
from modp.households import HouseholdModel, SyntheticHouseholds, compare_households, household_privacy
from modp.models.households import rules
from modp.models.households.recipe import AGREE
from modp.pums.read import read
from modp.summaries import households as summaries
from modp.summaries.printed import document
from modp.survey import coding, households
from modp.survey.codebook import Codebook
from modp.survey.households import Households
from modp.survey.questions import QuestionSet
from modp.survey.records import Records

AGE, MARRIED = "AGEP", "MAR"
RELATIONSHIPS = ("RELSHIPP", "RELP")
TYPES = ("TYPEHUGQ", "TYPE")
"""Columns that are 1 for persons of households, and not for those of group quarters."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument("files", type=Path, nargs="+", help="of persons, who carry their household's answers")
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
    found = coded(options.files, load(options.questions, QuestionSet), options.key, options.most, log)
    order = seeds.generator(options.seed, "holdout").permutation(len(found.households))
    held = max(1, round(options.holdout * len(order)))
    train, holdout = found.households[np.sort(order[held:])], found.households[np.sort(order[:held])]
    model = HouseholdModel.fit(
        train,
        seed=options.seed,
        threads=options.threads,
        progress=True,
        prior=options.prior,
        impossible=found.rules,
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
        {"true": train, "synthetic": synthetic}, asked, rules.stated(found.rules, train)
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


@dataclass(frozen=True)
class Coded:
    """True households, and what the question set says never occurs among their members."""

    households: Households
    rules: list[dict[str, str | int | list[int | str]]]


def coded(files: list[Path], questions: QuestionSet, key: str, most: int, log: Log) -> Coded:
    """Read persons, tell their roles, code their answers and bring them together.

    Raises
    ------
    InputError
        if the question set has not questions of both levels, or the files lack what roles are told by
    """
    levels = [q.level for q in questions.questions]
    if len(set(levels)) < 2:
        raise InputError(
            f"{questions.name!r} has questions of {levels[0]}s alone: say 'level: household' "
            "of the household's questions, and only of these"
        )
    helpful = [c for c in (key, *RELATIONSHIPS, *TYPES, AGE, MARRIED) if c not in questions.columns]
    raw = read(files, questions.columns, [*questions.columns_of_words, key], helpful, key)
    if key not in raw:
        raise InputError(f"{files[0]} has no column {key!r}: say with --key which one names the household")
    keys = raw[key].filled("")
    told = next((name for name in RELATIONSHIPS if name in raw), None)
    if told:
        roles = households.roles_of(raw[told].filled(-1).astype(np.int64), told)
        log(f"roles are those of {told}")
    elif AGE in raw and MARRIED in raw:
        age, married = (raw[name].filled(-1).astype(np.int64) for name in (AGE, MARRIED))
        roles = households.told(keys, age, married)
        log(f"there is no {' or '.join(RELATIONSHIPS)}: roles are told by order, {AGE} and {MARRIED}")
    else:
        raise InputError(f"{files[0]} has neither {' nor '.join(RELATIONSHIPS)}, nor {AGE} and {MARRIED}")
    inside = (roles != households.NOWHERE) & (keys != "")
    for name in TYPES:
        if name in raw:
            inside &= raw[name].filled(1) == 1
    log(f"{(~inside).sum():,} persons of group quarters, or without a household's key, are left out")
    answers = {column: raw[column][inside] for column in questions.columns}
    codes, book = coding.code(answers, questions, np.random.default_rng(0))
    persons, homes = (_of_level(codes, book, questions, level) for level in ("person", "household"))
    found, _, said = households.gathered(persons, homes, keys[inside], roles[inside], most)
    log(f"{len(found):,} households of {len(found.persons):,} persons; left out: {said or 'none'}")
    return Coded(found, questions.members)


def _of_level(codes: np.ndarray, book: Codebook, questions: QuestionSet, level: str) -> Records:
    at = [number for number, question in enumerate(questions.questions) if question.level == level]
    return Records(codes[:, at], Codebook(book.question_set, tuple(book.questions[i] for i in at)))
