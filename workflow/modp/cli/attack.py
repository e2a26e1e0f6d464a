"""Attack one synthetic table, to see what it tells of the people whom the models saw."""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from modp.base import seeds
from modp.cli.inputs import FAMILIES, coded
from modp.cli.output import Log, written
from modp.draws import independent
from modp.measures import attacks
from modp.measures.attacks import Estimate
from modp.survey import records
from modp.survey.codebook import Codebook
from modp.survey.records import one_hot

MOST = 5_000
"""Synthetic records whose nearest true records are found, and people of either kind who are attacked."""

MOST_REFERENCES = 50_000
"""Train records, and records held out, among which the nearest are found."""

MOST_GUESSED = 2_000
"""People of either kind whose answers are guessed."""

CORNERS = 1_000
"""Of a ROC curve, that are kept, closer together where there are few false alarms."""

NO_CURVE = pd.DataFrame({"attack": np.zeros(0, str), "fpr": np.zeros(0), "tpr": np.zeros(0)})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the step's options."""
    parser.add_argument("--records", type=Path, required=True, help="what the models learnt from")
    parser.add_argument("--holdout", type=Path, required=True, help="what they never saw")
    parser.add_argument("--codebook", type=Path, required=True)
    parser.add_argument("--synthetic", type=Path, required=True)
    parser.add_argument("--row", required=True, help="of the accuracy table, or another table's name")
    parser.add_argument("--family", choices=FAMILIES, help="what the weights are of")
    parser.add_argument("--weights", type=Path, nargs="*", default=[], help="of the model, if there is one")
    parser.add_argument("--attacked", nargs="*", default=[], help="questions whose answers are guessed")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--out", type=Path, required=True, help="one line a measure")
    parser.add_argument("--roc", type=Path, required=True, help="one line a corner of a ROC curve")


def run(options: argparse.Namespace, log: Log) -> None:
    """Choose people, attack, write."""
    train, codebook = coded(options.records, options.codebook)
    holdout = records.read(options.holdout, codebook)[0]
    synthetic = records.read(options.synthetic, codebook)[0]
    # The same people for every row, so that rows can be compared.
    rng = seeds.generator(options.seed, "attack")
    train, holdout = (side[rng.permutation(len(side))] for side in (train, holdout))
    level = min(len(train), len(holdout))
    synthetic = synthetic[seeds.generator(options.seed, "attack", options.row).permutation(len(synthetic))]

    found = {
        "exact": attacks.exact_matches(synthetic, train),
        "exact_train": attacks.exact_matches(synthetic, train[:level]),
        "exact_holdout": attacks.exact_matches(synthetic, holdout[:level]),
    }
    sides = (side[: min(level, MOST_REFERENCES)] for side in (train, holdout))
    found |= attacks.closest(synthetic[:MOST], *sides, rng)
    people = train[: min(level, MOST)], holdout[: min(level, MOST)]
    curves = []
    for name, scores in _scores(options, people, synthetic, train, codebook).items():
        found[f"{name}_auc"] = attacks.auc(*scores)
        found[f"{name}_tpr"] = attacks.true_positives(*scores, rng)
        curves.append(_thinned(*attacks.roc(*scores)).assign(attack=name))
    lines = [_line(name, "", estimate) for name, estimate in found.items()]
    members, others = (side[:MOST_GUESSED] for side in people)
    for question in (q for q in options.attacked if q in codebook.names):
        at = codebook.names.index(question)
        guesses = attacks.attribute_inference(synthetic, members, others, holdout[:level], at)
        lines += [_line(name, question, estimate) for name, estimate in guesses.items()]
    with written(options.out) as path:
        pd.DataFrame(lines).to_parquet(path, index=False)
    with written(options.roc) as path:
        pd.concat([NO_CURVE, *curves]).to_parquet(path, index=False)
    closer = found["closer_to_train"]
    log(
        f"{options.row}: {closer.value:.1%} of the synthetic records are closer to a record the models saw "
        f"than to one they did not (no leak: 50%; 95% interval {closer.low:.1%} to {closer.high:.1%})"
    )


def _line(measure: str, question: str, estimate: Estimate) -> dict[str, str | float]:
    return {"measure": measure, "question": question, **vars(estimate)}


def _scores(
    options: argparse.Namespace,
    people: tuple[np.ndarray, np.ndarray],
    synthetic: np.ndarray,
    train: np.ndarray,
    codebook: Codebook,
) -> dict[str, list[np.ndarray]]:
    """Each attack's scores of members and of others; no attack without people and synthetic records."""
    if not len(synthetic) or not len(people[0]):
        return {}
    scores = {"distance": [attacks.nearness(side, synthetic) for side in people]}
    if options.weights:
        starts = codebook.block_starts
        predicted = _predictions(options, people, codebook)
        scores["likelihood"] = [
            attacks.likelihood_ratio(side, independent.normalised(predictions, starts), train, starts)
            for side, predictions in zip(people, predicted, strict=True)
        ]
    return scores


def _predictions(
    options: argparse.Namespace, people: tuple[np.ndarray, np.ndarray], codebook: Codebook
) -> list[np.ndarray]:
    """The model's minus-one predictions, (m, K) for either side."""
    import torch  # which rows without a model do without

    torch.set_num_threads(1)  # sums in one order, whatever the machine's cores
    (weights,) = options.weights
    if options.family == "stationary":
        from modp.models.stationary import model as stationary

        model = stationary.load(weights, codebook)
        return [model.predict(side) for side in people]
    from modp.models.blades import network as blades

    maps = blades.load(weights, codebook)
    binary = [one_hot(side, codebook.block_starts) for side in people]
    return [blades.predict(maps, side, torch.device("cpu")) for side in binary]


def _thinned(false: np.ndarray, true: np.ndarray) -> pd.DataFrame:
    kept = np.unique(np.geomspace(1, len(false), CORNERS).round().astype(int)) - 1
    return pd.DataFrame({"fpr": false[kept], "tpr": true[kept]})
