"""Attack a guarantee: releases with and without one record, and the least ε that they are compatible with.

Half of the releases are of a small random table, half of the same table with one record more, which holds the
rarest answers; or, with --household, with so many of these, where a household of so many is protected. Each
release is scored by attackers who know everything but whether that record was there: how often its answers
are in the released table, singly, in pairs, and all together, what the weights say of it, how many records
there are, how often its exact number is released, and the sum of the noisy answers about it, which only the
gate's owner has. Nine others have the number too, so that the record makes it one that ten share: with
--values shape, which no guarantee covers, numbers are drawn by the true ones, and the audit sees it. One half
of the scores
chooses an attack and a threshold, the other half bounds its rates of true and false alarms (Clopper and
Pearson, 1934) at 95 %: (ε, δ) implies true <= e^ε false + δ. A bound above the claimed ε contradicts the
guarantee; N releases cannot show more than about ln(N / 15). Each attack's own bound, of its best threshold,
is told beside; of seven such, one is above the truth more often than one time in twenty.

Run by "snakemake audit"; or
python benchmarks/audit.py [--releases 1000] [--epsilon 1] [--delta 1e-5] [--records 200] [--household 4]
[--values shape]
"""

import argparse
import functools
import itertools
import math
import time

import numpy as np
from measured import machine

from modp.base.config import check
from modp.crosstabs import pairs
from modp.files.raw import raw
from modp.files.table import Column, Table
from modp.models.private import budget, noise, release
from modp.pums.where import Dataset
from modp.release.amounts import drawn_amounts
from modp.release.answers import Source, stated
from modp.survey import coding
from modp.survey.questions import QuestionSet
from modp.survey.records import Records

SIZES = (2, 3, 4)
STARTS = np.concatenate([[0], np.cumsum(SIZES)])
QUICK = release.Settings(sweeps=2, last_sweeps=8, chains=100)
SURE = 0.05
ATTACKS = (
    "single answers",
    "pairs of answers",
    "whole records",
    "weights",
    "number of records",
    "exact numbers",
    "noisy answers",
)


class Listening(budget.Gate):
    """Sums what the answers say of one record, as its owner could."""

    heard = 0.0
    columns: np.ndarray

    def margins(self, rho):
        counts, sigmas = super().margins(rho)
        self.heard += (counts / sigmas**2)[self.columns].sum()
        return counts, sigmas

    def pair(self, first, second, rho):
        found, sigma = super().pair(first, second, rho)
        at = self.columns - STARTS[:-1]
        self.heard += found[at[first], at[second]] / sigma**2
        return found, sigma


WIDE, OTHERS, EXACT = 1000, 9, 777
"""Numbers in a class, records that share the one record's number in the first question, and that number."""


def numbers_of(codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A number inside the class of each answer to the first question; of the rarest class all are alike."""
    inside = np.where(codes[:, 0] == SIZES[0] - 1, EXACT, rng.integers(0, WIDE, len(codes)))
    return codes[:, 0].astype(np.int64) * WIDE + inside


def source_of(codes: np.ndarray, values: str) -> Source:
    """What numbers are drawn from: the question set alone, or the true records too."""
    asked = [
        {
            "name": f"Q{q}",
            "label": f"Q{q}",
            "numbers": {"cuts": [WIDE * k for k in range(1, size)]},
            "bounds": [0, WIDE * size - 1],
        }
        for q, size in enumerate(SIZES)
    ]
    questions = check({"name": "audit", "title": "audit", "questions": asked}, QuestionSet, "audit")
    dataset = check({"title": "audit", "questions": "audit", "files": ["-"], "table": {}}, Dataset, "audit")
    true = [numbers_of(codes, np.random.default_rng(0)), *(WIDE * codes[:, 1:].T.astype(np.int64))]
    columns = []
    for q, own in enumerate(true):
        kinds, places = np.unique(own, return_inverse=True)
        columns.append(Column(f"Q{q}", kinds.astype(str).astype(object), places.astype(np.int32)))
    table = Table(tuple(columns))
    found, codebook = coding.code(raw(table, questions, "audit"), questions, np.random.default_rng(0))
    assert np.array_equal(found, codes)
    if values == "stated":
        return stated(codebook, questions, dataset)
    return Source(Records(found, codebook), questions, dataset, table, np.arange(len(codes)))


def scores(
    codes: np.ndarray, source: Source, record: np.ndarray, most: int, rho: float, seed: int
) -> list[float]:
    """What each attack makes of one release."""
    counts = pairs.counts(codes, STARTS)
    gate = Listening(counts, STARTS, rho, noise.Seeded(np.random.default_rng([seed, 1])), most)
    gate.columns = STARTS[:-1] + record
    excluded = np.zeros(counts.shape, bool)
    found = release.release(gate, STARTS, excluded, QUICK, seed, 1, lambda _: None)
    same = found.codes == record
    both = sum((same[:, q] & same[:, r]).sum() for q, r in itertools.combinations(range(len(SIZES)), 2))
    at = gate.columns
    logits = found.model.c[at].sum() + found.model.w[np.ix_(at, at)].sum() / 2
    exact = (drawn_amounts(found.codes, ["Q0"], source, seed)["Q0"] == WIDE * record[0] + EXACT).sum()
    return [same.sum(), both, same.all(axis=1).sum(), logits, len(found.codes), exact, gate.heard]


@functools.cache
def least_share(times: int, of: int) -> float:
    """The least probability of an event seen so many times, one-sided at SURE / 2 (Clopper-Pearson)."""
    if times == 0:
        return 0.0
    seen = np.arange(times, of + 1)
    ways = [math.lgamma(of + 1) - math.lgamma(k + 1) - math.lgamma(of - k + 1) for k in seen]
    low, high = 0.0, 1.0
    for _ in range(50):
        p = (low + high) / 2
        as_often = np.exp(ways + seen * math.log(p) + (of - seen) * math.log1p(-p)).sum()
        low, high = (p, high) if as_often < SURE / 2 else (low, p)
    return low


def least_epsilon(true: int, false: int, of: int, delta: float) -> float:
    """Lower bound of ε from so many true and false alarms, of ``of`` releases each."""
    return math.log(max(least_share(true, of) - delta, 1e-300) / (1 - least_share(of - false, of)))


def audited(tables: tuple[np.ndarray, np.ndarray], delta: float) -> tuple[float, int]:
    """Choose attack and threshold on the first half of the releases; bound ε by the second, at least 0.

    Parameters
    ----------
    tables : scores of releases within and without the record, each (N, attacks)

    Returns
    -------
    bound
    attack : which was chosen
    """
    half, attacks = len(tables[0]) // 2, tables[0].shape[1]

    def bound(attack: int, sign: int, which: int, limit: float, part: slice) -> float:
        alarms = [int((sign * some[part, attack] >= limit).sum()) for some in tables]
        return least_epsilon(alarms[which], alarms[1 - which], half, delta)

    first, second = slice(0, half), slice(half, 2 * half)
    candidates = [
        (attack, sign, which, float(limit))
        for attack, sign, which in itertools.product(range(attacks), (1, -1), (0, 1))
        for limit in np.unique(sign * np.concatenate([some[first, attack] for some in tables]))
    ]
    best = max(candidates, key=lambda candidate: bound(*candidate, first))
    return max(0.0, bound(*best, second)), best[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--releases", type=int, default=1000, help="half of them with the record")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--delta", type=float, default=1e-5)
    parser.add_argument("--records", type=int, default=200)
    parser.add_argument("--household", type=int, default=1, help="records that come and go together")
    parser.add_argument(
        "--values", choices=["stated", "shape"], default="stated", help="how numbers are drawn"
    )
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    codes = np.column_stack([np.minimum(rng.geometric(0.6, arguments.records) - 1, m - 1) for m in SIZES])
    codes, record = codes.astype(np.int16), np.array([m - 1 for m in SIZES])
    codes = codes[(codes != record).all(axis=1)]
    codes[:OTHERS, 0] = record[0]
    more = np.vstack([codes, np.repeat([record], arguments.household, axis=0)]).astype(np.int16)
    wall, processor = time.perf_counter(), time.process_time()
    rho, half = budget.rho_of(arguments.epsilon, arguments.delta), arguments.releases // 2
    tables = [
        np.array(
            [
                scores(some, source, record, arguments.household, rho, 2 * number + at)
                for number in range(half)
            ],
            float,
        )
        for at, some in enumerate((more, codes))
        for source in [source_of(some, arguments.values)]
    ]
    found, attack = audited((tables[0], tables[1]), arguments.delta)
    who = "one record" if arguments.household == 1 else f"a household of {arguments.household}"
    print(
        f"{arguments.releases:,} releases of {len(codes)} records, with and without {who}, claimed epsilon "
        f"{arguments.epsilon:g}: at least {found:.2f} by '{ATTACKS[attack]}', 95 % sure; "
        f"{'CONTRADICTED' if found > arguments.epsilon else 'not contradicted'}"
    )
    for at, name in enumerate(ATTACKS):
        alone, _ = audited((tables[0][:, [at]], tables[1][:, [at]]), arguments.delta)
        print(f"- {name}: at least {alone:.2f}")
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    print(f"{machine()}: {wall:.0f} s, {processor:.0f} processor s")


if __name__ == "__main__":
    main()
