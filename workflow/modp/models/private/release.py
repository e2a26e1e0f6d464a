"""The stationary model with a formal guarantee: fitted to noisy tables alone.

What is known of the true records are answers of a :class:`modp.models.private.budget.Gate`. All one-way
tables are measured, then the interactions of some or all pairs of questions. Weights exist only for measured
pairs, and a prior, learnt from the noisy answers of all of them, keeps them small where a cell is no larger
than its noise, and like those of answers that behave alike; what was not measured is as if independent given
the rest, which is maximum entropy. Adaptive selection follows MWEM (Hardt, Ligett and McSherry, 2012) and AIM
(McKenna et al., 2022): fit, let the gate choose a pair that the fit gets wrong, measure it.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from pydantic import ConfigDict

from modp.base import seeds
from modp.base.config import Strict
from modp.base.errors import InputError
from modp.crosstabs import pairs
from modp.draws import balanced, exchange, fresh, sweeps
from modp.models.private.alike import Likeness
from modp.models.private.budget import Gate, interaction
from modp.models.private.estimates import (
    blended,
    consistent,
    kept_of_noise,
    positive,
    raked,
    spread_of,
    tied,
)
from modp.models.private.public import Start
from modp.models.private.recipe import Spending
from modp.models.stationary.matching import shortened
from modp.models.stationary.model import Stationary
from modp.survey.effective import in_proportion
from modp.survey.records import columns
from modp.survey.where import OPEN


class Pace(Strict):
    """How a model is fitted to what a budget bought.

    at_once : how many tables at least are chosen between two fits
    fits : how many at most there are between choices
    sweeps : between two choices
    margin_step, pair_step, rare_power, most_pair_step, momentum : as in
        :class:`modp.models.stationary.matching.Settings`
    last_sweeps : of each of the two fits to all that was measured
    last_steps : factors of the steps in the second of these, each for as many of its sweeps; weights and
        expected counts are averaged over its last third
    exchanges : rounds after each sweep
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    at_once: int = 3
    fits: int = 40
    margin_step: float = 0.2
    pair_step: float = 2.5
    most_pair_step: float = 0.3
    rare_power: float = 0.7
    momentum: float = 0.3
    sweeps: int = 8
    last_sweeps: int = 60
    last_steps: tuple[float, ...] = (1.0, 1.0, 1.0, 0.3, 0.1)
    exchanges: int = 3


class Settings(Spending, Pace):
    """How the budget is spent, and how a model is fitted to what it bought.

    selection : of pairs. ``uniform`` measures all with the same noise, ``proportional`` all with a
        budget that grows as their number of cells to the power 2/3, which makes the sum of their
        absolute errors least; ``adaptive`` those that the model gets wrong
    margins : share of the budget for one-way tables
    choices : share for choosing pairs, if they are chosen
    pairs : how many pairs are chosen, in multiples of the number of questions; None for :func:`borne`
    chains : at most so many until the second of the last fits, which has one a record
    """

    margins: Fraction = Fraction(35, 100)
    choices: Fraction = Fraction(1, 10)


PAIRS, PAIRS_AT, PAIRS_POWER = 3.0, 7000.0, 0.5
"""Pairs to measure a question, where the budget would buy one table with noise of so small a part of all
records; and the power by which they grow with that."""

MOST_CHANGE = 1.0
"""Bound of a Newton step of a weight, before it is shortened."""

LEARNT_EVERY = 4
"""Sweeps after which the prior is learnt anew."""

MOST_NOISE = 250_000.0
"""Standard deviation of the number of records, of which so many are drawn, up to which there is a table."""

POOLED, APART = 4, 2
"""States of the chains, so many sweeps apart, among whose records those released are chosen."""

NOISE_SIZE = math.sqrt(2 / math.pi)
"""Mean absolute value of standard normal noise."""

WANTED = 10.0
"""An answer is lost if no chain gives it, of so many at least that should."""

FEARED = 0.5
"""Part of its noise that a table must be off by, to be as good a choice as one without cells: the prior takes
much of the noise out again."""


@dataclass(frozen=True)
class Measured:
    """One line of a fit's history: what was measured, and what it cost.

    first, second : questions, -1 for all one-way tables
    rho : what it cost, with the choice
    sigma : standard deviation of each count's noise; of one-way tables, the root of the mean variance
    surprise : mean absolute difference of the noisy table and the model before it, in units of the noise's
        own; about 1 means that nothing new was learnt
    """

    first: int
    second: int
    rho: float
    sigma: float
    surprise: float


@dataclass(frozen=True)
class Release:
    """A fitted model, the synthetic records (int16 (n, Q)) and how they came about.

    ``entropy_bits``, (n,), are of the distributions that the last sweep drew from, before single answers were
    redrawn.
    """

    model: Stationary
    codes: np.ndarray
    entropy_bits: np.ndarray
    history: list[Measured]


def release(
    gate: Gate,
    block_starts: np.ndarray,
    excluded: np.ndarray,
    settings: Settings,
    seed: int,
    threads: int,
    report: Callable[[Measured], None],
    start: Start | None = None,
) -> Release:
    """Spend a gate's whole budget, fit a model to its answers, draw records from it.

    Everything after the gate's answers is post-processing: it depends on them and on public facts alone.

    Parameters
    ----------
    gate : holds the true records' crosstab
    block_starts : shape (Q + 1,)
    excluded : bool (K, K), symmetric: pairs of answers that stated rules exclude. Never those that no
        true record happens to hold
    seed : of everything but the noise
    threads : without influence on the result
    start : from public records, where to start; None for independent answers

    Raises
    ------
    InputError
        if the budget hardly says how many records there are
    """
    if len(block_starts) < 3:
        raise ValueError("pairs need at least two questions")
    fitting = _Fitting(block_starts, excluded, settings, seed, threads)
    total = gate.left
    counts, sigmas = gate.margins(settings.margins * total)
    fitting.begin(counts, sigmas, start)
    typical = math.sqrt(np.mean(sigmas**2))
    fitting.tell(Measured(-1, -1, float(settings.margins * total), typical, 1.0), report)
    if settings.selection == "adaptive":
        _adaptive(gate, fitting, total, report)
    else:
        _all_pairs(gate, fitting, report)
    return fitting.finish()


def _all_pairs(gate: Gate, fitting: "_Fitting", report: Callable[[Measured], None]) -> None:
    pairs, sizes = fitting.pairs, np.diff(fitting.block_starts)
    power = 0.0 if fitting.settings.selection == "uniform" else 2 / 3
    weights = [Fraction(float(sizes[q] * sizes[r]) ** power) for q, r in pairs]
    left = gate.left
    for (q, r), weight in zip(pairs, weights, strict=True):
        fitting.measure(gate, q, r, left * weight / sum(weights), Fraction(0), report)


def borne(n: float, rho: float) -> float:
    """Return how many pair tables a question it is best to measure of n records with a budget of ρ.

    Of few tables each has little noise, and those not measured are wrong; of many it is the other way round.
    With m tables the noise goes as √m. What is found on one data set (docs/results.md) is taken to hold for
    all of the same ratio of n to the noise of a single table.
    """
    return PAIRS * (n * math.sqrt(2 * rho) / PAIRS_AT) ** PAIRS_POWER


def _adaptive(gate: Gate, fitting: "_Fitting", total: Fraction, report: Callable[[Measured], None]) -> None:
    settings, sizes = fitting.settings, np.diff(fitting.block_starts)
    # Of the households' budget that is left which buys the same noise where one record is protected.
    pairs = borne(fitting.n, float(total) / gate.most**2) if settings.pairs is None else settings.pairs
    rounds = min(len(fitting.pairs), max(1, round(pairs * len(sizes))))
    at_once = max(settings.at_once, math.ceil(rounds / settings.fits))
    choice = settings.choices * total / rounds
    table = gate.left / rounds - choice
    sigma = gate.most / math.sqrt(2 * float(table))
    for number in range(rounds):
        if number % at_once == 0:
            fitting.sweep(settings.sweeps)
        free = [pair for pair in fitting.pairs if pair not in fitting.noise]
        kept = np.array([sizes[q] * sizes[r] * kept_of_noise(sizes[q], sizes[r]) for q, r in free])
        handicaps = FEARED * NOISE_SIZE * sigma * kept
        q, r = free[gate.worst(fitting.expected, free, handicaps, choice)]
        fitting.measure(gate, q, r, table, choice, report)


class _Fitting:
    """What has been measured so far, and the model that is fitted to it."""

    def __init__(
        self, block_starts: np.ndarray, excluded: np.ndarray, settings: Settings, seed: int, threads: int
    ):
        self.block_starts, self.settings = np.asarray(block_starts, np.int64), settings
        self.seed, self.threads = seed, threads
        self.blocks = [slice(int(a), int(b)) for a, b in itertools.pairwise(block_starts)]
        open_ended = np.flatnonzero(np.diff(block_starts) > 1).tolist()
        self.pairs = list(itertools.combinations(open_ended, 2))
        self.noise: dict[tuple[int, int], float] = {}  # variance in a cell of each measured pair
        size = int(block_starts[-1])
        self.target, self.free = np.zeros((size, size)), np.zeros((size, size), bool)
        self.centre = np.zeros((size, size))
        self.excluded, self.number = np.asarray(excluded, bool), 0
        self.history: list[Measured] = []

    def begin(self, counts: np.ndarray, sigmas: np.ndarray, start: Start | None) -> None:
        """Take up the one-way tables; start chains from them, or from a public model."""
        counts, sigmas = tied(counts, sigmas, self.excluded, self.block_starts)
        noise = float(np.linalg.norm(sigmas[self.blocks[0]]))
        if noise > MOST_NOISE:
            raise InputError(
                f"the budget is so small that the number of records is known to ± {noise:,.0f} alone: no "
                "table comes of that; take a larger epsilon or delta, or a smaller 'most'"
            )
        self.n = max(float(counts[self.blocks[0]].sum()), 1.0)
        self.margins = np.maximum(positive(counts, sigmas, self.n), 0.5)
        for block in self.blocks:
            self.margins[block] *= self.n / self.margins[block].sum()
        self.likeness = Likeness(self.block_starts, self.margins)
        size, questions = len(counts), len(self.blocks)
        self.model = Stationary(
            np.zeros((size, size)),
            np.log(self.margins / self.n),
            self.excluded,
            self.block_starts,
            self.settings.exchanges,
            np.zeros((questions, questions)),
        )
        rng = seeds.generator(self.seed, "private", "start")
        chains = min(self.settings.chains, max(1, round(self.n)))
        if start:
            self.model = replace(start.model, exchanges=self.settings.exchanges, excluded=self.excluded)
            self.centre = start.model.w.astype(np.float64)
            self.chains = start.chains[rng.permutation(np.resize(np.arange(len(start.chains)), chains))]
            self.expected = pairs.counts(self.chains, self.block_starts, self.threads) * (self.n / chains)
            self.sweep(self.settings.last_sweeps // 2)
            return
        self.chains = fresh.from_each(self.model.tables, chains, rng)
        self.expected = pairs.counts(self.chains, self.block_starts, self.threads) * (self.n / chains)
        if not self.excluded.any():
            independent = np.outer(self.margins, self.margins) / self.n
            np.fill_diagonal(independent, self.margins)
            self.expected = independent

    def measure(
        self,
        gate: Gate,
        q: int,
        r: int,
        rho: Fraction,
        choice: Fraction,
        report: Callable[[Measured], None],
    ) -> None:
        """Measure one pair of questions, whose choice cost ``choice``."""
        found, sigma = gate.pair(q, r, rho)
        one, other = self.blocks[q], self.blocks[r]
        off = found - interaction(self.expected[one, other])
        surprise = np.abs(off).mean() / (NOISE_SIZE * sigma * math.sqrt(kept_of_noise(*found.shape)))
        independent = np.maximum(np.outer(self.margins[one], self.margins[other]) / self.n, 0.5)
        noise = sigma**2 * kept_of_noise(*found.shape)
        free = ~self.excluded[one, other]
        self.likeness.add(q, r, free, sigma**2, spread_of(off, independent, noise, free))
        repaired = consistent(found, self.margins[one], self.margins[other])
        self.target[one, other], self.target[other, one] = repaired, repaired.T
        self.free[one, other], self.free[other, one] = free, free.T
        self.noise[q, r] = noise
        self.tell(Measured(q, r, float(rho + choice), sigma, float(surprise)), report)

    def tell(self, line: Measured, report: Callable[[Measured], None]) -> None:
        """Note a line of the history."""
        self.history.append(line)
        report(line)

    def sweep(self, sweeps: int) -> None:
        """Fit to what has been measured."""
        for number in range(1, sweeps + 1):
            self._count(self._step().codes, 1.0)
            self._update(1.0)
            if number % LEARNT_EVERY == 0:
                self._learn()
        self._revive()
        linked = exchange.links(np.maximum(self.expected, 0), self.block_starts)
        self.model = replace(self.model, strength=linked.strength)

    def finish(self) -> Release:
        """Fit to everything, in the end with a chain a record; choose among their states, and mend these.

        Records are not drawn from the final weights: while these move, resampling holds the chains at
        the tables; the weights' own equilibrium, which slow questions take long to reach, is further away.
        Those released are chosen, and single answers of theirs redrawn, so that their crosstab is the chains'
        mean one, without sampling noise, and where tables were measured well, nearer to these.
        """
        settings, n = self.settings, max(1, round(self.n))
        self.sweep(settings.last_sweeps)
        order = seeds.generator(self.seed, "private", "last").permutation(n)
        self.chains = np.resize(self.chains, (n, self.chains.shape[1]))[order]
        last, steps = settings.last_sweeps, settings.last_steps
        w, c = np.zeros_like(self.model.w), np.zeros_like(self.model.c)
        mean, averaged, states = np.zeros_like(self.expected), max(1, last // 3), []
        for number in range(last):
            left, factor = last - 1 - number, steps[number * len(steps) // last]
            pooled = left % APART == 0 and left < POOLED * APART
            swept = self._step(entropy=pooled)
            counts = self._count(swept.codes, factor)
            if pooled:
                states.append((swept.codes, swept.entropy_bits))
            if left < averaged:
                w, c = w + self.model.w / averaged, c + self.model.c / averaged
                mean += counts / averaged
            if left:
                self._update(factor)
            if left and left % LEARNT_EVERY == 0:
                self._learn()
        mean = self._nearer(mean)
        drawn, bits = (np.concatenate(parts) for parts in zip(*reversed(states), strict=True))
        rng = seeds.generator(self.seed, "private", "chosen")
        rows = balanced.chosen(drawn, mean, n, self.block_starts, rng, self.threads)
        rows = rng.permutation(rows)
        model = replace(self.model, w=w.astype(np.float32), c=c.astype(np.float32))
        key = seeds.integer(self.seed, "private", "mended")

        def redraw(codes: np.ndarray, held: np.ndarray, number: int) -> np.ndarray:
            return model.redrawn(codes, key, number, self.threads, held=held).codes

        codes = balanced.mended(drawn[rows], mean, redraw, self.block_starts, rng, self.threads)
        return Release(model, codes, bits[rows], self.history)

    def _nearer(self, mean: np.ndarray) -> np.ndarray:
        """Return the chains' mean crosstab (K, K) nearer to what was measured.

        It has the chains' noise, and all that the fit did not reach. So measured tables are blended into it,
        and all are raked to the one-way counts that the fit aims at.
        """
        found = np.diag(self.margins)
        for (q, one), (r, other) in itertools.combinations(enumerate(self.blocks), 2):
            table = np.maximum(mean[one, other], 0)
            if (q, r) in self.noise:
                table = blended(table, self.target[one, other], self.noise[q, r]) * self.free[one, other]
            found[one, other] = raked(table, self.margins[one], self.margins[other])
            found[other, one] = found[one, other].T
        return found

    def _step(self, entropy: bool = False) -> sweeps.Swept:
        """Sweep all chains once."""
        swept = self.model.step(self.chains, self.seed, self.number, self.threads, entropy)
        self.chains, self.number = swept.codes, self.number + 1
        return swept

    def _count(self, chains: np.ndarray, factor: float) -> np.ndarray:
        """Take the chains' crosstab up into the expected one, the slower the shorter the steps; return it."""
        counts = pairs.counts(chains, self.block_starts, self.threads) * (self.n / len(chains))
        self.expected += (1 - self.settings.momentum) * math.sqrt(factor) * (counts - self.expected)
        return counts

    def _learn(self) -> None:
        """Learn the prior from the weights so far."""
        expected = np.maximum(self.expected, 0.5)
        self.likeness.learn(self.model.w - self.centre, expected, self.threads)

    def _update(self, factor: float) -> None:
        """Move every weight towards the top of its posterior, given the others.

        Newton steps are of :class:`modp.models.private.alike.Likeness`; those of pairs that occur together
        add up, so each is :func:`modp.models.stationary.matching.shortened`, and ``factor`` of that.
        """
        settings, model = self.settings, self.model
        seen = np.diag(self.expected)
        margins = (self.margins - seen) / (np.maximum(self.margins, seen) + 1)
        expected = np.maximum(self.expected, 0.5)
        away = self.target - self.expected * (1 + margins[:, None] + margins[None, :])
        newton = self.likeness.newton(model.w - self.centre, expected, away, self.threads)
        # Where next to nothing is expected of a large count, the quadratic model promises far too much.
        newton = np.clip(newton, -MOST_CHANGE, MOST_CHANGE)
        steps = shortened(
            expected,
            self.n,
            len(self.noise),
            settings.pair_step,
            settings.rare_power,
            settings.most_pair_step,
        )
        more_w = np.where(self.free, factor * steps * newton, 0)
        more_c = factor * settings.margin_step * margins
        self._resample(more_w, more_c)
        self.model = replace(model, w=model.w + more_w, c=model.c + more_c)

    def _resample(self, more_w: np.ndarray, more_c: np.ndarray) -> None:
        """Let the chains follow a change of the weights, each kept in proportion to what it gains by it.

        Population annealing (Hukushima and Iba, 2003). Sweeps alone do not move records between groups that
        rare or excluded answers keep apart.
        """
        gains = sweeps.gains(self.chains, more_w, more_c, self.block_starts, self.threads)
        rng = seeds.generator(self.seed, "private", "resample", str(self.number))
        self.chains = self.chains[in_proportion(np.exp(gains - gains.max()), len(gains), rng)]

    def _revive(self) -> None:
        """Begin chains anew at answers that no chain gives any more.

        Those who give them may differ from all others in many answers that rules tie together: then sweeps
        do not come to them, and resampling has none to multiply, until weights have been learnt that keep
        chains there.
        """
        m = len(self.chains)
        wanted = self.margins * (m / self.n)
        seen = np.bincount(columns(self.chains, self.block_starts).ravel(), minlength=len(wanted))
        lost = (seen == 0) & (wanted >= WANTED)
        rng = seeds.generator(self.seed, "private", "revived", str(self.number))
        for k in np.flatnonzero(lost):
            q = int(np.searchsorted(self.block_starts, k, side="right")) - 1
            given = np.full((math.ceil(wanted[k]), self.chains.shape[1]), OPEN)
            given[:, q] = k - self.block_starts[q]
            codes, impossible = fresh.begun(self.model.tables, given, rng)
            good = np.setdiff1d(np.arange(len(given)), impossible)
            self.chains[rng.permutation(m)[: len(good)]] = codes[good]
