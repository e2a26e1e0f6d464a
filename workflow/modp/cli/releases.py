"""Attack several tables released from the same records together: the row's own, and others like it."""

import argparse
import json
from pathlib import Path

import numpy as np

from modp.base import seeds
from modp.base.config import check
from modp.base.output import Log, written
from modp.cli.inputs import ask_for_coded, ask_for_work, coded, work_of
from modp.cli.people import MOST_GUESSED, MOST_RECONSTRUCTED, people
from modp.draws import independent
from modp.measures import releases
from modp.measures.ends import BOOTSTRAP
from modp.models.family import Work
from modp.models.registry import FAMILIES, family
from modp.survey.records import Records


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the step's options."""
    ask_for_coded(parser)
    parser.add_argument("--holdout", type=Path, required=True, help="records that the models never saw")
    parser.add_argument("--synthetic", type=Path, required=True, help="the row's table, the first release")
    ask_for_work(parser)
    parser.add_argument("--row", type=json.loads, help="the row, as JSON; none for the bootstrap")
    parser.add_argument("--family", choices=FAMILIES, help="what the weights are of")
    parser.add_argument("--weights", type=Path, nargs="*", default=[], help="of the row's model")
    parser.add_argument("--others", type=Path, nargs="*", default=[], help="releases drawn already")
    parser.add_argument("--attacked", nargs="*", default=[], help="questions whose answers are guessed")
    parser.add_argument("--number", type=int, required=True, help="of tables, the first one included")
    parser.add_argument("--out", type=Path, required=True, help="one line a measure and number of tables")


def run(options: argparse.Namespace, log: Log) -> None:
    """Draw the tables that there are not, then attack."""
    true = coded(options.records, options.codebook)
    codebook, held = true.codebook, Records.read(options.holdout, true.codebook)
    drawn = [Records.read(path, codebook).codes for path in (options.synthetic, *options.others)]
    tables = [*drawn, *_others(options, true, len(drawn), log)]
    who, _ = people(true, held, options.seed)
    (members, others), (unseen, unknown) = who.sides, who.unknown
    victims = releases.Victims(
        members.codes,
        others.codes,
        (unseen.codes, unknown.codes),
        who.reference.codes,
        (members.codes[:MOST_GUESSED], others.codes[:MOST_GUESSED]),
        who.train.codes[:MOST_RECONSTRUCTED],
        codebook.sizes,
    )
    places = {name: codebook.names.index(name) for name in options.attacked if name in codebook.names}
    questions = {name: (at, bool(codebook.questions[at].edges)) for name, at in places.items()}
    rng = seeds.generator(options.seed, "releases", options.name)
    found = releases.together(tables, victims, questions, rng)
    with written(options.out) as path:
        found.to_parquet(path, index=False)
    auc = found[found["measure"] == "density_auc"]
    values = ", ".join(f"{value:.3f}" for value in auc["value"])
    log(f"{options.name}: AUC of the attack by density with 1 to {options.number} tables: {values}")


def _others(options: argparse.Namespace, true: Records, known: int, log: Log) -> list[np.ndarray]:
    """The tables after those that are there, each drawn as the first was, with a seed of its own."""
    found = []
    for number in range(known + 1, options.number + 1):
        seed = seeds.integer(options.seed, "release", str(number))
        if options.row is None:
            found.append(independent.resampled(true.codes, seeds.generator(seed, BOOTSTRAP)))
        else:
            options_of = argparse.Namespace(**{**vars(options), "seed": seed})
            found.append(_drawn(options, true, work_of(options_of, log)))
    return found


def _drawn(options: argparse.Namespace, true: Records, work: Work) -> np.ndarray:
    of, (weights,) = family(options.family), options.weights
    model, row = of.load(weights, true.codebook), check(options.row, of.row, f"row {options.name}")
    instances = []
    if of.can("instances"):
        instances = of.instances(model, true, getattr(row, "instances", 1), work)
    return of.draw(model, true, row, work, instances).codes
