"""What is counted of whole households: answers of persons, of households, and of pairs of members."""

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from modp.base.loops import compiled, in_threads
from modp.crosstabs.cells import EXPECTED, question_of, within_question
from modp.survey.households import ROLES, Households

HOUSEHOLDS_AT_ONCE = 1024
"""Households that a thread counts at a time."""

UNIT = 5040
"""Of what is divided by members, a household's part is a whole number of so many; divisible by 1 to 10."""


class Parts(NamedTuple):
    """A number for everything that the distribution of households has a weight for: counts, or weights.

    With K categories of persons, H of households, R roles, D questions on which members may agree:

    single : (R, K), a role's persons with an answer
    partner : (R, R, K), the same, once for each other member of the second role
    person : (K, K), pairs of one person's answers, symmetric; weights are zero inside questions
    own : (R, K, H), a role's persons with an answer in households with an answer
    home : (H,), households with an answer
    members : (R, H), the same, once for each member of a role
    between : (H, H), pairs of a household's answers, the same
    pair : (R, R, K, K), pairs of members of the two roles with an answer each. It is given in both orders of
        the roles; for members of one role it is symmetric, and a pair with one answer counts once
    agree : (D, S + 1), households of each size, up to S, in which all members give one answer to a question
    """

    single: np.ndarray
    partner: np.ndarray
    person: np.ndarray
    own: np.ndarray
    home: np.ndarray
    members: np.ndarray
    between: np.ndarray
    pair: np.ndarray
    agree: np.ndarray


def parts(persons: int, homes: int, agreeing: int, most: int, kind: type = np.float64) -> Parts:
    """Return zeros for K, H, D and S as in :class:`Parts`."""
    r = len(ROLES)
    shapes = [(r, persons), (r, r, persons), (persons, persons), (r, persons, homes), (homes,), (r, homes)]
    shapes += [(homes, homes), (r, r, persons, persons), (agreeing, most + 1)]
    return Parts(*(np.zeros(shape, kind) for shape in shapes))


def counts(households: Households, agreeing: np.ndarray, most: int, threads: int = 1) -> Parts:
    """Count answers and pairs of answers, int64.

    Parameters
    ----------
    agreeing : int64 (Q,), the place of each question of persons among those on whose agreement households
        are counted, -1 for the others
    most : S, the size of the largest household
    threads : without influence on the result
    """
    return _counted(households, agreeing, most, np.ones(_things(households) + 1, np.int64), threads)


def shares(households: Households, agreeing: np.ndarray, most: int, threads: int = 1) -> Parts:
    """Count as :func:`counts`, but so that every household has a part of at most one in each table.

    Each of a household's n persons, members of a role or pairs of members, whatever a table is of, counts for
    1/n: what is counted are households, of which some are in a cell by half. A table is of two questions and,
    where it is of members, of their roles. Of two different questions of two members of one role, a table
    holds every pair in both orders, and a household has a part of two. With n from 1 to 10, 12, 14, 15 and
    other divisors of ``UNIT`` parts are exact, with others rounded down.

    Returns
    -------
    int64, in units of 1/``UNIT`` of a household
    """
    of = np.concatenate([[0], UNIT // np.arange(1, _things(households) + 1)])
    return _counted(households, agreeing, most, of, threads)


def _things(households: Households) -> int:
    """At most so many persons, members or pairs does one household have."""
    return int(households.sizes.max(initial=1)) ** 2


def _counted(households: Households, agreeing: np.ndarray, most: int, of: np.ndarray, threads: int) -> Parts:
    """Count, one of n things of a household for ``of[n]``."""
    persons, homes = households.persons, households.homes
    sizes = (
        int(persons.block_starts[-1]),
        int(homes.block_starts[-1]),
        int(agreeing.max(initial=-1)) + 1,
        most,
    )
    columns, home_columns, numbers = persons.columns, homes.columns, households.numbers
    n = len(households)
    step = max(HOUSEHOLDS_AT_ONCE, -(-n // (2 * threads)))

    def part(first: int) -> Parts:
        found = parts(*sizes, np.int64)
        last = min(first + step, n)
        where = households.starts, households.roles, numbers, of, first, last
        _count(columns, home_columns, *where, agreeing, *found)
        return found

    total = parts(*sizes, np.int64)
    for found in in_threads(part, range(0, n, step), threads):
        for whole, some in zip(total, found, strict=True):
            whole += some
    return _completed(total, numbers * of[numbers], home_columns)


def _completed(half: Parts, numbers: np.ndarray, home_columns: np.ndarray) -> Parts:
    """What the kernel counts in one order of roles, in both; and what follows from it."""
    for a, b in itertools.combinations(range(len(ROLES)), 2):
        half.pair[b, a] = half.pair[a, b].T
    for a in range(len(ROLES)):
        both = half.pair[a, a] + half.pair[a, a].T
        np.fill_diagonal(both, np.diag(half.pair[a, a]))
        half.pair[a, a] = both
    for answers in home_columns.T:
        for role, of in enumerate(numbers.T):
            half.members[role] += np.bincount(answers, of, half.members.shape[1]).astype(np.int64)
    return half


@compiled
def _count(
    columns, homes, starts, roles, numbers, of, first, last, agreeing,
    single, partner, person, own, home, members, between, pair, agree,
):  # fmt: skip
    """Count households from ``first`` to before ``last``; pairs of members in the order they stand in."""
    questions, home_questions = columns.shape[1], homes.shape[1]
    whole = of[1]
    for h in range(first, last):
        begin, end = starts[h], starts[h + 1]
        each = of[end - begin]
        for g in range(home_questions):
            home[homes[h, g]] += whole
            for f in range(home_questions):
                if f != g:
                    between[homes[h, g], homes[h, f]] += whole
        for i in range(begin, end):
            a = roles[i]
            n = numbers[h, a]
            for q in range(questions):
                x = columns[i, q]
                single[a, x] += of[n]
                for j in range(begin, end):
                    if j != i:
                        b = roles[j]
                        partner[a, b, x] += of[n * (numbers[h, b] - (a == b))]
                for r in range(questions):
                    if r != q:
                        person[x, columns[i, r]] += each
                for g in range(home_questions):
                    own[a, x, homes[h, g]] += of[n]
                for j in range(i + 1, end):
                    b = roles[j]
                    row = pair[a, b, x]
                    one = of[n * (n - 1) // 2 if a == b else n * numbers[h, b]]
                    for r in range(questions):
                        row[columns[j, r]] += one
        for q in range(questions):
            if agreeing[q] >= 0 and end - begin > 1:
                alike = True
                for i in range(begin + 1, end):
                    alike = alike and columns[i, q] == columns[begin, q]
                agree[agreeing[q], end - begin] += alike * whole


def likely_empty(table: np.ndarray, rows: np.ndarray, columns: np.ndarray, total: float) -> np.ndarray:
    """Return which empty cells of a table chance does not explain, bool of its shape.

    They are those in which independence would make ``EXPECTED`` of so many pairs in all.

    Parameters
    ----------
    table : (m, n)
    rows, columns : (m,), (n,), how many of the pairs have each answer
    """
    return (table == 0) & (np.outer(rows, columns) >= EXPECTED * max(total, 1))


def zeros_of(counted: Parts, blocks: np.ndarray, home_blocks: np.ndarray, kind: str) -> Parts:
    """Return which cells are structural zeros, bool: none of those that households hold.

    Parameters
    ----------
    counted : of the true households
    blocks, home_blocks : the block starts of persons' and households' questions
    kind : ``sample`` for all cells that no household is in, ``likely`` for those of them that chance does not
        explain
    """
    of_sample = Parts(*(part == 0 for part in counted))
    inside, home_inside = within_question(blocks), within_question(home_blocks)
    none = np.zeros_like(of_sample.agree)
    if kind == "sample":
        return of_sample._replace(
            person=of_sample.person & ~inside, between=of_sample.between & ~home_inside, agree=none
        )
    first, n = slice(0, blocks[1]), counted.single[:, : blocks[1]].sum(axis=1)
    everybody, households = counted.single.sum(axis=0), counted.home[: home_blocks[1]].sum()
    found = Parts(*(np.zeros_like(part) for part in of_sample))
    found.person[:] = likely_empty(counted.person, everybody, everybody, n.sum()) & ~inside
    found.between[:] = likely_empty(counted.between, counted.home, counted.home, households) & ~home_inside
    found.single[:] = likely_empty(counted.single, n, everybody, n.sum())
    found.members[:] = likely_empty(counted.members, n, counted.home, households)
    for a in range(len(ROLES)):
        found.own[a] = likely_empty(counted.own[a], counted.single[a], counted.members[a], n[a])
        pairs = counted.partner[a][:, first].sum(axis=1)
        found.partner[a] = likely_empty(counted.partner[a], pairs, counted.single[a], n[a])
        for b in range(len(ROLES)):
            row, column = counted.partner[a, b], counted.partner[b, a]
            found.pair[a, b] = likely_empty(counted.pair[a, b], row, column, pairs[b])
    return found


def blocks_of(blocks: np.ndarray, home_blocks: np.ndarray) -> Parts:
    """Number the block of two questions, by roles, of each cell that is a pair: int64, -1 for the others.

    Cells that are one and the same by symmetry have the same number.
    """
    question, home_question = question_of(blocks), question_of(home_blocks)
    size = max(len(blocks), len(home_blocks)) + 1
    found = parts(len(question), len(home_question), 0, 0, np.int64)
    for part in found:
        part[...] = -1
    low, high = (of.outer(question, question) for of in (np.minimum, np.maximum))
    found.person[:] = np.where(low == high, -1, low * size + high)
    low, high = (of.outer(home_question, home_question) for of in (np.minimum, np.maximum))
    found.between[:] = np.where(low == high, -1, low * size + high)
    for a in range(len(ROLES)):
        found.own[a] = (a * size + question[:, None]) * size + home_question
        for b in range(a, len(ROLES)):
            one, other = question[:, None], question[None, :]
            if a == b:
                one, other = np.minimum(one, other), np.maximum(one, other)
            found.pair[a, b] = ((a * len(ROLES) + b) * size + one) * size + other
            found.pair[b, a] = found.pair[a, b].T
    for part in found:
        known = part >= 0
        part[known] = np.unique(part[known], return_inverse=True)[1]
    return found


def breaking(households: Households, excluded: Parts) -> np.ndarray:
    """Return which households hold a structural zero: bool (M,)."""
    columns, homes = households.persons.columns, households.homes.columns
    roles, of = households.roles.astype(int), households.household
    bad = np.zeros(len(households), bool)
    for f, g in itertools.combinations(range(homes.shape[1]), 2):
        bad |= excluded.between[homes[:, f], homes[:, g]]
    for g in range(homes.shape[1]):
        for q in range(columns.shape[1]):
            bad[of[excluded.own[roles, columns[:, q], homes[of, g]]]] = True
    for q, r in itertools.combinations(range(columns.shape[1]), 2):
        bad[of[excluded.person[columns[:, q], columns[:, r]]]] = True
    for q in range(columns.shape[1]):
        bad[of[excluded.single[roles, columns[:, q]]]] = True
    for i, j in pairs_of(households.starts):
        for q, r in itertools.product(range(columns.shape[1]), repeat=2):
            hit = excluded.pair[roles[i], roles[j], columns[i, q], columns[j, r]]
            bad[of[i[hit]]] = True
    return bad


def pairs_of(starts: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield rows of two members of one household, the first so many places before the second."""
    sizes = np.diff(starts)
    for apart in range(1, int(sizes.max(initial=0))):
        rows = np.arange(starts[-1])
        has = rows + apart < np.repeat(starts[1:], sizes)
        yield rows[has], rows[has] + apart
