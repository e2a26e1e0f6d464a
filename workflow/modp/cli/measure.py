"""Measure one synthetic table: its crosstabs against the true ones, its crowds, what attacks on it find."""

import argparse
import json
from pathlib import Path
from typing import get_args

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from modp.base import seeds
from modp.base.output import Log, written
from modp.cli.inputs import ask_for_coded, coded, read_drawn
from modp.cli.people import MOST, MOST_GUESSED, MOST_RECONSTRUCTED, MOST_REFERENCES, People, people
from modp.crosstabs.cells import Zeros
from modp.crosstabs.identical import multiplicity
from modp.crosstabs.pairs import crosstab
from modp.crosstabs.zeros import zeros_of
from modp.draws import independent
from modp.measures import accuracy, attacks, crowds, fidelity, three_way
from modp.measures.attacks import Estimate
from modp.measures.population import Held, population
from modp.models.family import Drawn
from modp.models.registry import FAMILIES, family
from modp.survey import where
from modp.survey.records import Records

RANKED = 10_000
"""Synthetic records whose causal partner is ranked, chosen at random if there are more."""

CORNERS = 1_000
"""Of a ROC curve, that are kept, closer together where there are few false alarms."""

NO_CURVE = pd.DataFrame({"attack": np.zeros(0, str), "fpr": np.zeros(0), "tpr": np.zeros(0)})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the step's options."""
    ask_for_coded(parser)
    parser.add_argument("--holdout", type=Path, required=True, help="records that the models never saw")
    parser.add_argument("--synthetic", type=Path, required=True)
    parser.add_argument("--row", required=True, help="of the accuracy table, or another table's name")
    parser.add_argument(
        "--where", type=json.loads, help="what all its records answer, as JSON, if that is so"
    )
    parser.add_argument("--family", choices=FAMILIES, help="what the weights are of")
    parser.add_argument("--weights", type=Path, nargs="*", default=[], help="of the model, if there is one")
    parser.add_argument("--zeros", choices=get_args(Zeros), required=True, help="what counts as such")
    parser.add_argument(
        "--paper-notebook", action="store_true", help="d and the figure of merit as in the author's notebook"
    )
    parser.add_argument("--attacked", nargs="*", default=[], help="questions whose answers are guessed")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--cells", type=Path, required=True, help="one line a cell i <= j")
    parser.add_argument("--triples", type=Path, required=True, help="one line a triple of questions")
    parser.add_argument("--summary", type=Path, required=True, help="what is counted by record")
    parser.add_argument("--crowds", type=Path, help="one line a synthetic record, of a drawn table")
    parser.add_argument("--attack", type=Path, required=True, help="one line a measure")
    parser.add_argument("--roc", type=Path, required=True, help="one line a corner of a ROC curve")


def run(options: argparse.Namespace, log: Log) -> None:
    """Read the tables once, then measure them in every way.

    Records drawn under a condition are compared with the true ones, and those held out, that meet it.
    """
    true = coded(options.records, options.codebook)
    codebook = true.codebook
    drawn = read_drawn(options.synthetic, codebook) if options.crowds else None
    synthetic = true.of(drawn.codes) if drawn else Records.read(options.synthetic, codebook)
    held = Records.read(options.holdout, codebook)
    if drawn:
        _hide(options, true, drawn, log)
    zeros = zeros_of(options.zeros, true)  # of all true records, whatever the condition
    if options.where:
        allowed = where.allowed(options.where, codebook)
        true, held = (side[side.meeting(allowed)] for side in (true, held))
    _compare(options, true, synthetic, held, drawn, zeros, log)
    _attack(options, true, synthetic, held, log)


def _compare(
    options: argparse.Namespace,
    true: Records,
    synthetic: Records,
    held: Records,
    drawn: Drawn | None,
    zeros: np.ndarray,
    log: Log,
) -> None:
    """Compare crosstabs, of two questions cell by cell, of three by a summary."""
    codebook, counts, sets = true.codebook, crosstab(true), accuracy.cell_sets(true.block_starts)
    cells = fidelity.cells(counts, crosstab(synthetic), len(true), len(synthetic), options.paper_notebook)
    names = pa.array(codebook.columns)
    table = pa.table(
        {
            "first": pa.DictionaryArray.from_arrays(pa.array(cells.first, pa.int16()), names),
            "second": pa.DictionaryArray.from_arrays(pa.array(cells.second, pa.int16()), names),
            "between": sets["between"],
            "true": cells.true,
            "synthetic": cells.synthetic,
            "scaled": cells.scaled,
            "log_ratio": cells.log_ratio,
            "z": cells.z,
            "merit": cells.merit,
        }
    )
    with written(options.cells) as path:
        pq.write_table(table, path, compression="zstd")
    # The same triples for every row, so that rows can be compared.
    some = three_way.chosen(len(codebook.names), seeds.generator(options.seed, "triples"))
    found = three_way.compare(true, synthetic, some)
    with written(options.triples) as path:
        names = dict(enumerate(codebook.names))
        named = found.triples.replace(dict.fromkeys(("first", "second", "third"), names))
        named.to_parquet(path, index=False)
    bits = drawn.entropy_bits.compressed() if drawn else np.zeros(0)
    # The same groups for every row, so that rows can be compared.
    groups = Held.of(held, seeds.generator(options.seed, "population"))
    summary = {
        **fidelity.counted(synthetic, bits, zeros),
        "three_way": found.cells.to_dict(),
        "population": population(cells.synthetic, len(synthetic), cells.true, len(true), groups, sets),
    }
    with written(options.summary) as path:
        path.write_text(json.dumps(summary) + "\n")
    if len(synthetic):
        log(f"{options.row}: median |ln ratio| {np.median(np.abs(cells.log_ratio)):.4f} over all cells")
    else:
        log(f"{options.row} holds no records: every measure of it is undefined (NaN)")


def _hide(options: argparse.Namespace, true: Records, drawn: Drawn, log: Log) -> None:
    """Count the crowds that drawn records hide in, rank their partners."""
    unknown, record = np.ma.getmaskarray(drawn.record), drawn.record.filled(0)
    rng = seeds.generator(options.seed, "ranked", options.row)
    chosen = np.sort(rng.permutation(np.flatnonzero(~unknown))[:RANKED])
    ranks, backwards = np.zeros((2, len(drawn.codes)), np.int64)
    ranks[chosen] = crowds.causal_rank(true.codes, drawn.codes, record, chosen)
    backwards[chosen] = crowds.causal_rank(true.codes, drawn.codes, record, chosen, backwards=True)
    table = {
        "record": pa.array(record, mask=unknown),
        "entropy_bits": pa.array(drawn.entropy_bits),
        "multiplicity": pa.array(multiplicity(true.codes)[record], mask=unknown),
        "causal_rank": pa.array(ranks, mask=ranks == 0),
        "causal_rank_backwards": pa.array(backwards, mask=ranks == 0),
    }
    with written(options.crowds) as path:
        pq.write_table(pa.table(table), path, compression="zstd")
    if len(chosen):
        nearest = np.mean(ranks[chosen] == 1)
        log(f"{options.row}: the nearest true record is the causal one for {nearest:.1%}")


def _attack(options: argparse.Namespace, true: Records, synthetic: Records, held: Records, log: Log) -> None:
    """Attack the table, to see what it tells of the people whom the models saw."""
    codebook = true.codebook
    who, rng = people(true, held, options.seed)
    train, holdout, level = who.train, who.holdout, who.level
    released = synthetic[seeds.generator(options.seed, "attack", options.row).permutation(len(synthetic))]
    found = {
        "exact": attacks.exact_matches(released.codes, train.codes),
        "exact_train": attacks.exact_matches(released.codes, train.codes[:level]),
        "exact_holdout": attacks.exact_matches(released.codes, holdout.codes[:level]),
    }
    ours, theirs = (side.codes[: min(level, MOST_REFERENCES)] for side in (train, holdout))
    found |= attacks.closest(released.codes[:MOST], ours, theirs, rng)
    sides = who.sides
    scores = _scores(options, sides, released, train) | _compared(released, who)
    curves = []
    for name, (inside, outside) in scores.items():
        found[f"{name}_auc"] = attacks.auc(inside, outside)
        found[f"{name}_tpr"] = attacks.true_positives(inside, outside, rng)
        found[f"{name}_top"] = attacks.most_exposed(inside, outside)
        curves.append(_thinned(*attacks.roc(inside, outside)).assign(attack=name))
    lines = [_line(name, "", estimate) for name, estimate in found.items()]
    members, others = (side.codes[:MOST_GUESSED] for side in sides)
    for question in (q for q in options.attacked if q in codebook.names):
        at = codebook.names.index(question)
        guesses = attacks.attribute_inference(released.codes, members, others, holdout.codes[:level], at)
        guesses |= attacks.attribute_reconstruction(
            released.codes,
            train.codes[:MOST_RECONSTRUCTED],
            sides[1].codes,
            at,
            ordered=bool(codebook.questions[at].edges),
        )
        lines += [_line(name, question, estimate) for name, estimate in guesses.items()]
    with written(options.attack) as path:
        pd.DataFrame(lines).to_parquet(path, index=False)
    with written(options.roc) as path:
        pd.concat([NO_CURVE, *curves]).to_parquet(path, index=False)
    closer = found["closer_to_train"]
    if np.isnan(closer.value):
        log(f"{options.row}: attacks are not measured, for want of synthetic records or records held out")
    else:
        log(
            f"{options.row}: {closer.value:.1%} of the synthetic records are closer to a record the models "
            f"saw than to one they did not (no leak: 50%; 95% interval {closer.low:.1%} to {closer.high:.1%})"
        )


def _line(measure: str, question: str, estimate: Estimate) -> dict[str, str | float]:
    return {"measure": measure, "question": question, **vars(estimate)}


def _scores(
    options: argparse.Namespace, sides: tuple[Records, Records], released: Records, train: Records
) -> dict[str, list[np.ndarray]]:
    """Each attack's scores of members and of others; no attack without people and synthetic records."""
    if not len(released) or not len(sides[0]):
        return {}
    scores = {"distance": [attacks.nearness(side.codes, released.codes) for side in sides]}
    if options.weights:
        (weights,) = options.weights
        model = family(options.family).load(weights, train.codebook)
        scores["likelihood"] = [
            attacks.likelihood_ratio(
                side, independent.normalised(model.predict(side), train.block_starts), train
            )
            for side in sides
        ]
    return scores


def _compared(released: Records, who: People) -> dict[str, list[np.ndarray]]:
    """The same of the attack that knows a part of the holdout and is made on the rest."""
    sides, reference = who.unknown, who.reference
    if not len(released) or not len(sides[0]) or len(reference) < 2:
        return {}
    sizes = who.train.codebook.sizes
    ratios = [attacks.density_ratio(p.codes, released.codes, reference.codes, sizes) for p in sides]
    return {"density": ratios}


def _thinned(false: np.ndarray, true: np.ndarray) -> pd.DataFrame:
    kept = np.unique(np.geomspace(1, len(false), CORNERS).round().astype(int)) - 1
    return pd.DataFrame({"fpr": false[kept], "tpr": true[kept]})
