"""Draws of whole households: sweeps, and exchanges between households.

The distribution of a household h of persons x₁ … xₙ, given their roles a₁ … aₙ, is

    P(h, x₁ … xₙ) ∝ exp( Σ_g home[h_g] + Σ_{f<g} between[h_f, h_g] + Σᵢ Σ_g members[aᵢ, h_g]
        + Σᵢ Σ_q ( single[aᵢ, x_iq] + Σ_{j≠i} partner[aᵢ, aⱼ, x_iq] ) + Σᵢ Σ_{q<r} person[x_iq, x_ir]
        + Σᵢ Σ_{q,g} own[aᵢ, x_iq, h_g] + Σ_{i<j} Σ_{q,r} pair[aᵢ, aⱼ, x_iq, x_jr]
        + Σ_q agree[q, n] · 1(all n persons give one answer to q) )

with the weights of :class:`modp.crosstabs.members.Parts`, -∞ at structural zeros. The weights ``partner`` and
``members`` say how answers go with the number of members; ``pair`` and ``own`` then only what is theirs.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from modp.base.loops import compiled, in_threads
from modp.crosstabs.members import Parts
from modp.draws.exchange import Links, paired
from modp.draws.gibbs import GOLDEN, compiled_mix
from modp.draws.sweeps import key_of, question_order
from modp.survey.households import ROLES, Households

HOUSEHOLDS_AT_ONCE = 512
"""Households that a thread takes at a time."""

PAIRS_AT_ONCE = 1 << 11

EVERYBODY = -1
"""In place of a member: all members, and the household, exchange answers."""


class Laid(NamedTuple):
    """Weights as the kernels take them.

    weights : with -∞ at structural zeros
    turned : (R, H, K), ``weights.own`` with the households' answers first
    agreeing : int64 (Q,), as in :func:`modp.crosstabs.members.counts`
    """

    weights: Parts
    turned: np.ndarray
    agreeing: np.ndarray

    @classmethod
    def of(cls, weights: Parts, agreeing: np.ndarray) -> "Laid":
        """Lay out weights."""
        return cls(weights, np.ascontiguousarray(weights.own.transpose(0, 2, 1)), agreeing)


def sweep(
    households: Households, laid: Laid, seed: int, number: int, threads: int
) -> tuple[Households, int]:
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
    persons, homes = (np.array(of.codes, np.int16, order="C") for of in (households.persons, households.homes))
    blocks, home_blocks = households.persons.block_starts, households.homes.block_starts
    order = question_order(seed, number, persons.shape[1] + homes.shape[1])
    key, n = key_of(seed, number), len(households)

    def part(first: int) -> int:
        last = min(first + HOUSEHOLDS_AT_ONCE, n)
        where = (households.starts, households.roles, first, last, order, blocks, home_blocks)
        return _sweep(persons, homes, *where, laid.agreeing, laid.turned, key, *laid.weights)

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
    persons, homes = (np.array(of.codes, np.int16, order="C") for of in (households.persons, households.homes))
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
    codes, home_codes, starts, roles, first, last, order, blocks, home_blocks, agreeing, turned, key,
    single, partner, person, own, home, members, between, pair, agree,
):  # fmt: skip
    """Redraw the answers of households from ``first`` to before ``last``; return how many changed."""
    questions, home_questions = codes.shape[1], home_codes.shape[1]
    widest = 1
    for q in range(questions):
        widest = max(widest, blocks[q + 1] - blocks[q])
    for g in range(home_questions):
        widest = max(widest, home_blocks[g + 1] - home_blocks[g])
    scores, number = np.empty(widest, np.float64), np.empty(single.shape[0], np.int64)
    most = 1
    for h in range(first, last):
        most = max(most, starts[h + 1] - starts[h])
    answers, homes = np.empty((most, questions), np.int64), np.empty(home_questions, np.int64)
    changed = 0
    for h in range(first, last):
        begin, n = starts[h], starts[h + 1] - starts[h]
        state = compiled_mix(key + GOLDEN * np.uint64(h + 1))
        number[:] = 0
        for i in range(n):
            number[roles[begin + i]] += 1
            for q in range(questions):
                answers[i, q] = blocks[q] + codes[begin + i, q]
        for g in range(home_questions):
            homes[g] = home_blocks[g] + home_codes[h, g]
        for slot in order:
            if slot >= questions:
                g = slot - questions
                low, size = home_blocks[g], home_blocks[g + 1] - home_blocks[g]
                for x in range(size):
                    scores[x] = home[low + x]
                for a in range(len(number)):
                    if number[a]:
                        for x in range(size):
                            scores[x] += number[a] * members[a, low + x]
                for f in range(home_questions):
                    if f != g:
                        row = between[homes[f]]
                        for x in range(size):
                            scores[x] += row[low + x]
                for i in range(n):
                    table = own[roles[begin + i]]
                    for q in range(questions):
                        row = table[answers[i, q]]
                        for x in range(size):
                            scores[x] += row[low + x]
                word = compiled_mix(state + GOLDEN * np.uint64(n * questions + g + 1))
                drawn = _drawn(scores, size, homes[g] - low, word)
                changed += low + drawn != homes[g]
                homes[g] = low + drawn
                continue
            q = slot
            low, size = blocks[q], blocks[q + 1] - blocks[q]
            for i in range(n):
                a = roles[begin + i]
                for x in range(size):
                    scores[x] = single[a, low + x]
                for b in range(len(number)):
                    others = number[b] - (a == b)
                    if others:
                        for x in range(size):
                            scores[x] += others * partner[a, b, low + x]
                for r in range(questions):
                    if r != q:
                        row = person[answers[i, r]]
                        for x in range(size):
                            scores[x] += row[low + x]
                for g in range(home_questions):
                    row = turned[a, homes[g]]
                    for x in range(size):
                        scores[x] += row[low + x]
                for j in range(n):
                    if j != i:
                        table = pair[roles[begin + j], a]
                        for r in range(questions):
                            row = table[answers[j, r]]
                            for x in range(size):
                                scores[x] += row[low + x]
                if agreeing[q] >= 0 and n > 1:
                    other = answers[1 if i == 0 else 0, q]
                    alike = True
                    for j in range(n):
                        alike = alike and (j == i or answers[j, q] == other)
                    if alike:
                        scores[other - low] += agree[agreeing[q], n]
                word = compiled_mix(state + GOLDEN * np.uint64(i * questions + q + 1))
                drawn = _drawn(scores, size, answers[i, q] - low, word)
                changed += low + drawn != answers[i, q]
                answers[i, q] = low + drawn
        for i in range(n):
            for q in range(questions):
                codes[begin + i, q] = answers[i, q] - blocks[q]
        for g in range(home_questions):
            home_codes[h, g] = homes[g] - home_blocks[g]
    return changed


@compiled
def _drawn(scores, size, present, word):
    """Draw a category of these log odds by a random word; the present one if all are impossible."""
    highest = -np.inf
    for x in range(size):
        highest = max(highest, scores[x])
    if highest == -np.inf:
        return present
    total = 0.0
    for x in range(size):
        scores[x] = np.exp(scores[x] - highest)
        total += scores[x]
    target = np.float64(word >> np.uint64(11)) * 2.0**-53 * total
    drawn, last = 0, 0
    for x in range(size):
        if scores[x] > 0:
            last = x
        target -= scores[x]
        if target < 0:
            return x
    return last


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
