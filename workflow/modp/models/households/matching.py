"""The fit of a model of households: its chains are swept until their counts are the true ones.

It follows the recipe of :mod:`modp.models.stationary.matching`, with the counts of
:class:`modp.crosstabs.members.Parts` in place of a crosstab.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from modp.base import seeds
from modp.crosstabs.members import Parts, blocks_of, counts, parts, zeros_of
from modp.crosstabs.pairs import counts as crosstab
from modp.draws.exchange import links
from modp.models.households import rules
from modp.models.households.choosing import Choice
from modp.models.households.model import HouseholdWeights
from modp.models.households.recipe import HouseholdsRecipe
from modp.models.pace import Progress
from modp.models.stationary.matching import LEARNT_EVERY, Iteration, Settings, shortened
from modp.models.stationary.prior import Prior
from modp.survey.households import ROLES, Households

SLOWER = 3
"""Answers' weights with the number of members move in steps so many times smaller than those without."""

PAIRS = ("person", "own", "between", "pair")
"""Those of :class:`Parts` that are of pairs of answers."""

SHRUNK = ("own", "pair")
"""Those that a prior pulls at."""

MOST = 25_000
"""Chains, where there are more households; these are those of as many of them, at random."""

DEFAULTS = Settings()
"""What a recipe does not say is as for the stationary model."""

Report = Callable[[Iteration], None]


def start(true: Households, agreeing: np.ndarray, recipe: HouseholdsRecipe, most: int) -> HouseholdWeights:
    """Return the model in which answers are independent, but for structural zeros."""
    blocks, home_blocks = true.persons.block_starts, true.homes.block_starts
    counted = counts(true, agreeing, most)
    weights = parts(int(blocks[-1]), int(home_blocks[-1]), int(agreeing.max(initial=-1)) + 1, most)
    n = counted.single[:, : blocks[1]].sum(axis=1, keepdims=True)
    weights.single[:] = np.log((counted.single + 0.5) / (n + 1))
    weights.home[:] = np.log((counted.home + 0.5) / (len(true) + 1))
    both = np.column_stack([true.persons.codes, true.homes.codes[true.household]])
    together = np.concatenate([blocks, blocks[-1] + home_blocks[1:]])
    strength = links(crosstab(both, together), together).strength
    likely = zeros_of(counted, blocks, home_blocks, recipe.zeros)
    called = rules.stated(recipe.impossible, true)._replace(agree=likely.agree)
    excluded = Parts(*(one | other for one, other in zip(likely, called, strict=True)))
    return HouseholdWeights(weights, excluded, blocks, home_blocks, agreeing, strength, recipe.exchanges)


def fit(
    true: Households,
    recipe: HouseholdsRecipe,
    agreeing: np.ndarray,
    most: int,
    seed: int,
    threads: int,
    report: Report,
) -> tuple[HouseholdWeights, list[Iteration]]:
    """Fit a model to true households.

    Parameters
    ----------
    true : all are counted, and of more than :data:`MOST` as many, at random, are where chains start
    agreeing : int64 (Q,), the place of each question of persons among those on whose agreement there are
        weights, -1 for the others
    most : persons of the largest household

    Raises
    ------
    InputError
        if true households hold what the recipe calls impossible
    FloatingPointError
        if the fit diverges at any step
    """
    order = seeds.generator(seed, "households", "order").permutation(len(true))
    matching = _Matching(start(true, agreeing, recipe, most), true[order], recipe, seed, threads, report)
    return matching.run(), matching.history


@dataclass
class _Walk:
    """What a fit goes back to when it diverges.

    chains : in two halves
    mean, smooth : running means of target minus counts, and of counts
    variances : what the priors have learnt
    """

    weights: Parts
    mean: Parts
    smooth: Parts
    chains: list[Households]
    variances: dict[str, np.ndarray]

    def copy(self) -> _Walk:
        weights, mean, smooth = (
            Parts(*(part.copy() for part in of)) for of in (self.weights, self.mean, self.smooth)
        )
        return _Walk(weights, mean, smooth, self.chains, dict(self.variances))


class _Average:
    """Mean of the weights of iterations to come; before the first one, those of now."""

    def __init__(self, weights: Parts):
        self.weights, self.count = Parts(*(part.copy() for part in weights)), 0

    def add(self, weights: Parts) -> None:
        self.count += 1
        for mean, now in zip(self.weights, weights, strict=True):
            mean += (now - mean) / self.count


@dataclass
class _Matching:
    """One fit."""

    model: HouseholdWeights
    true: Households
    recipe: HouseholdsRecipe
    seed: int
    threads: int
    report: Report
    history: list[Iteration] = field(default_factory=list)

    def __post_init__(self) -> None:
        blocks, home_blocks = self.true.persons.block_starts, self.true.homes.block_starts
        self.blocks, self.home_blocks = blocks, home_blocks
        self.chain_seeds = [seeds.integer(self.seed, "households", "chains", half) for half in "ab"]
        self.households = min(len(self.true), MOST)
        self.share = self.households / max(len(self.true), 1)
        self.start = [self.true[rows] for rows in np.array_split(np.arange(self.households), 2)]
        self.asked = sum(half.persons.codes.size + half.homes.codes.size for half in self.start)
        counted = self._counts(self.true)
        self.target = Parts(*(part * self.share for part in counted))
        group = blocks_of(blocks, home_blocks)
        self.free = {
            name: (getattr(group, name) >= 0) & ~getattr(self.model.excluded, name) for name in PAIRS
        }
        self.choice = self._choice(group.pair)
        self.priors = {
            name: self._prior(getattr(counted, name), getattr(group, name), on)
            for name, on in self.free.items()
            if name in SHRUNK and self.recipe.prior == "student"
        }
        self.steps = self._steps()
        self.progress, self.averaged = Progress(), len(DEFAULTS.levels) - 1
        zeros = lambda: Parts(*(np.zeros(part.shape) for part in self.target))  # noqa: E731
        smooth = Parts(*(part.copy() for part in self.target))
        self.walk = _Walk(self.model.weights, zeros(), smooth, self.start, self._variances())
        self.good = self.walk.copy()

    def _choice(self, block: np.ndarray) -> Choice | None:
        """Leave members' pairs without weights, if only those are to have them that will be chosen."""
        if self.recipe.member_weights is None:
            return None
        true = [self._counts(half).pair for half in self.start]
        possible, self.free["pair"] = self.free["pair"], np.zeros_like(self.free["pair"])
        return Choice(true, block, possible, self.recipe.member_weights * self.households)

    @staticmethod
    def _prior(counted: np.ndarray, block: np.ndarray, free: np.ndarray) -> Prior:
        return Prior.of("student", counted, _renumbered(block, free))

    def _variances(self) -> dict[str, np.ndarray]:
        return {name: prior.variances for name, prior in self.priors.items()}

    def _steps(self) -> dict[str, np.ndarray]:
        """The step of each pair, as the stationary model's: they add up over a person's pairs."""
        q, g = len(self.blocks) - 1, len(self.home_blocks) - 1
        others = float((self.true.sizes**2).sum() / self.true.sizes.sum()) - 1
        together = math.ceil(q * (q - 1) / 2 + q * g / 2 + others * q * q / 2)
        first = slice(0, self.blocks[1])
        n = self.target.single[:, first].sum(axis=1)
        pairs = np.maximum(self.target.partner[:, :, first].sum(axis=2), 1)
        totals = {
            "person": n.sum(),
            "own": np.maximum(n, 1)[:, None, None],
            "between": self.households,
            "pair": np.minimum(pairs, pairs.T)[:, :, None, None],
        }
        found = {}
        for name in PAIRS:
            share = (getattr(self.target, name) + 1) / totals[name]
            found[name] = shortened(
                share, 1, together, self.recipe.pair_step, DEFAULTS.rare_power, DEFAULTS.most_pair_step
            )
        return found

    def run(self) -> HouseholdWeights:
        for _ in range(DEFAULTS.settle):
            self._sweep(self.model, 0, 0.0)
        progress = self.progress
        progress.best = self.history[-1].discrepancy
        while not progress.ended or progress.level < len(DEFAULTS.levels):
            if progress.ended:
                self._enter()
            self._judge(*self._window(progress.level))
        model = replace(self.model, weights=self.average.weights)
        for _ in range(DEFAULTS.settle):
            self._sweep(model, 0, 0.0)
        return model

    def _enter(self) -> None:
        """Begin the next level."""
        self.good = self.walk.copy()
        self.progress.enter()
        if self.progress.level <= self.averaged:
            self.average = _Average(self.walk.weights)

    def _judge(self, discrepancy: float, bias: float) -> None:
        """Go back if a window made things worse; note where it was good."""
        progress, recipe = self.progress, self.recipe
        if progress.begins_average(bias, self.averaged):
            self.average = _Average(self.walk.weights)
        verdict = progress.judge(discrepancy, bias, self.averaged, recipe.tolerance, recipe.most_windows)
        if verdict == "worse":
            self._halve()
        elif self.choice:
            self._choose(self.choice)
        elif verdict == "good":
            self.good = self.walk.copy()

    def _choose(self, choice: Choice) -> None:
        """Give more pairs of members weights, zero so far, and begin the level anew with them."""
        self.free["pair"] = choice.cells()
        if "pair" in self.priors:
            self.priors["pair"] = self._prior(self.priors["pair"].counts, choice.block, self.free["pair"])
            self.walk.variances = self._variances()
        self.choice = None if choice.ended else choice
        self.good = self.walk.copy()
        self.progress.again()

    def _halve(self) -> None:
        """Go back to the last good weights and chains, with half the steps."""
        self.progress.halve("the model of households")
        self.walk = self.good.copy()
        for name, prior in self.priors.items():
            prior.variances = self.walk.variances[name]
        self.average = _Average(self.walk.weights)

    def _window(self, level: int) -> tuple[float, float]:
        """Iterate a few times from the records; return the mean discrepancy and the mean bias.

        At the last level chains go on instead, so that weights learn of what changes slowly too.
        """
        step = DEFAULTS.levels[level - 1] * self.progress.scale
        if level < len(DEFAULTS.levels):
            self.walk.chains = self.start
        if self.choice:
            self.choice.forget()
        for number in range(DEFAULTS.window):
            if number % LEARNT_EVERY == 0:
                self._learn()
            counted = self._sweep(replace(self.model, weights=self.walk.weights), level, step)
            self._update(counted, step)
            self.average.add(self.walk.weights)
        lines = self.history[-DEFAULTS.window :]
        return float(np.mean([i.discrepancy for i in lines])), float(np.mean([i.bias for i in lines]))

    def _learn(self) -> None:
        """Learn the priors anew, and centre the weights that they pull at."""
        if self.priors:
            self._centre()
        for name, prior in self.priors.items():
            prior.learn(getattr(self.walk.weights, name))
        self.walk.variances = self._variances()

    def _centre(self) -> None:
        """Move what pairs' weights say of single answers to these answers' own weights."""
        weights, roles = self.walk.weights, range(len(ROLES))
        stiff = {name: prior.stiffness(getattr(weights, name)) for name, prior in self.priors.items()}
        for a in roles:
            rows, columns = centre(
                weights.own[a], stiff["own"][a], self.free["own"][a], self.blocks, self.home_blocks
            )
            weights.single[a] += rows
            weights.members[a] += columns
            for b in range(a, len(ROLES)):
                table, free = weights.pair[a, b], self.free["pair"][a, b]
                if a == b:
                    weights.partner[a, a] += centre_symmetric(table, stiff["pair"][a, a], free, self.blocks)
                    continue
                rows, columns = centre(table, stiff["pair"][a, b], free, self.blocks, self.blocks)
                weights.partner[a, b] += rows
                weights.partner[b, a] += columns
                weights.pair[b, a] = table.T

    def _pulled(self, weights: Parts, name: str) -> np.ndarray | float:
        """What weights miss of the target because a prior pulls at them."""
        prior = self.priors.get(name)
        return self.share * prior.pull(getattr(weights, name), np.zeros(0)) if prior else 0.0

    def _counts(self, households: Households) -> Parts:
        return counts(households, self.model.agreeing, self.model.most, self.threads)

    def _sweep(self, model: HouseholdWeights, level: int, step: float) -> Parts:
        """Sweep all chains, note how they stand, return what is counted of them.

        The two halves of the chains exchange nothing and are independent given the weights: the product of
        their deviations has the squared bias as its expectation, without the sampling noise.
        """
        swept = [
            model.step(chains, seed, len(self.history), self.threads)
            for chains, seed in zip(self.walk.chains, self.chain_seeds, strict=True)
        ]
        self.walk.chains = [chains for chains, _ in swept]
        halves = [self._counts(chains) for chains in self.walk.chains]
        if self.choice:
            self.choice.see([half.pair for half in halves])
        target = self._judged(self.target) - self._judged_pull(model.weights)
        one, other = (
            self._judged(half) * (self.households / max(len(chains), 1)) - target
            for half, chains in zip(halves, self.walk.chains, strict=True)
        )
        both = Parts(*(np.add(*found).astype(np.float64) for found in zip(*halves, strict=True)))
        difference, scale = self._judged(both) - target, np.maximum(target, 0) + 1
        line = Iteration(
            level,
            len(self.history) + 1,
            step,
            float(np.mean(difference**2 / scale)),
            float(np.mean(one * other / scale)) / self.share,
            sum(changed for _, changed in swept) / self.asked,
        )
        self.history.append(line)
        self.report(line)
        return both

    def _judged(self, counted: Parts) -> np.ndarray:
        return np.concatenate([getattr(counted, name)[self.free[name]] for name in PAIRS])

    def _judged_pull(self, weights: Parts) -> np.ndarray:
        found = {
            name: np.broadcast_to(self._pulled(weights, name), on.shape) for name, on in self.free.items()
        }
        return np.concatenate([found[name][self.free[name]] for name in PAIRS])

    def _update(self, counted: Parts, step: float) -> None:
        walk, target, w = self.walk, self.target, self.walk.weights
        for mean, smooth, now, true in zip(walk.mean, walk.smooth, counted, target, strict=True):
            smooth += 0.1 * (now - smooth)
            mean += (1 - DEFAULTS.momentum) * (true - now - mean)
        missing = Parts(
            *(m / (np.maximum(t, s) + 1) for m, t, s in zip(walk.mean, target, walk.smooth, strict=True))
        )
        everybody = walk.mean.single.sum(axis=0) / (
            np.maximum(target.single.sum(axis=0), walk.smooth.single.sum(axis=0)) + 1
        )
        explained = {
            "person": everybody[:, None] + everybody,
            "own": missing.single[:, :, None] + missing.members[:, None, :],
            "between": missing.home[:, None] + missing.home,
            "pair": missing.partner[:, :, :, None] + missing.partner.transpose(1, 0, 2)[:, :, None, :],
        }
        for name in PAIRS:
            weights, true = getattr(w, name), getattr(target, name)
            seen = np.maximum(true, getattr(walk.smooth, name)) + self.recipe.damping
            prior = self.priors.get(name)
            if prior:
                seen = seen + self.share * prior.stiffness(weights)
            gap = getattr(walk.mean, name) - self._pulled(w, name) - true * explained[name]
            weights += step * np.where(self.free[name], self.steps[name] * gap / seen, 0)
        margin = step * self.recipe.margin_step
        w.single[:] += margin * missing.single
        w.home[:] += margin * missing.home
        w.partner[:] += margin / SLOWER * missing.partner
        w.members[:] += margin / SLOWER * missing.members
        w.agree[:] += margin * self._disagreement()

    def _disagreement(self) -> np.ndarray:
        """What is missing of households that agree, over the variance of their number."""
        sizes = np.bincount(self.true.sizes, minlength=self.model.most + 1) * self.share
        true = np.minimum(self.target.agree, sizes - self.target.agree)
        return self.walk.mean.agree / (np.maximum(true, 0) + self.recipe.damping)


def _renumbered(group: np.ndarray, free: np.ndarray) -> np.ndarray:
    """Groups of free cells alone, from 0; -1 for the others."""
    found = np.where(free, group, -1)
    found[free] = np.unique(found[free], return_inverse=True)[1]
    return found


def _row_means(
    weights: np.ndarray, stiff: np.ndarray, free: np.ndarray, blocks: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Means of free weights, by stiffness, of each row in each block of columns; and the same, spread out."""
    stiff = np.where(free, stiff, 0)
    total = np.add.reduceat(stiff, blocks[:-1], axis=1)
    sums = np.add.reduceat(stiff * weights, blocks[:-1], axis=1)
    means = np.divide(sums, total, out=np.zeros(sums.shape), where=total > 0)
    return means, np.where(free, np.repeat(means, np.diff(blocks), axis=1), 0)


def centre(
    weights: np.ndarray, stiff: np.ndarray, free: np.ndarray, blocks: np.ndarray, others: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Take out of a table of pairs' weights, in place, what those of single answers can say.

    Parameters
    ----------
    weights, stiff, free : (m, n), the prior's stiffness by which means are taken, and the cells with weights
    blocks, others : the block starts of rows and of columns

    Returns
    -------
    what rows, (m,), and columns, (n,), gain
    """
    rows, spread = _row_means(weights, stiff, free, others)
    weights -= spread
    columns, spread = _row_means(weights.T, stiff.T, free.T, blocks)
    weights -= spread.T
    return rows.sum(axis=1), columns.sum(axis=1)


def centre_symmetric(
    weights: np.ndarray, stiff: np.ndarray, free: np.ndarray, blocks: np.ndarray
) -> np.ndarray:
    """Do the same to a symmetric table, (K, K), of which half a mean is taken from each side."""
    means, spread = _row_means(weights, stiff, free, blocks)
    weights -= (spread + spread.T) / 2
    return means.sum(axis=1) / 2
