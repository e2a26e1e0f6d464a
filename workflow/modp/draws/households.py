"""Draws of whole households: sweeps, and exchanges between households.

The distribution of a household h of persons x₁ … xₙ, given their roles a₁ … aₙ, is

    P(h, x₁ … xₙ) ∝ exp( Σ_g home[h_g] + Σ_{f<g} between[h_f, h_g] + Σᵢ Σ_g members[aᵢ, h_g]
        + Σᵢ Σ_q ( single[aᵢ, x_iq] + Σ_{j≠i} partner[aᵢ, aⱼ, x_iq] ) + Σᵢ Σ_{q<r} person[x_iq, x_ir]
        + Σᵢ Σ_{q,g} own[aᵢ, x_iq, h_g] + Σ_{i<j} Σ_{q,r} pair[aᵢ, aⱼ, x_iq, x_jr]
        + Σ_q agree[q, n] · 1(all n persons give one answer to q) )

with the weights of :class:`modp.crosstabs.members.Parts`, -∞ at structural zeros. The weights ``partner`` and
``members`` say how answers go with the number of members; ``pair`` and ``own`` then only what is theirs.
"""

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from modp.base.loops import compiled, in_threads
from modp.crosstabs.members import Parts
from modp.draws.exchange import Links, paired
from modp.draws.gibbs import GOLDEN, LANES, add_up, compiled_mix, odds_against
from modp.draws.sweeps import key_of, question_order
from modp.survey.households import ROLES, Households

HOUSEHOLDS_AT_ONCE = 512
"""Households that a thread takes at a time."""

PAIRS_AT_ONCE = 1 << 11

EVERYBODY = -1
"""In place of a member: all members, and the household, exchange answers."""


class Laid(NamedTuple):
    """Weights as the kernels take them.

    All that is known about the categories of one question, of a person of one role or of the household,
    stands in rows of ``numbers``, padded to whole lanes: first the weights of the categories alone; then, for
    a person, one row for each role of another member, for each answer of the household, for each answer of
    the same person, and for each role and answer of another member; for the household, one row for each role
    of a member, for each answer of the household, and for each role and answer of a member.

    weights : with -∞ at structural zeros
    numbers : float32
    begins, widths : int64 (R, Q) and (Q,), where the rows of a role's question begin, and how long they are
    home_begins, home_widths : int64 (G,), the same for the household's questions
    agreeing : int64 (Q,), as in :func:`modp.crosstabs.members.counts`
    """

    weights: Parts
    numbers: np.ndarray
    begins: np.ndarray
    widths: np.ndarray
    home_begins: np.ndarray
    home_widths: np.ndarray
    agreeing: np.ndarray

    @classmethod
    def of(cls, weights: Parts, agreeing: np.ndarray, blocks: np.ndarray, home_blocks: np.ndarray) -> "Laid":
        """Lay out weights for questions with these block starts."""
        w, roles = Parts(*(part.astype(np.float32) for part in weights)), len(ROLES)
        persons, homes = w.person.shape[0], len(w.home)
        tables = []
        for a in range(roles):
            others = w.pair[:, a].reshape(-1, persons)
            tables.append(np.vstack([w.single[a], w.partner[a], w.own[a].T, w.person, others]))
        of_home = np.vstack([w.home, w.members, w.between, w.own.reshape(-1, homes)])
        rows = [_padded(table[:, q]) for table in tables for q in _slices(blocks)]
        rows += [_padded(of_home[:, g]) for g in _slices(home_blocks)]
        begins = np.concatenate([[0], np.cumsum([part.size for part in rows])])[:-1]
        widths = np.array([part.shape[1] for part in rows])
        questions = len(blocks) - 1
        inside = roles * questions
        return cls(
            w,
            np.concatenate([part.ravel() for part in rows]),
            begins[:inside].reshape(roles, questions),
            widths[:questions],
            begins[inside:],
            widths[inside:],
            agreeing,
        )


def _slices(blocks: np.ndarray) -> list[slice]:
    return [slice(first, last) for first, last in itertools.pairwise(blocks.tolist())]


def _padded(table: np.ndarray) -> np.ndarray:
    """A question's columns of a table, with impossible categories up to whole lanes."""
    size = table.shape[1]
    rows = np.zeros((len(table), -(-size // LANES) * LANES), np.float32)
    rows[:, :size], rows[0, size:] = table, -np.inf
    return rows


def sweep(households: Households, laid: Laid, seed: int, number: int, threads: int) -> tuple[Households, int]:
    """Redraw every answer once, given all other answers of the household, in one random order of questions.

    A household without structural zeros stays without.

    Parameters
    ----------
    seed, number : random numbers are a function of the seed, the sweep's number, the household's row, and
        the answer's place in it
    threads : without influence on the result

    Returns
    -------
    households
    changed : number of answers that differ from those before the sweep
    """
    persons, homes = (
        np.array(of.codes, np.int16, order="C") for of in (households.persons, households.homes)
    )
    blocks, home_blocks = households.persons.block_starts, households.homes.block_starts
    order = question_order(seed, number, persons.shape[1] + homes.shape[1])
    key, n = key_of(seed, number), len(households)

    def part(first: int) -> int:
        last = min(first + HOUSEHOLDS_AT_ONCE, n)
        where = (households.starts, households.roles, first, last, order, blocks, home_blocks)
        return _sweep(persons, homes, *where, key, *laid[1:], laid.weights.agree)

    changed = sum(in_threads(part, range(0, n, HOUSEHOLDS_AT_ONCE), threads))
    return households.of(persons, homes), changed


def exchange(
    households: Households, laid: Laid, linked: Links, rounds: int, rng: np.random.Generator, threads: int
) -> tuple[Households, float]:
    """Let households of one composition swap answers to a group of linked questions.

    Each round takes the group of a random question at a random strength of links, of one member, of all
    members of a role, or of all members and the household; and pairs up households of one composition at
    random among those that agree on what is most strongly linked to the group. A swap is accepted with the
    ratio of the joint probabilities; see :mod:`modp.draws.exchange`.

    Parameters
    ----------
    linked : the links of the persons' questions, followed by the households'
    rounds : number of groups, one after the other
    threads : without influence on the result

    Returns
    -------
    households
    accepted : share of the proposed exchanges that were accepted
    """
    persons, homes = (
        np.array(of.codes, np.int16, order="C") for of in (households.persons, households.homes)
    )
    blocks, home_blocks = households.persons.block_starts, households.homes.block_starts
    starts, roles, composition = households.starts, households.roles, households.composition
    numbers, questions = households.numbers, persons.shape[1]
    done = tried = 0
    for _ in range(rounds):
        group = linked.group(int(rng.integers(len(linked.strength))), rng.random())
        who = int(rng.integers(EVERYBODY, len(ROLES)))
        first, moving = _members(who, numbers, composition, rng)
        if who != EVERYBODY:
            group = group & (np.arange(len(group)) < questions)
        if not group.any() or (who == EVERYBODY and group.all()):
            continue
        rows = np.flatnonzero(moving > 0)
        agreed = [composition[rows]]
        for at in linked.context(group):
            of_person = persons[starts[rows] + first[rows], min(at, questions - 1)]
            agreed.append(of_person if at < questions else homes[rows, at - questions])
        pairs = rows[paired(np.column_stack(agreed), np.arange(len(agreed)), rng)]
        uniform = rng.random(len(pairs))
        inside = np.flatnonzero(group[:questions]), np.flatnonzero(group[questions:])

        def part(
            i: int,
            pairs: np.ndarray = pairs,
            uniform: np.ndarray = uniform,
            inside: Sequence[np.ndarray] = inside,
            span: tuple[np.ndarray, np.ndarray] = (first, moving),
        ) -> int:
            some = slice(i, i + PAIRS_AT_ONCE)
            where = (starts, roles, pairs[some], *span, *inside, uniform[some], blocks, home_blocks)
            return _exchange(persons, homes, *where, laid.agreeing, *laid.weights)

        done += sum(in_threads(part, range(0, len(pairs), PAIRS_AT_ONCE), threads))
        tried += len(pairs)
    return households.of(persons, homes), done / max(tried, 1)


def gains(households: Households, weights: Parts, agreeing: np.ndarray, threads: int) -> np.ndarray:
    """Return the sum of weights of each household: what its log probability gains by them, float64 (M,).

    Parameters
    ----------
    weights : finite
    agreeing : int64 (Q,), as in :func:`modp.crosstabs.members.counts`
    threads : without influence on the result
    """
    found = np.zeros(len(households))
    columns, homes = households.persons.columns, households.homes.columns

    def part(first: int) -> None:
        last = min(first + HOUSEHOLDS_AT_ONCE, len(found))
        where = (households.starts, households.roles, first, last, agreeing)
        _gains(columns, homes, *where, *weights, found)

    in_threads(part, range(0, len(found), HOUSEHOLDS_AT_ONCE), threads)
    return found


def _members(
    who: int, numbers: np.ndarray, composition: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """The first of the members that exchange, and their number: the same in all households of a composition.

    Those of a role exchange together or, as often, one of them does.
    """
    if who == EVERYBODY:
        return np.zeros(len(numbers), np.int64), numbers.sum(axis=1)
    first, moving = numbers[:, :who].sum(axis=1), numbers[:, who].copy()
    if rng.random() < 0.5:
        chosen = rng.random(int(composition.max(initial=0)) + 1)[composition]
        first += np.floor(chosen * moving).astype(np.int64)
        moving = np.minimum(moving, 1)
    return first, moving


@compiled
def _sweep(
    codes, home_codes, starts, roles, first, last, order, blocks, home_blocks, key,
    numbers, begins, widths, home_begins, home_widths, agreeing, agree,
):  # fmt: skip
    """Redraw the answers of households from ``first`` to before ``last``; return how many changed."""
    questions, home_questions = codes.shape[1], home_codes.shape[1]
    persons, homes, groups = blocks[-1], home_blocks[-1], begins.shape[0]
    most = 1
    for h in range(first, last):
        most = max(most, starts[h + 1] - starts[h])
    scores, odds = np.empty((2, max(widths.max(), home_widths.max())), np.float32)
    answers, home = np.empty((most, questions), np.int32), np.empty(home_questions, np.int32)
    rows = np.empty((most + 1) * (questions + 1) + home_questions, np.int32)
    terms = np.empty((0, 6), np.int64)
    changed = 0
    for h in range(first, last):
        begin, n = starts[h], starts[h + 1] - starts[h]
        state = compiled_mix(key + GOLDEN * np.uint64(h + 1))
        for i in range(n):
            for q in range(questions):
                answers[i, q] = blocks[q] + codes[begin + i, q]
        for g in range(home_questions):
            home[g] = home_blocks[g] + home_codes[h, g]
        for slot in order:
            if slot >= questions:
                g, count = slot - questions, 0
                for f in range(home_questions):
                    rows[count] = groups + home[f]
                    count += 1
                for i in range(n):
                    a = roles[begin + i]
                    rows[count] = a
                    count += 1
                    for q in range(questions):
                        rows[count] = groups + homes + a * persons + answers[i, q]
                        count += 1
                add_up(numbers, home_begins[g], home_widths[g], rows[:count], terms, 0, 0, scores)
                word = compiled_mix(state + GOLDEN * np.uint64(n * questions + g + 1))
                size, present = home_blocks[g + 1] - home_blocks[g], home[g] - home_blocks[g]
                drawn = _drawn(scores, odds, size, home_widths[g], present, word)
                changed += drawn != present
                home[g] = home_blocks[g] + drawn
                continue
            q = slot
            for i in range(n):
                a, count = roles[begin + i], 0
                for g in range(home_questions):
                    rows[count] = groups + home[g]
                    count += 1
                for j in range(n):
                    b, skipped = roles[begin + j], groups + homes
                    if j != i:
                        rows[count] = b
                        count += 1
                        skipped += persons + b * persons
                    for r in range(questions):
                        rows[count] = skipped + answers[j, r]
                        count += 1
                add_up(numbers, begins[a, q], widths[q], rows[:count], terms, 0, 0, scores)
                if agreeing[q] >= 0 and n > 1:
                    other = answers[1 if i == 0 else 0, q]
                    alike = True
                    for j in range(n):
                        alike = alike and (j == i or answers[j, q] == other)
                    if alike:
                        scores[other - blocks[q]] += agree[agreeing[q], n]
                word = compiled_mix(state + GOLDEN * np.uint64(i * questions + q + 1))
                present = answers[i, q] - blocks[q]
                drawn = _drawn(scores, odds, blocks[q + 1] - blocks[q], widths[q], present, word)
                changed += drawn != present
                answers[i, q] = blocks[q] + drawn
        for i in range(n):
            for q in range(questions):
                codes[begin + i, q] = answers[i, q] - blocks[q]
        for g in range(home_questions):
            home_codes[h, g] = home[g] - home_blocks[g]
    return changed


@compiled
def _gains(
    columns, homes, starts, roles, first, last, agreeing,
    single, partner, person, own, home, members, between, pair, agree, found,
):  # fmt: skip
    """Sum the weights of households from ``first`` to before ``last``."""
    questions, home_questions = columns.shape[1], homes.shape[1]
    for h in range(first, last):
        begin, end, total = starts[h], starts[h + 1], 0.0
        for g in range(home_questions):
            x = homes[h, g]
            total += home[x]
            for f in range(g):
                total += between[x, homes[h, f]]
            for i in range(begin, end):
                total += members[roles[i], x]
        for i in range(begin, end):
            a = roles[i]
            for q in range(questions):
                x = columns[i, q]
                total += single[a, x]
                for r in range(q):
                    total += person[x, columns[i, r]]
                for g in range(home_questions):
                    total += own[a, x, homes[h, g]]
                for j in range(begin, end):
                    if j != i:
                        total += partner[a, roles[j], x]
                for j in range(i + 1, end):
                    row = pair[a, roles[j], x]
                    for r in range(questions):
                        total += row[columns[j, r]]
        for q in range(questions):
            if agreeing[q] >= 0 and end - begin > 1:
                alike = True
                for i in range(begin + 1, end):
                    alike = alike and columns[i, q] == columns[begin, q]
                if alike:
                    total += agree[agreeing[q], end - begin]
        found[h] = total


@compiled
def _drawn(scores, odds, size, width, present, word):
    """Draw a category of these log odds by a random word; the present one if all are impossible."""
    odds_against(scores, width, present, odds)
    total = 0.0
    for x in range(size):
        total += np.float64(odds[x])
    if total == 0:
        return present
    target = np.float64(word >> np.uint64(11)) * 2.0**-53 * total
    drawn = present
    for x in range(size):
        if odds[x] > 0:
            drawn = x
            target -= np.float64(odds[x])
            if target < 0:
                break
    return drawn


@compiled
def _weight(one, other, x, y, n, questions, begin, roles, person, own, between, pair):
    """The weight of two answers of a household, at places counted member by member, then the household's."""
    if one > other:
        one, other, x, y = other, one, y, x
    if one >= n * questions:
        return between[x, y]
    i = one // questions
    if other >= n * questions:
        return own[roles[begin + i], x, y]
    j = other // questions
    if i == j:
        return person[x, y]
    return pair[roles[begin + i], roles[begin + j], x, y]


@compiled
def _agreement(answers, q, n, questions, moved, others, agree):
    """The weight of all members' agreement on ``q``, with the answers of the members that moved."""
    for i in range(n):
        place = i * questions + q
        own = others[place] if moved[place] else answers[place]
        head = others[q] if moved[q] else answers[q]
        if own != head:
            return 0.0
    return agree[n]


@compiled
def _exchange(
    codes, home_codes, starts, roles, pairs, first, moving, inner, home_inner, uniform, blocks, home_blocks,
    agreeing, single, partner, person, own, home, members, between, pair, agree,
):  # fmt: skip
    """Exchange where the Metropolis ratio allows it; return how many did.

    ``single``, ``partner``, ``home`` and ``members`` cancel between households of one composition.
    """
    questions, home_questions = codes.shape[1], home_codes.shape[1]
    most = 0
    for p in range(len(pairs)):
        most = max(most, starts[pairs[p, 0] + 1] - starts[pairs[p, 0]])
    places = most * questions + home_questions
    here, there = np.empty((2, places), np.int64)
    moved = np.zeros(places, np.bool_)
    small, large = np.empty((2, places), np.int64)
    done = 0
    for p in range(len(pairs)):
        a, b = pairs[p, 0], pairs[p, 1]
        begin, other_begin, n = starts[a], starts[b], starts[a + 1] - starts[a]
        total = n * questions + home_questions
        moved[:total] = False
        for i in range(n):
            for q in range(questions):
                here[i * questions + q] = blocks[q] + codes[begin + i, q]
                there[i * questions + q] = blocks[q] + codes[other_begin + i, q]
        for g in range(home_questions):
            here[n * questions + g] = home_blocks[g] + home_codes[a, g]
            there[n * questions + g] = home_blocks[g] + home_codes[b, g]
        count = 0
        for i in range(first[a], first[a] + moving[a]):
            for q in inner:
                moved[i * questions + q] = True
                count += 1
        for g in home_inner:
            moved[n * questions + g] = True
            count += 1
        # To swap a part or all the rest is the same but for the rows' names: the smaller part moves.
        if 2 * count > total:
            for s in range(total):
                moved[s] = not moved[s]
        inside = outside = 0
        for s in range(total):
            if here[s] == there[s]:
                continue
            if moved[s]:
                small[inside] = s
                inside += 1
            else:
                large[outside] = s
                outside += 1
        # Places on which the two agree gain and lose the same, so only those that differ count.
        gain = 0.0
        for s in small[:inside]:
            for t in large[:outside]:
                u, v, x, y = here[s], there[s], here[t], there[t]
                gain += _weight(s, t, v, x, n, questions, begin, roles, person, own, between, pair)
                gain += _weight(s, t, u, y, n, questions, begin, roles, person, own, between, pair)
                if gain == -np.inf:
                    break
                gain -= _weight(s, t, u, x, n, questions, begin, roles, person, own, between, pair)
                gain -= _weight(s, t, v, y, n, questions, begin, roles, person, own, between, pair)
            if gain == -np.inf:
                break
        if gain == -np.inf or inside == 0:
            continue
        if n > 1:
            for q in range(questions):
                if agreeing[q] >= 0:
                    row = agree[agreeing[q]]
                    gain += _agreement(here, q, n, questions, moved, there, row)
                    gain += _agreement(there, q, n, questions, moved, here, row)
                    gain -= _alike(here, q, n, questions, row) + _alike(there, q, n, questions, row)
        if gain >= 0 or uniform[p] < np.exp(gain):
            for i in range(n):
                for q in range(questions):
                    if moved[i * questions + q]:
                        codes[begin + i, q] = there[i * questions + q] - blocks[q]
                        codes[other_begin + i, q] = here[i * questions + q] - blocks[q]
            for g in range(home_questions):
                if moved[n * questions + g]:
                    home_codes[a, g] = there[n * questions + g] - home_blocks[g]
                    home_codes[b, g] = here[n * questions + g] - home_blocks[g]
            done += 1
    return done


@compiled
def _alike(answers, q, n, questions, agree):
    """The weight of all members' agreement on ``q``."""
    for i in range(1, n):
        if answers[i * questions + q] != answers[q]:
            return 0.0
    return agree[n]
