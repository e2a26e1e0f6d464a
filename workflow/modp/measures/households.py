"""How near synthetic households come to true ones, and what they give away: per household, not per person."""

import itertools
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from modp.crosstabs.agreements import agreements, at_least
from modp.crosstabs.cells import within_question
from modp.crosstabs.members import Parts, counts, pairs_of
from modp.measures import attacks
from modp.measures.accuracy import log_ratio, summarise
from modp.survey import where
from modp.survey.codebook import Codebook
from modp.survey.households import CHILD, HOUSEHOLDER, OTHER, PARENT, ROLES, SPOUSE, Households
from modp.survey.records import Records

NEAREST = 10
"""A causal partner among so many nearest true households is found."""

SIZES = {"all": (1, 99), "1": (1, 1), "2": (2, 2), "3": (3, 3), "4+": (4, 99)}
"""Sizes of households that privacy is told of."""


def log_ratios(true: Households, synthetic: Households) -> dict[str, np.ndarray]:
    """Return signed log ratios of counts over the cells that true households hold.

    Counts are of pairs of answers, scaled to as many households: of each person, of persons and their
    household by the person's role, of members by the roles of the two; both of all roles together too.

    Returns
    -------
    ``within person``, ``household and person``, ``household and spouse`` …, ``householder-spouse`` …,
    ``all role pairs`` -> (cells,)
    """
    blocks, none = true.persons.block_starts, np.full(true.persons.codes.shape[1], -1)
    most = int(max(true.sizes.max(), synthetic.sizes.max()))
    own, other = (counts(of, none, most) for of in (true, synthetic))
    scale = len(true) / max(len(synthetic), 1)

    def between(tables: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
        found = [(t[t > 0], s[t > 0] * scale) for t, s in tables]
        return np.concatenate([np.zeros(0), *(log_ratio(t, s) for t, s in found)])

    cells = ~within_question(blocks) & np.triu(np.ones((len(own.person),) * 2, bool))
    tables: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {
        "within person": [(own.person[cells], other.person[cells])]
    }
    tables |= {f"household and {role}": [(own.own[a], other.own[a])] for a, role in enumerate(ROLES)}
    of_home = [table for name in list(tables)[1:] for table in tables[name]]
    pairs = {
        f"{ROLES[a]}-{ROLES[b]}": [_half(own, other, a, b)]
        for a, b in itertools.combinations_with_replacement(range(len(ROLES)), 2)
        if own.pair[a, b].any()
    }
    tables = {**tables, "household and person": of_home, **pairs}
    tables["all role pairs"] = [table for some in pairs.values() for table in some]
    return {name: between(some) for name, some in tables.items()}


def _half(own: Parts, other: Parts, a: int, b: int) -> tuple[np.ndarray, np.ndarray]:
    """The tables of two roles, of one role with itself the upper half."""
    if a != b:
        return own.pair[a, b], other.pair[a, b]
    upper = np.triu_indices(own.pair.shape[-1])
    return own.pair[a, a][upper], other.pair[a, a][upper]


def couples(households: Households) -> Records:
    """Return a record of each couple: the householder's answers, the spouse's, and their household's.

    Questions are named by whose they are, as in ``spouse AGEP``.
    """
    persons, homes = households.codebook
    spouses = np.flatnonzero(households.roles == SPOUSE)
    at = households.household[spouses]
    answers = (
        households.persons.codes[households.starts[:-1][at]],
        households.persons.codes[spouses],
        households.homes.codes[at],
    )
    questions = [
        replace(question, name=f"{role} {question.name}", label=f"{role.capitalize()}: {question.label}")
        for role in ROLES[:2]
        for question in persons.questions
    ]
    return Records(np.hstack(answers), Codebook(persons.question_set, (*questions, *homes.questions)))


def summarised(log_ratios: dict[str, np.ndarray]) -> dict[str, dict[str, float]]:
    """Return median, mean and r.m.s. of d for each set of cells, NaN for none, by the measures' keys."""
    return {name: dict(summarise(d).measures) for name, d in log_ratios.items()}


def agreeing(households: Households, question: str) -> np.ndarray:
    """Return which households of two or more members give one answer to a question: bool (m,)."""
    codes = households.persons.codes[:, households.persons.codebook.names.index(question)]
    head = codes[households.starts[:-1]]
    differ = np.bincount(households.household, codes != head[households.household], len(households))
    return (differ == 0)[households.sizes > 1]


def apart(households: Households, question: str) -> np.ndarray:
    """Return by how many categories of a question each householder and spouse differ: (couples,)."""
    codes = households.persons.codes[:, households.persons.codebook.names.index(question)].astype(int)
    spouses = np.flatnonzero(households.roles == SPOUSE)
    return np.abs(codes[spouses] - codes[households.starts[:-1][households.household[spouses]]])


def ages(households: Households, question: str) -> np.ndarray | None:
    """Return each person's age, the lowest of his or her category, float64 (N,).

    None where the question is not asked, or some of its categories are not of numbers.
    """
    book = households.persons.codebook
    if question not in book.names:
        return None
    at = book.names.index(question)
    low = np.array([where.lowest(category) for category in book.questions[at].categories])
    return low[households.persons.codes[:, at]] if np.isfinite(low).all() else None


def three_generations(starts: np.ndarray, roles: np.ndarray, age: np.ndarray) -> np.ndarray:
    """Return which households hold three generations, by roles and ages: bool (M,).

    They hold somebody who is a parent's age older than the householder or the spouse, and a child of these;
    or a child, and somebody who is a child's age younger than he or she is. In either case a generation is
    ``PARENT`` years, and who is neither householder, spouse nor child is the oldest or the youngest.

    Parameters
    ----------
    starts : int64 (M + 1,), where each household's persons begin
    roles : int8 (N,)
    age : (N,)
    """
    head, child, other = np.isin(roles, (HOUSEHOLDER, SPOUSE)), roles == CHILD, roles == OTHER
    parent, offspring = np.zeros((2, len(roles)), bool)
    for one, second in pairs_of(starts):
        for i, j in ((one, second), (second, one)):
            apart = (age[j] - age[i] >= PARENT.start) & (age[j] - age[i] < PARENT.stop)
            parent[i[apart & ((head[i] & other[j]) | (child[i] & head[j]))]] = True
            offspring[j[apart & ((head[j] & child[i]) | (child[j] & other[i]))]] = True
    return np.bincount(np.repeat(np.arange(len(starts) - 1), np.diff(starts)), parent & offspring) > 0


def flat(households: Households) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield each composition's households' rows, and all their answers, person by person, then home's."""
    composition = households.numbers
    for numbers in np.unique(composition, axis=0):
        rows = np.flatnonzero((composition == numbers).all(axis=1))
        members = households.starts[rows][:, None] + np.arange(numbers.sum())
        answers = households.persons.codes[members].reshape(len(rows), -1)
        yield rows, np.hstack([answers, households.homes.codes[rows]])


def found(true: Households, synthetic: Households, record: np.ndarray) -> dict[str, tuple[float, float]]:
    """Return how many synthetic households' causal partners are among the nearest true ones.

    A household is compared with the true ones of its composition, member by member in their order; the
    distance is the number of differing answers.

    Parameters
    ----------
    record : int64 (m,), the row of the true household from which each synthetic one was drawn; masked for
        those that were drawn from none, which are left out

    Returns
    -------
    size, as in ``SIZES`` -> share whose partner is among the ``NEAREST``, and what it is by chance; NaN for
    sizes of which there are none
    """
    hits, chance = np.zeros((2, len(synthetic)))
    known, record = ~np.ma.getmaskarray(record), np.ma.getdata(record)
    tables = {_composition(true, rows): (rows, answers) for rows, answers in flat(true)}
    for rows, answers in flat(synthetic):
        if not known[rows].any():
            continue
        of_true, table = tables[_composition(synthetic, rows)]
        partner = table[np.searchsorted(of_true, record[rows])]
        rank = at_least(table, answers, (partner == answers).sum(axis=1))
        hits[rows], chance[rows] = rank <= NEAREST, min(NEAREST / len(table), 1)
    return {
        name: (_mean(hits[some & known]), _mean(chance[some & known]))
        for name, some in _by_size(synthetic.sizes).items()
    }


def closer(
    train: Households, holdout: Households, synthetic: Households, rng: np.random.Generator
) -> dict[str, float]:
    """Return how many synthetic households are nearer to a train household than to any held out, ties ½.

    Each is compared with as many of both, of its own composition, chosen at random.

    Returns
    -------
    size, as in ``SIZES`` -> share; ½ says that the train households are no nearer than others
    """
    scores = np.full(len(synthetic), np.nan)
    sides = [_tables(of) for of in (train, holdout)]
    for rows, answers in flat(synthetic):
        tables = [side.get(_composition(synthetic, rows)) for side in sides]
        if any(table is None for table in tables):
            continue
        few = min(len(table) for table in tables if table is not None)
        near = [
            _most_shared(table[rng.permutation(len(table))[:few]], answers)
            for table in tables
            if table is not None
        ]
        scores[rows] = (near[0] > near[1]) + (near[0] == near[1]) / 2
    known = ~np.isnan(scores)
    return {name: _mean(scores[some & known]) for name, some in _by_size(synthetic.sizes).items()}


def suspected(
    train: Households, holdout: Households, synthetic: Households, rng: np.random.Generator
) -> dict[str, attacks.Estimate]:
    """Return how well an attack by a synthetic table tells train households from those held out.

    It suspects a household the more, the more of its answers the nearest synthetic one of its composition
    shares. Of each composition as many of both are attacked, chosen at random.

    Returns
    -------
    size, as in ``SIZES`` -> the area under the ROC curve, of which ½ is no leak
    """
    drawn, others = _tables(synthetic), _tables(holdout)
    scores: list[np.ndarray] = [np.empty((2, 0))]
    sizes = [np.empty(0, int)]
    for rows, answers in flat(train):
        of = _composition(train, rows)
        if of in drawn and of in others:
            few = min(len(answers), len(others[of]))
            sides = [table[rng.permutation(len(table))[:few]] for table in (answers, others[of])]
            scores.append(np.stack([_most_shared(drawn[of], side) for side in sides]) / answers.shape[1])
            sizes.append(np.full(few, sum(of)))
    members, strangers = np.concatenate(scores, axis=1)
    groups = _by_size(np.concatenate(sizes))
    return {name: attacks.auc(members[some], strangers[some]) for name, some in groups.items()}


def fewest(true: Households, synthetic: Households) -> dict[str, int]:
    """Return how many true households have the rarest composition of synthetic ones, by size; 0 for none."""
    often = {of: len(table) for of, table in _tables(true).items()}
    alike = np.zeros(len(synthetic), int)
    for rows, _ in flat(synthetic):
        alike[rows] = often.get(_composition(synthetic, rows), 0)
    return {
        name: int(alike[some].min(initial=len(true))) if some.any() else 0
        for name, some in _by_size(synthetic.sizes).items()
    }


def _tables(of: Households) -> dict[tuple[int, ...], np.ndarray]:
    """All answers of the households of each composition, a row a household."""
    return {_composition(of, rows): table for rows, table in flat(of)}


def _composition(of: Households, rows: np.ndarray) -> tuple[int, ...]:
    """How many members of each role households have that are all alike in this."""
    return tuple(of.numbers[rows[0]].tolist())


def _most_shared(table: np.ndarray, points: np.ndarray) -> np.ndarray:
    shared = np.empty(len(points))
    for some, agreed in agreements(table, points):
        shared[some] = agreed.max(axis=1)
    return shared


def identical(true: Households, synthetic: Households) -> dict[str, float]:
    """Return the share of synthetic households that equal a true one in every answer, by size."""
    same = np.zeros(len(synthetic), bool)
    tables = _tables(true)
    for rows, answers in flat(synthetic):
        table = tables.get(_composition(synthetic, rows))
        if table is not None:
            same[rows] = _most_shared(table, answers) == answers.shape[1]
    return {name: _mean(same[some]) for name, some in _by_size(synthetic.sizes).items()}


def numbers(households: Households) -> dict[str, int]:
    """Return how many households there are of each size."""
    return {name: int(some.sum()) for name, some in _by_size(households.sizes).items()}


def _by_size(sizes: np.ndarray) -> dict[str, np.ndarray]:
    return {name: (sizes >= low) & (sizes <= high) for name, (low, high) in SIZES.items()}


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else np.nan
