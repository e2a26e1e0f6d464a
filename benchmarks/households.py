"""Print how near synthetic households come to true ones, and what they give away.

Some households of the file are fitted, as many others are held out. Every table is a line of a JSON file,
with which an interrupted run goes on.
Run: python benchmarks/households.py PERSONS.parquet QUESTIONS.yaml [--households 12000] [--seeds 5]
    [--epsilons 10 1] [--results households.jsonl]
With --epsilons, models with a guarantee for each household are measured, and those alone.
"""

import argparse
import itertools
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from modp.base import seeds
from modp.base.config import load
from modp.base.output import Log
from modp.cli.gathered import gathered
from modp.cli.households import households_of
from modp.cli.whole import Said
from modp.crosstabs.members import Parts
from modp.households import HouseholdModel, SyntheticHouseholds
from modp.models.family import Work
from modp.models.households.recipe import AGREE
from modp.models.households.rules import stated
from modp.models.private_households.fitting import spent
from modp.models.private_households.recipe import PrivateHouseholdsRecipe
from modp.models.stationary import matching
from modp.models.stationary import model as stationary
from modp.summaries import households as summaries
from modp.survey import households
from modp.survey.codebook import Codebook
from modp.survey.households import ROLES, Households
from modp.survey.questions import QuestionSet
from modp.survey.records import Records

SWEEPS = (20, 100)
FIT = "fit processor s"
LAST = f"prior student, {SWEEPS[0]} sweeps, resampled"
DELTA = 1e-5
SHOWN = ("within person", "household and person", "householder-spouse", "child-child", "all role pairs")


def strangers(train: Households, seed: int, threads: int) -> SyntheticHouseholds:
    """Persons drawn singly with their household's answers, and put together as their true partners live."""
    persons, homes = train.persons, train.homes
    questions = persons.codebook.questions + homes.codebook.questions
    book = Codebook("together", questions)
    codes = np.hstack([persons.codes, homes.codes[train.household]])
    records = Records(codes, book)
    model, _, _ = matching.fit(records, matching.Settings(triples=0), seed, threads, lambda _: None)
    drawn, _, _ = stationary.sample(model, codes, SWEEPS[0], seed, threads)
    q = persons.codes.shape[1]
    found = train.of(np.ascontiguousarray(drawn[:, :q]), np.ascontiguousarray(drawn[train.starts[:-1], q:]))
    return SyntheticHouseholds(found.persons, found.homes, found.starts, found.roles, np.arange(len(train)))


def tables(train: Households, rules: list, seed: int, threads: int) -> Iterator[tuple[str, dict, dict]]:
    """Yield a method, its tables, and what its fit cost."""
    began = time.process_time()
    alone = strangers(train, seed, threads)
    yield "persons", {"persons drawn singly": alone}, {FIT: time.process_time() - began}
    for prior in ("none", "student"):
        began = time.process_time()
        model = HouseholdModel.fit(train, seed=seed, threads=threads, prior=prior, impossible=rules)
        took = {FIT: time.process_time() - began} | weights_a_household(model.model.weights, len(train))
        kinds = [(sweeps, "kept") for sweeps in SWEEPS] + [(SWEEPS[0], "resampled")]
        found = {
            f"prior {prior}, {sweeps} sweeps, {kind}": model.sample(
                train, sweeps=sweeps, composition=kind, seed=seed, threads=threads
            )
            for sweeps, kind in kinds
        }
        yield f"prior {prior}", found, took


def weights_a_household(weights: Parts, households: int) -> dict[str, float]:
    """How many weights there are of a member's answers with the household's, and of two members' answers."""
    pair = sum(
        np.count_nonzero(np.triu(weights.pair[a, b]) if a == b else weights.pair[a, b])
        for a, b in itertools.combinations_with_replacement(range(len(ROLES)), 2)
    )
    return {
        "weights a household, own": np.count_nonzero(weights.own) / households,
        "weights a household, members": pair / households,
    }


def guarded(
    train: Households, rules: list, epsilons: Sequence[float], seed: int, threads: int
) -> Iterator[tuple[str, dict, dict]]:
    """Yield the same of models with a guarantee."""
    for epsilon in epsilons:
        began = time.process_time()
        recipe = PrivateHouseholdsRecipe(epsilon=epsilon, delta=DELTA, noise="seeded", impossible=rules)
        found, _ = spent(train, recipe, Work(f"epsilon {epsilon:g}", seed, threads))
        none = np.ma.masked_all(len(found.households), np.int64)
        own = found.households
        released = SyntheticHouseholds(own.persons, own.homes, own.starts, own.roles, none)
        yield recipe.family, {f"epsilon {epsilon:g}": released}, {FIT: time.process_time() - began}


def measured(
    true: Households,
    said: list,
    n: int,
    seed: int,
    done: set[tuple],
    threads: int,
    epsilons: Sequence[float] = (),
) -> Iterator[dict]:
    """Fit what has not been, and yield what was measured of each table."""
    rows = np.random.default_rng(seed).permutation(len(true))
    train, holdout = (true[np.sort(part)] for part in (rows[:n], rows[n : 2 * n]))
    left = [epsilon for epsilon in epsilons if (n, seed, f"epsilon {epsilon:g}") not in done]
    if (n, seed, LAST) in done and not epsilons:
        return
    asked = tuple(name for name in AGREE if name in train.persons.codebook.names)
    excluded = stated(said, train)
    every = guarded(train, said, left, seed, threads) if epsilons else tables(train, said, seed, threads)
    for method, made, took in every:
        rng = seeds.generator(seed, method)
        near = summaries.accuracy(train, made, rng, holdout).set_index(["table", "cells"])
        drawn = {name: summaries.Drawn(table, table.record) for name, table in made.items()}
        leaks = summaries.privacy(train, holdout, drawn, rng).set_index(["table", "persons"])
        shares = summaries.shares({"true": train, **made}, asked, excluded).set_index("share")
        for name in made:
            line = {"n": n, "seed": seed, "table": name, **took}
            for cells in SHOWN:
                own = near.loc[(name, cells)]
                for kind in ("ratio", "population"):
                    for of in summaries.DISTANCES:
                        line[f"{cells}, {kind} {of}"] = own[f"{kind}_{of}"]
            line |= {key: shares.loc[key, name] for key in shares.index if not key.endswith("persons")}
            line |= {
                f"true {key}": shares.loc[key, "true"] for key in shares.index if not key.endswith("persons")
            }
            for size in ("all", "2", "4+"):
                for key in ("closer_to_train", "within_10", "chance", "identical"):
                    line[f"{key} {size}"] = leaks.loc[(name, size), key]
            yield line


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("persons", type=Path)
    parser.add_argument("questions", type=Path)
    parser.add_argument("--households", type=int, default=12_000)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--epsilons", type=float, nargs="*", default=[], help="of models with a guarantee")
    parser.add_argument("--results", type=Path, default=Path("households.jsonl"))
    options = parser.parse_args()
    lines = options.results.read_text().splitlines() if options.results.exists() else []
    done = {(line["n"], line["seed"], line["table"]) for line in map(json.loads, lines)}
    questions = load(options.questions, QuestionSet)
    dataset = households_of([options.persons], options.questions, "SERIALNO", households.MOST)
    true = gathered([options.persons], dataset, questions, 0.0, 1, Log()).train
    said = Said.of(questions).members
    for seed in range(1, options.seeds + 1):
        how = options.households, seed, done, options.threads, options.epsilons
        for line in measured(true, said, *how):
            with options.results.open("a") as file:
                file.write(json.dumps(line, default=float) + "\n")
    frame = pd.DataFrame(map(json.loads, options.results.read_text().splitlines()))
    frame = frame[frame["n"] == options.households].drop_duplicates(["seed", "table"], keep="last")
    groups = frame.drop(columns=["n", "seed"]).groupby("table", sort=False)
    mean, error = groups.mean().T, groups.sem().T
    shown = mean.map("{:.3f}".format) + error.map(lambda e: "" if np.isnan(e) else f" ± {e:.3f}")
    print(shown.to_markdown())


if __name__ == "__main__":
    main()
