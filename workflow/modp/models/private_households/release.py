"""The model of whole households with a formal guarantee: fitted to noisy tables alone.

What is known of the true households are answers of a gate. How many there are of each composition and all
one-way tables are measured, then the tables of two answers that the fit gets wrong, one after the other,
as :mod:`modp.models.private.release` does for single records. Weights exist for measured tables alone, and a
prior, whose scale is learnt for each table from its noisy counts, keeps them small where a cell is no larger
than its noise.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from modp.base import seeds
from modp.base.errors import InputError
from modp.crosstabs.members import UNIT, Parts, breaking, parts, shares
from modp.crosstabs.pairs import counts as crosstab
from modp.draws import fresh
from modp.draws import households as draws
from modp.draws.exchange import links
from modp.models.households.model import HouseholdWeights
from modp.models.private.budget import range_of
from modp.models.private.estimates import DEGREES, LEAST, positive, spread_of, tied
from modp.models.private.release import LEARNT_EVERY, MOST_CHANGE, NOISE_SIZE, Pace, borne
from modp.models.private_households.gate import HouseholdGate
from modp.models.private_households.tables import Table, compositions, one_way, pairs
from modp.models.stationary.matching import shortened
from modp.models.stationary.model import Stationary
from modp.survey.households import HOUSEHOLDER, ROLES, Codebooks, Households
from modp.survey.records import Records

PAIRED = ("person", "between", "own", "pair", "agree")
"""Those parts of which tables of two answers are measured."""

TRIES, STARTS = 100, 20
"""Of drawing a member who breaks no rule, and of beginning a household anew that finds none."""

IMPOSSIBLE = -1e30
"""The log odds of what a rule excludes for a role, where a kernel knows rules on two answers alone."""


class Settings(Pace):
    """How the budget is spent, and how a model is fitted to what it bought.

    compositions, margins, choices : shares of the budget for counting compositions, for one-way tables, and
        for choosing tables
    tables : how many tables of two answers, in multiples of the number of one-way tables; None for
        :func:`modp.models.private.release.borne`
    chains : at most so many until the second of the last fits, which has one a household
    """

    tables: float | None = None
    chains: int = 4000
    compositions: Fraction = Fraction(5, 100)
    margins: Fraction = Fraction(20, 100)
    choices: Fraction = Fraction(10, 100)


@dataclass(frozen=True)
class Measured:
    """One line of a fit's history: what was measured, and what it cost.

    table : in words
    rho : what it cost, with the choice
    sigma : standard deviation of each count's noise, in households
    surprise : mean absolute difference of the noisy table and the model before it, in units of the noise's
        own; about 1 means that nothing new was learnt
    """

    table: str
    rho: float
    sigma: float
    surprise: float


@dataclass(frozen=True)
class Release:
    """A fitted model, the synthetic households and how they came about."""

    model: HouseholdWeights
    households: Households
    history: list[Measured]


def release(
    gate: HouseholdGate,
    books: Codebooks,
    agreeing: np.ndarray,
    most: int,
    excluded: Parts,
    settings: Settings,
    seed: int,
    threads: int,
    report: Callable[[Measured], None],
) -> Release:
    """Spend a gate's whole budget, fit a model to its answers, draw households from it.

    Everything after the gate's answers is post-processing: it depends on them and on public facts alone.

    Parameters
    ----------
    gate : holds what is counted of the true households
    agreeing, most : as the gate's
    excluded : bool, the cells that stated rules exclude. Never those that no true household happens to hold
    seed : of everything but the noise
    threads : without influence on the result

    Raises
    ------
    InputError
        if hardly any households of independent answers keep the rules
    """
    total = gate.left
    fitting = _Fitting(books, agreeing, most, excluded, settings, seed, threads, report)
    counts, sigma = gate.compositions(settings.compositions * total)
    fitting.tell(Measured("compositions", float(settings.compositions * total), sigma, 1.0))
    of_one, noisy = one_way(books), []
    cells = sum(len(table.cells) for table in of_one)
    for table in of_one:
        noisy.append(gate.table(table, settings.margins * total * Fraction(len(table.cells), cells)))
    typical = math.sqrt(np.mean([sigma**2 for _, sigma in noisy]))
    fitting.tell(Measured("one-way tables", float(settings.margins * total), typical, 1.0))
    fitting.begin(counts, sigma, of_one, noisy)
    candidates = pairs(books, agreeing, most)
    wanted = borne(fitting.n, float(total)) if settings.tables is None else settings.tables
    rounds = min(len(candidates), max(1, round(wanted * len(of_one))))
    at_once = max(settings.at_once, math.ceil(rounds / settings.fits))
    choice = settings.choices * total / rounds
    price = gate.left / rounds - choice
    noise = 1 / math.sqrt(2 * float(price))
    for number in range(rounds):
        if number % at_once == 0:
            fitting.sweep(settings.sweeps)
        handicaps = handicaps_of(candidates, noise, float(choice))
        table = candidates.pop(gate.worst(fitting.expected, candidates, handicaps, choice))
        fitting.take(table, *gate.table(table, price), float(price + choice))
    return fitting.finish()


def handicaps_of(candidates: Sequence[Table], noise: float, rho: float) -> np.ndarray:
    """Return by how much each table must be off, in households, to be as good a choice as one without cells.

    First, by what noise of this standard deviation for one household would be off by itself: less is not
    worth a measurement. Then by what chance adds to the best of many: so that every kind of tables is as
    likely to be chosen where none is off, be there many or few of it.

    Parameters
    ----------
    noise : of a table's counts, of a household that adds one
    rho : the price of the choice, which says how much chance there is in it
    """
    kinds = Counter(table.kind for table in candidates)
    chance = 2 / range_of(rho)
    return np.array(
        [
            table.most * (NOISE_SIZE * noise * len(table.cells) + chance * math.log(kinds[table.kind]))
            for table in candidates
        ]
    )


class _Spreads:
    """The prior of weights: Student's distribution, of a scale for each measured table."""

    def __init__(self) -> None:
        self.variances: list[float] = []

    def stiffness(self, weights: np.ndarray, of: np.ndarray) -> np.ndarray:
        """Return the pull of the prior over the weight; ``of`` is the number of each cell's table."""
        return (DEGREES + 1) / (DEGREES * np.array(self.variances)[of] + weights**2)

    def learn(self, weights: np.ndarray, information: np.ndarray, of: np.ndarray) -> None:
        """Take a step of EM, with the posterior's variance of a weight by Laplace's approximation."""
        stiff = self.stiffness(weights, of)
        squares = stiff * np.array(self.variances)[of] * (weights**2 + 1 / (information + stiff))
        sums, cells = np.bincount(of, squares), np.bincount(of)
        for k in np.flatnonzero(cells):
            self.variances[k] = max(float(sums[k] / cells[k]), LEAST**2)


@dataclass
class _Fitting:
    """What has been measured so far, and the model that is fitted to it."""

    books: Codebooks
    agreeing: np.ndarray
    most: int
    excluded: Parts
    settings: Settings
    seed: int
    threads: int
    report: Callable[[Measured], None]
    history: list[Measured] = field(default_factory=list)
    spreads: _Spreads = field(default_factory=_Spreads)
    number: int = 0
    together: float = 0.0

    def begin(
        self, counts: np.ndarray, sigma: float, of_one: list[Table], noisy: list[tuple[np.ndarray, float]]
    ) -> None:
        """Take up compositions and one-way tables; start chains from independent answers."""
        blocks, home_blocks = (book.block_starts for book in self.books)
        households = max(1, round(total_of(counts, sigma, of_one, noisy)))
        # As many of each as will be released.
        self.numbers = np.repeat(compositions(self.most), rounded(projected(counts, households)), axis=0)
        self.n = float(len(self.numbers))
        sizes = int(blocks[-1]), int(home_blocks[-1]), int(self.agreeing.max(initial=-1)) + 1, self.most
        self.target, self.precision, self.expected = (parts(*sizes) for _ in range(3))
        self.table_of = Parts(*(np.full(part.shape, -1) for part in parts(*sizes, np.int64)))
        self._margins(of_one, noisy)
        weights = parts(*sizes)
        weights.single[:] = np.log(np.maximum(self.target.single, 0.5))
        weights.home[:] = np.log(np.maximum(self.target.home, 0.5) / self.n)
        for a in range(len(ROLES)):
            weights.single[a] -= math.log(max(self._present(a), 1.0))
        excluded = self.excluded._replace(agree=np.zeros_like(weights.agree, bool))
        questions = len(blocks) + len(home_blocks) - 2
        strength = np.zeros((questions, questions))
        self.model = HouseholdWeights(
            weights, excluded, blocks, home_blocks, self.agreeing, strength, self.settings.exchanges
        )
        rng = seeds.generator(self.seed, "private households", "start")
        few = min(self.settings.chains, len(self.numbers))
        some = np.floor((np.arange(few) + rng.random()) * (len(self.numbers) / few)).astype(int)
        self.independent = self.model
        self.chains = begun(self.numbers[some], self.independent, self.books, rng)
        self.expected = self._counted()

    def _margins(self, of_one: list[Table], noisy: list[tuple[np.ndarray, float]]) -> None:
        """One-way tables that agree with the stated rules, and with the number of households and roles."""
        for a in (*range(len(ROLES)), None):
            own = [k for k, t in enumerate(of_one) if t.roles == (() if a is None else (a,))]
            book = self.books.homes if a is None else self.books.persons
            zeros = self.excluded.between if a is None else self.excluded.person
            sigmas = np.concatenate([np.full(len(noisy[k][0]), noisy[k][1]) for k in own])
            counts, sigmas = tied(
                np.concatenate([noisy[k][0] for k in own]), sigmas, zeros, book.block_starts
            )
            n = self.n if a is None else self._present(a)
            found = np.maximum(positive(counts, sigmas, n), 0.5)
            if a is not None:
                found[self.excluded.single[a]] = 0
            for first, last in zip(book.block_starts[:-1], book.block_starts[1:], strict=True):
                found[first:last] *= n / max(found[first:last].sum(), 0.5)
            if a is None:
                self.target.home[:] = found
            else:
                self.target.single[a] = found

    def _present(self, a: int, b: int | None = None) -> float:
        """The number of households with a member of role ``a``, and with another one of role ``b``."""
        own = self.numbers[:, a] > 0
        if b is not None:
            own &= self.numbers[:, b] > (a == b)
        return float(own.sum())

    def take(self, table: Table, found: np.ndarray, sigma: float, rho: float) -> None:
        """Take up a table of two answers."""
        at, expected = table.cells, getattr(self.expected, table.part).ravel()[table.cells]
        total = self._total(table)
        if total is not None:  # known without noise, so what the noise adds to the sum is taken out
            found = found + (total - found.sum()) / len(found)
        off = found - expected
        surprise = np.abs(off).mean() / (NOISE_SIZE * sigma)
        free = ~getattr(self.model.excluded, table.part).ravel()[at]
        spread = spread_of(off, np.maximum(expected, 0.5), sigma**2, free)
        number = len(self.spreads.variances)
        self.spreads.variances.append(spread)
        for places in (at, table.again):
            if len(places):
                getattr(self.target, table.part).ravel()[places] = found
                getattr(self.precision, table.part).ravel()[places] = np.where(free, 1 / sigma**2, 0)
                getattr(self.table_of, table.part).ravel()[places] = np.where(free, number, -1)
        self.together += self._instances(table)
        self.tell(Measured(table.name, rho, sigma, float(surprise)))

    def _total(self, table: Table) -> float | None:
        """The sum of a table's counts, None where compositions do not say it."""
        if table.part == "agree":
            return None
        return table.most * (self._present(*table.roles) if table.roles else self.n)

    def _instances(self, table: Table) -> float:
        """Pairs of answers of the table, for each person of the households."""
        numbers, role = self.numbers, table.roles
        n = {
            "person": lambda: numbers.sum(axis=1),
            "own": lambda: numbers[:, role[0]],
            "pair": lambda: numbers[:, role[0]] * (numbers[:, role[1]] - (role[0] == role[1])),
        }.get(table.part, lambda: np.ones(len(numbers)))()
        return float(n.sum()) / float(numbers.sum())

    def tell(self, line: Measured) -> None:
        """Note a line of the history."""
        self.history.append(line)
        self.report(line)

    def sweep(self, sweeps: int) -> None:
        """Fit to what has been measured."""
        for number in range(1, sweeps + 1):
            self._step()
            self._count(1.0)
            self._update(1.0)
            if number % LEARNT_EVERY == 0:
                self._learn()
        self._link()

    def finish(self) -> Release:
        """Fit to everything, in the end with as many chains as there are households; release these.

        As :meth:`modp.models.private.release._Fitting.finish`; weights are averaged over the last third.
        """
        settings = self.settings
        self.sweep(settings.last_sweeps)
        self.chains = self._all_chains()
        last, steps = settings.last_sweeps, settings.last_steps
        averaged = max(1, last // 3)
        weights = Parts(*(np.zeros_like(part) for part in self.model.weights))
        for number in range(last):
            left, factor = last - 1 - number, steps[number * len(steps) // last]
            self._step()
            self._count(factor)
            if left < averaged:
                for mean, now in zip(weights, self.model.weights, strict=True):
                    mean += now / averaged
            if left:
                self._update(factor)
            if left and left % LEARNT_EVERY == 0:
                self._learn()
        rng = seeds.generator(self.seed, "private households", "shuffled")
        households = self.chains[rng.permutation(len(self.chains))]
        return Release(replace(self.model, weights=weights), households, self.history)

    def _all_chains(self) -> Households:
        """A chain for each household to be released: copies of those there are, of its composition."""
        rng = seeds.generator(self.seed, "private households", "last")
        own = np.concatenate([self.chains.numbers, self.numbers])
        kind = np.unique(own, axis=0, return_inverse=True)[1].ravel()
        have, wanted = kind[: len(self.chains)], kind[len(self.chains) :]
        rows = np.full(len(wanted), -1)
        for k in np.unique(wanted):
            mine, of = np.flatnonzero(wanted == k), np.flatnonzero(have == k)
            if len(of):
                rows[mine] = np.resize(rng.permutation(of), len(mine))
        new = begun(self.numbers[rows < 0], self.independent, self.books, rng)
        return joined(self.chains[rows[rows >= 0]], new)

    def _step(self) -> None:
        """Sweep all chains once."""
        self.chains, _ = self.model.step(self.chains, self.seed, self.number, self.threads)
        self.number += 1

    def _counted(self) -> Parts:
        found = shares(self.chains, self.agreeing, self.most, self.threads)
        scale = self.n / (len(self.chains) * UNIT)
        return Parts(*(part * scale for part in found))

    def _count(self, factor: float) -> None:
        """Take what is counted of the chains up into what is expected, the slower the shorter the steps."""
        pace = (1 - self.settings.momentum) * math.sqrt(factor)
        for mean, now in zip(self.expected, self._counted(), strict=True):
            mean += pace * (now - mean)

    def _link(self) -> None:
        """Measure how strongly questions are linked in the chains, for exchanges."""
        persons, homes = self.chains.persons, self.chains.homes
        both = np.column_stack([persons.codes, homes.codes[self.chains.household]])
        starts = np.concatenate([persons.block_starts, persons.block_starts[-1] + homes.block_starts[1:]])
        self.model = replace(self.model, strength=links(crosstab(both, starts), starts).strength)

    def _information(self, name: str) -> np.ndarray:
        """By how much a count moves with its weight: its variance, for independent answers."""
        expected = np.maximum(getattr(self.expected, name), 0.5)
        if name != "agree":
            return expected
        sizes = np.bincount(self.numbers.sum(axis=1), minlength=self.most + 1)
        return np.maximum(expected * (1 - expected / np.maximum(sizes, 1)), 0.5)

    def _learn(self) -> None:
        """Learn the prior from the weights so far."""
        found = []
        for name in PAIRED:
            of = getattr(self.table_of, name)
            on = of >= 0
            information = self._information(name)[on] ** 2 * getattr(self.precision, name)[on]
            found.append((getattr(self.model.weights, name)[on], information, of[on]))
        if self.spreads.variances:
            self.spreads.learn(*(np.concatenate(some) for some in zip(*found, strict=True)))

    def _update(self, factor: float) -> None:
        """Move every weight towards the top of its posterior, given the others.

        For independent questions the Newton step of a cell of expected count m, noise σ and a prior that
        pulls at it by w t is (m (y - m) / σ² - w t) / (m² / σ² + t); it is shortened as in
        :meth:`modp.models.private.release._Fitting._update`.
        """
        settings, weights, seen = self.settings, self.model.weights, self.expected
        one, home = self._missing(seen.single, self.target.single), self._missing(seen.home, self.target.home)
        everybody = self._missing(seen.single.sum(axis=0), self.target.single.sum(axis=0))
        explained = {
            "person": everybody[:, None] + everybody,
            "between": home[:, None] + home,
            "own": one[:, :, None] + home,
            "pair": one[:, None, :, None] + one[None, :, None, :],
            "agree": np.zeros(1),
        }
        more = Parts(*(np.zeros(part.shape) for part in weights))
        for name in PAIRED:
            of = getattr(self.table_of, name)
            on = of >= 0
            if not on.any():
                continue
            expected, known = self._information(name), getattr(self.precision, name)[on]
            counted = getattr(seen, name)
            away = (getattr(self.target, name) - counted * (1 + explained[name]))[on]
            own, moves = getattr(weights, name)[on], expected[on]
            stiff = self.spreads.stiffness(own, of[on])
            newton = (moves * away * known - own * stiff) / (moves**2 * known + stiff)
            # Where next to nothing is expected of a large count, the quadratic model promises far too much.
            newton = np.clip(newton, -MOST_CHANGE, MOST_CHANGE)
            getattr(more, name)[on] = factor * self._steps(name, expected)[on] * newton
        more.single[:] = factor * settings.margin_step * one
        more.home[:] = factor * settings.margin_step * home
        self._resample(more)
        moved = Parts(*(part + change for part, change in zip(weights, more, strict=True)))
        self.model = replace(self.model, weights=moved)

    def _missing(self, seen: np.ndarray, target: np.ndarray) -> np.ndarray:
        return (target - seen) / (np.maximum(target, seen) + 1)

    def _steps(self, name: str, expected: np.ndarray) -> np.ndarray:
        """Each cell's part of its Newton step, as steps of answers that occur together add up."""
        settings, roles = self.settings, range(len(ROLES))
        if name == "agree":
            return np.full(expected.shape, settings.margin_step)
        total: np.ndarray | float = self.n
        if name == "own":
            total = np.array([self._present(a) for a in roles])[:, None, None]
        if name == "pair":
            total = np.array([[self._present(a, b) for b in roles] for a in roles])[:, :, None, None]
        share = np.minimum(expected / np.maximum(total, 1), 1)
        pace = settings.pair_step, settings.rare_power, settings.most_pair_step
        return shortened(share, 1, math.ceil(self.together), *pace)

    def _resample(self, more: Parts) -> None:
        """Let the chains follow a change of the weights, each kept in proportion to what it gains by it.

        As :meth:`modp.models.private.release._Fitting._resample`, among chains of one composition.
        """
        gains = draws.gains(self.chains, more, self.agreeing, self.threads)
        rng = seeds.generator(self.seed, "private households", "resample", str(self.number))
        self.chains = self.chains[resampled(gains, self.chains.composition, rng.random())]


def total_of(
    counts: np.ndarray, sigma: float, of_one: list[Table], noisy: list[tuple[np.ndarray, float]]
) -> float:
    """Return the number of households by all noisy counts that add up to it, by inverse variance.

    They are the compositions', every question's of households, and every question's of householders, of whom
    each has one.

    Parameters
    ----------
    counts, sigma : of the compositions
    of_one, noisy : the one-way tables, and what was measured of each
    """
    sums, variances = [float(counts.sum())], [len(counts) * sigma**2]
    for table, (found, of) in zip(of_one, noisy, strict=True):
        if table.roles in ((), (HOUSEHOLDER,)):
            sums.append(float(found.sum()))
            variances.append(len(found) * of**2)
    return float(np.average(sums, weights=1 / np.array(variances)))


def projected(counts: np.ndarray, total: float) -> np.ndarray:
    """Return the counts of at least 0 with this total that are nearest to noisy ones, by least squares."""
    down = np.sort(counts.astype(float))[::-1]
    over = (np.cumsum(down) - total) / np.arange(1, len(down) + 1)
    return np.maximum(counts - over[np.flatnonzero(down > over)[-1]], 0)


def rounded(counts: np.ndarray) -> np.ndarray:
    """Return whole numbers, int64, whose running sums are the rounded ones of counts."""
    return np.diff(np.rint(np.concatenate([[0], np.cumsum(counts)])).astype(np.int64))


def resampled(gains: np.ndarray, kind: np.ndarray, start: float) -> np.ndarray:
    """Choose rows (m,) in proportion to exp(gains), as many of each kind as there are, in the kinds' order.

    Parameters
    ----------
    gains : (m,)
    kind : int64 (m,), from 0 on without gaps
    start : in [0, 1), where the systematic sample begins
    """
    order = np.argsort(kind, kind="stable")
    sorted_kind, sizes = kind[order], np.bincount(kind)
    begins = np.concatenate([[0], np.cumsum(sizes)])[:-1]
    best = np.maximum.reduceat(gains[order], begins)
    odds = np.exp(gains[order] - best[sorted_kind])
    sums = np.add.reduceat(odds, begins)
    cumulative = np.cumsum(odds * (sizes / sums)[sorted_kind])
    at = np.searchsorted(cumulative, start + np.arange(len(gains)), side="right")
    return order[np.clip(at, begins[sorted_kind], (begins + sizes - 1)[sorted_kind])]


def begun(
    numbers: np.ndarray, model: HouseholdWeights, books: Codebooks, rng: np.random.Generator
) -> Households:
    """Draw households of given compositions from the weights of single answers alone; none breaks a rule.

    Members are drawn one after the other, each anew until no rule is broken with those before.

    Parameters
    ----------
    numbers : int64 (m, 4), members of each role

    Raises
    ------
    InputError
        if some are hardly ever found
    """
    sizes, zeros = numbers.sum(axis=1), model.excluded
    starts = np.concatenate([[0], np.cumsum(sizes)])
    roles = np.repeat(np.tile(np.arange(len(ROLES)), len(numbers)), numbers.ravel()).astype(np.int8)
    persons = np.zeros((len(roles), len(model.block_starts) - 1), np.int16)
    homes = np.zeros((len(numbers), len(model.home_block_starts) - 1), np.int16)
    of_roles = np.where(zeros.single, IMPOSSIBLE, model.weights.single)
    of_homes = np.where(zeros.home, IMPOSSIBLE, model.weights.home)

    def first(rows: np.ndarray, members: int) -> Households:
        """The first members of some households."""
        at = (starts[rows][:, None] + np.arange(members)).ravel()
        own = Records(persons[at], books.persons), Records(homes[rows], books.homes)
        return Households(*own, np.arange(len(rows) + 1) * members, roles[at])

    pending = np.arange(len(numbers))
    for _ in range(STARTS):
        homes[pending] = _independent(of_homes, zeros.between, model.home_block_starts, len(pending), rng)
        left, lost = pending, pending[:0]
        for k in range(int(sizes.max(initial=0))):
            left = left[sizes[left] > k]
            rows = left
            for _ in range(TRIES):
                at = starts[rows] + k
                for a in np.unique(roles[at]):
                    mine = at[roles[at] == a]
                    odds = of_roles[a], zeros.person, model.block_starts
                    persons[mine] = _independent(*odds, len(mine), rng)
                rows = rows[breaking(first(rows, k + 1), zeros)]
                if not len(rows):
                    break
            left, lost = np.setdiff1d(left, rows), np.concatenate([lost, rows])
        pending = lost
        if not len(pending):
            return Households(Records(persons, books.persons), Records(homes, books.homes), starts, roles)
    raise InputError(
        f"{len(pending):,} households of independent answers still break a rule after {STARTS * TRIES} "
        "tries: are the rules that the question set states on members too strict?"
    )


def _independent(
    odds: np.ndarray, excluded: np.ndarray, block_starts: np.ndarray, n: int, rng: np.random.Generator
) -> np.ndarray:
    size = len(odds)
    model = Stationary(np.zeros((size, size), np.float32), odds.astype(np.float32), excluded, block_starts)
    return fresh.fresh(model.tables, n, rng)


def joined(one: Households, other: Households) -> Households:
    """Return households of one codebook, the others after the ones."""
    persons = np.concatenate([one.persons.codes, other.persons.codes])
    homes = np.concatenate([one.homes.codes, other.homes.codes])
    starts = np.concatenate([one.starts, one.starts[-1] + other.starts[1:]])
    roles = np.concatenate([one.roles, other.roles])
    return Households(one.persons.of(persons), one.homes.of(homes), starts, roles)
