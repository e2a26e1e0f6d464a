"""The fit of a stationary model: its chains are swept until their crosstab is the true one.

The fit follows two well-known steps: symmetric pseudo-likelihood (Besag, 1975), then stochastic
maximum likelihood with persistent chains (Younes, 1989; Tieleman, 2008), averaged in the end
(Polyak and Juditsky, 1992).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike
from safetensors.numpy import save_file

from modp.base import checkpoint, seeds
from modp.crosstabs import contrasts, pairs, triples, weighted
from modp.crosstabs.cells import structural_zeros, within_question
from modp.crosstabs.pairs import crosstab
from modp.draws import exchange, sweeps
from modp.models.pace import FAR, Progress
from modp.models.stationary import passes, prior
from modp.models.stationary.effects import FASTER, RIDGE, Effects, amplification, scores
from modp.models.stationary.model import Stationary
from modp.models.stationary.passes import Adam
from modp.models.stationary.prior import Prior
from modp.models.stationary.recipe import StationaryRecipe
from modp.models.stationary.wide import wideness
from modp.survey.effective import effective_size, in_proportion
from modp.survey.records import Records

if TYPE_CHECKING:
    import torch

MOST_CELLS = 50_000
"""Only triples of questions with at most so many cells get weights."""

SURE = 3.0
"""Triples get weights if they misfit by so many standard deviations of sampling noise.

With fewer, the fit comes nearer to the three-way tables of its own records, but not to those of records
held out, and attackers tell the two apart more often.
"""

LEARNT_EVERY = 10
"""Iterations after which a prior is learnt anew, and weights are centred."""

MOST = 75_000
"""Records that the pseudo-likelihood passes over, where a fit only starts, and chains where a recipe names no
number of them; at random if there are more records. With 213,000 a fit takes 0.4 of the time of one chain
a record, and draws come as near to the true crosstab within 0.04 of a resample's distance."""

TESTED, STATES = 100_000, (3, 10)
"""Records of chains that three-way effects are tested with, from so many states of them."""

AFTER = 1 << 40
"""Numbers of the sweeps to these states, past those of all iterations."""

LISTED = 20
"""Triples of which is said that nothing was found."""

SOME, TOGETHER = 5_000, 0.4
"""Steps of all pairs together are at most so much of Newton's, as far as so many records tell."""

FIRM = 0.1
"""Share of its largest stiffness that a prior has everywhere where effects are told from the rest."""

SPLITS = 4
"""Times that effects are told from the rest where nothing is known of the stiffness yet."""

EXCHANGES = 3
"""Rounds after each sweep, of tables that are not wide."""

COMMON = 0.05
"""Share of the records from which on a pair's step is the shortest."""


class Settings(StationaryRecipe):
    """How a model is fitted: what a recipe says, and what it does not.

    Steps are in units of a Newton step for independent questions.

    start_epochs, start_batch, start_rate : passes over the records of the pseudo-likelihood's Adam,
        records of a mini-batch, and largest learning rate
    margin_step : share of a category's relative discrepancy that one iteration takes away
    pair_step : the same, times the number of pairs of questions, for a pair of categories that
        holds 5% of the records or more, of what its two categories' discrepancies do not explain
    rare_power, most_pair_step : a pair that holds a smaller share p has (0.05 / p)**rare_power
        times that step, but no pair has more than most_pair_step
    damping : records added to a pair's count where its step is computed, so that pairs that hold a
        handful of records are not moved by their noise
    momentum : share of the running mean of discrepancies that an iteration keeps
    levels : factors of the steps, one level of the fit after the other; weights are averaged over
        the last two, once the first of them has burnt in and the bias is not large
    window : iterations over which discrepancies are averaged before they are judged
    restart : whether the chains, if there is one a record, begin each window anew at the records. What
        changes slowly, as the number of children, could else be right in the chains while the weights
        drive it away
    tolerance : the bias of the crosstab, in units of sampling variance, that is good enough
    most_windows : bound on the windows of a level
    settle : sweeps of all chains with the first weights, and with the final ones
    chains : number of chains, which start at as many records drawn without replacement; None for
        one a record, and at most :data:`MOST`. Fewer take less time a sweep, but more sweeps to the same bias
    exchanges : rounds of exchanges between chains after each sweep, see :mod:`modp.draws.exchange`; None for
        what :func:`widened` says, as for the mini-batches, pair_step and restart of wide tables
    triples : at most so many triples of questions get weights of their own: those whose three-way tables in
        the chains miss the true ones most, and more than sampling noise does, before the last level. All
        levels but the first then follow again
    triple_step : as pair_step, for the cells of triples
    """

    start_epochs: int = 20
    start_batch: float = 2048
    start_rate: float = 0.02
    rare_power: float = 0.7
    most_pair_step: float = 0.15
    momentum: float = 0.5
    levels: tuple[float, ...] = (1.0, 0.3, 0.1)
    window: int = 20
    restart: bool = True
    settle: int = 5
    triple_step: float = 3.5


@dataclass(frozen=True)
class Iteration:
    """One line of a fit's history.

    level : the level of the fit, 1, 2 …; 0 for sweeps with the weights of the start, or the final ones
    step : factor of the steps
    discrepancy : mean of (A - B)²/(A + 1) over the cells between questions that have weights, and
        those of triples, where independent draws from the right model give about 1; A is scaled to the
        chains, and is what it should be under a prior
    bias : the same without the part that sampling noise makes, in units of sampling variance of
        as many records as there are (not chains); from products of the two halves' deviations
    changed : share of answers that the sweep changed
    """

    level: int
    iteration: int
    step: float
    discrepancy: float
    bias: float
    changed: float


@dataclass
class State:
    """Where a fit stands after a window: enough to go on to the same end.

    ``arrays`` hold the weights, their averages and the chains; ``facts`` the numbers, and the
    history so far.
    """

    arrays: dict[str, np.ndarray]
    facts: dict[str, Any]


Report = Callable[[Iteration], None]
Keep = Callable[[State], None]
Found = Callable[[contrasts.Tested], None]


def fit(
    records: Records,
    settings: Settings,
    seed: int,
    threads: int,
    report: Report,
    start: State | None = None,
    keep: Keep | None = None,
    excluded: np.ndarray | None = None,
    gpu: torch.device | None = None,
    weights: np.ndarray | None = None,
    toward: Stationary | None = None,
    found: Found | None = None,
) -> tuple[Stationary, np.ndarray, list[Iteration]]:
    """Fit a model to true records, or to the people whom they stand for.

    With weights the target is the weighted crosstab of as many records as the true ones are worth, Kish's
    effective size: then its sampling variance is about its counts, as that of unweighted counts is, and what
    a prior, the choice of triples and the tolerance take for noise is noise. Chains start at records drawn in
    proportion to their weights.

    Parameters
    ----------
    excluded : bool (K, K), the structural zeros, of which no record holds one; None for all pairs of
        answers that no record holds
    threads : without influence on the result
    start : the state of an interrupted fit of the same records with the same settings and seed,
        to go on from
    keep : given the state after every window
    gpu : where the start's residuals are summed, and chains swept, exchanged and counted; None for the CPU
    weights : float64 (n,), of the records; None where all stand for as many people
    toward : the model of pairs whose weights a prior pulls to, instead of to zero (partial pooling): that of
        a nation, for the records of one of its states. Its structural zeros are taken, but for pairs that
        records hold, and the fit starts from it
    found : given in the end what was found of three-way effects

    Returns
    -------
    model
    chains : int16 (m, Q), the chains' last states, in the order of the true records they came
        from; m = n unless ``settings.chains``, or without it :data:`MOST`, is less
    history

    Raises
    ------
    FloatingPointError
        if the steps had to be halved ten times and the fit still diverged
    """
    true, size = crosstab(records, threads), float(len(records))
    zeros = structural_zeros(true, records.block_starts) if excluded is None else excluded
    if toward is not None:
        zeros = toward.excluded & (true == 0)
    sample = records
    if weights is not None:
        size = effective_size(weights)
        weights = weights * (size / weights.sum())
        true = weighted.crosstab(records, weights)
        rng = seeds.generator(seed, "stationary", "weights")
        sample = records[in_proportion(weights, len(records), rng)]
    model = independent(true, size, records.block_starts, zeros)
    settings = widened(settings, len(records.block_starts) - 1)
    model = replace(model, exchanges=settings.exchanges or 0)
    if toward is not None:
        model = replace(model, w=toward.w, c=toward.c)
    elif start is None:
        free = free_cells(true, model, settings.rare)
        if len(sample) > MOST:
            rng = seeds.generator(seed, "stationary", "start of")
            sample = sample[np.sort(rng.permutation(len(sample))[:MOST])]
        model = pseudo_likelihood(model, sample, settings, seed, threads, free, gpu)
    mean = None if toward is None else toward.w
    more = (start, keep, gpu, weights, mean, found)
    return match(model, true, records.codes, settings, seed, threads, report, *more)


def widened(settings: Settings, questions: int) -> Settings:
    """Return the settings of a fit with so many questions.

    Without a number rounds of exchanges grow as the pairs of questions do. Pairs of wide tables take longer
    steps, since most of them hardly hang together, so that their steps add up to much less; the start takes
    more; and chains go on from window to window, so that weights learn of what changes slowly too.
    """
    times = wideness(questions)
    rounds = settings.exchanges
    return settings.model_copy(
        update={
            "exchanges": round(EXCHANGES * times**2) if rounds is None else rounds,
            "start_batch": settings.start_batch / times,
            "pair_step": settings.pair_step * times**1.5,
            "restart": settings.restart and times == 1,
        }
    )


def independent(true: np.ndarray, n: float, block_starts: np.ndarray, excluded: np.ndarray) -> Stationary:
    """Return the model without weights between questions, but with structural zeros.

    Parameters
    ----------
    true : (K, K), the crosstab of the true records
    n : of how many records it is
    excluded : bool (K, K)
    """
    return Stationary(
        np.zeros(true.shape),
        np.log((np.diag(true) + 0.5) / n),
        excluded,
        np.asarray(block_starts, np.int64),
        strength=exchange.links(true, block_starts).strength,
    )


def free_cells(target: np.ndarray, model: Stationary, rare: int) -> np.ndarray:
    """Return which pairs of answers have a weight of their own, bool (K, K), symmetric.

    Parameters
    ----------
    target : shape (K, K), crosstab that is to be reproduced
    rare : the count from which on they have one
    """
    return ~within_question(model.block_starts) & ~model.excluded & (target >= rare)


def pseudo_likelihood(
    model: Stationary,
    records: Records,
    settings: Settings,
    seed: int,
    threads: int,
    free: np.ndarray,
    gpu: torch.device | None = None,
) -> Stationary:
    """Fit by symmetric pseudo-likelihood: each question given the others, weights tied.

    Adam (Kingma and Ba, 2015) on mini-batches, its rate rising over the first fifth and then
    falling along a half cosine.

    Parameters
    ----------
    model : where to start; its structural zeros are kept
    free : bool (K, K), which pairs of answers get weights
    """
    rng = seeds.generator(seed, "stationary", "start")
    w, c = model.w.copy(), model.c.copy()
    adam = Adam(w, c, free, model.block_starts, threads)
    batches = max(1, math.ceil(len(records) / settings.start_batch))
    rows: list[np.ndarray] = []
    steps = settings.start_epochs * batches
    for step in range(steps):
        rows = rows or np.array_split(rng.permutation(len(records)), batches)
        residuals = _residuals(records.codes, model, threads, rows.pop(), gpu)
        rate = settings.start_rate * _one_cycle((step + 1) / steps)
        adam.step(residuals, batches / len(records), rate)
        model = replace(model, w=w, c=c)
    return model


def _residuals(
    codes: np.ndarray, model: Stationary, threads: int, rows: np.ndarray, gpu: torch.device | None
) -> np.ndarray:
    if gpu is None:
        return sweeps.residuals(codes, model.tables, threads, rows)
    from modp.draws.gpu_sweeps import residuals_on  # loads torch, which a CPU does without

    return residuals_on(gpu, codes, model.tables, rows)


def _one_cycle(done: float) -> float:
    return done / 0.2 if done < 0.2 else 0.5 * (1 + math.cos(math.pi * (done - 0.2) / 0.8))


def match(
    model: Stationary,
    target: np.ndarray,
    records: np.ndarray,
    settings: Settings,
    seed: int,
    threads: int,
    report: Report,
    start: State | None = None,
    keep: Keep | None = None,
    gpu: torch.device | None = None,
    weights: np.ndarray | None = None,
    mean: np.ndarray | None = None,
    found: Found | None = None,
) -> tuple[Stationary, np.ndarray, list[Iteration]]:
    """Move a model until the crosstab of its chains is ``target``.

    Parameters
    ----------
    model : where to start; its structural zeros are kept
    target : shape (K, K), symmetric, crosstab of as many records as ``records`` has, or as the sum of the
        ``weights``; need not be that of ``records``, nor of whole numbers
    records : int16 (n, Q), where the chains start; none may hold a structural zero
    start, keep, gpu : as in :func:`fit`; ``start`` holds the weights, so those of ``model`` are not used
    weights : float64 (n,), of the records
    mean : shape (K, K), the weights that a prior pulls to; None for zeros
    found : as in :func:`fit`

    Returns
    -------
    As :func:`fit`.
    """
    matching = _Matching(
        model, target, records, settings, seed, threads, report, keep, gpu, weights, mean, found
    )
    if start is not None:
        matching.resume(start)
    return matching.run()


def save_state(path: Path, of: str, state: State) -> None:
    """Write a state, whole or not at all; ``of`` says of which fit it is."""
    checkpoint.save(path, of, state.arrays, state.facts, save_file)


def load_state(path: Path, of: str) -> State | None:
    """Return the state at ``path``, or None if there is none of this fit."""
    found = checkpoint.load(path, of, "np")
    return State(*found) if found else None


@dataclass
class _Walk:
    """What a fit goes back to when it diverges.

    mean : running mean of target minus crosstab, (K, K)
    smooth : running mean of the chains' crosstab
    values, values_mean, values_smooth : the same for triples
    variances, values_variances : what priors have learnt, of pairs and of triples
    effects, slopes : (K, K), of ``w`` what no prior but a weak one pulls at, and the slopes that make it,
        (K, Q)
    contrasts : weights of contrasts of triples, which are in ``values`` too
    """

    w: np.ndarray
    c: np.ndarray
    mean: np.ndarray
    smooth: np.ndarray
    chains: np.ndarray
    values: np.ndarray
    values_mean: np.ndarray
    values_smooth: np.ndarray
    variances: np.ndarray
    values_variances: np.ndarray
    effects: np.ndarray
    slopes: np.ndarray
    contrasts: np.ndarray

    def copy(self) -> _Walk:
        """Return a copy that later updates leave alone."""
        return _Walk(**{name: value.copy() for name, value in vars(self).items()})


class _Average:
    """Mean of the weights of iterations to come; before the first one, those of now."""

    def __init__(self, walk: _Walk):
        self.w, self.c, self.values = walk.w.copy(), walk.c.copy(), walk.values.copy()
        self.contrasts, self.count = walk.contrasts.copy(), 0

    def add(self, walk: _Walk) -> None:
        self.count += 1
        self.w += (walk.w - self.w) / self.count
        self.c += (walk.c - self.c) / self.count
        self.values += (walk.values - self.values) / self.count
        self.contrasts += (walk.contrasts - self.contrasts) / self.count


class _Matching:
    """One run of :func:`match`."""

    def __init__(
        self,
        model: Stationary,
        target: np.ndarray,
        records: np.ndarray,
        settings: Settings,
        seed: int,
        threads: int,
        report: Report,
        keep: Keep | None,
        gpu: torch.device | None,
        weights: np.ndarray | None,
        mean: np.ndarray | None,
        found: Found | None,
    ):
        self.model, self.settings, self.threads = model, settings, threads
        self.report, self.keep, self.gpu, self.mean, self.found = report, keep, gpu, mean, found
        self.seed = seeds.integer(seed, "stationary", "chains")
        rng = seeds.generator(seed, "stationary", "order")
        order = rng.permutation(len(records))
        if weights is not None:
            order = rng.permutation(in_proportion(weights, len(records), rng))
        self.order = order[: settings.chains or MOST]
        self.records, self.start = records, np.ascontiguousarray(records[self.order])
        self.weights, size = weights, len(records) if weights is None else float(weights.sum())
        self.history: list[Iteration] = []
        self.share = len(self.order) / max(size, 1)
        self.sizes = np.diff(model.block_starts)
        self.target = target * self.share
        self.free = free_cells(target, model, settings.rare)
        self.held = free_cells(target, model, 0) & ~self.free
        pairs = len(self.sizes) * (len(self.sizes) - 1) // 2
        self.pairs = max(pairs, 1)
        self.score = scores(np.diag(target), model.block_starts)
        some = records[order[:SOME]] if len(records) else records
        self.longest = TOGETHER * self.pairs / amplification(some, self.score, model.block_starts)
        self.pair_step = self._steps(self.target, pairs, min(settings.pair_step, self.longest))
        self.stiff: np.ndarray | float = 0.0
        self.progress = Progress()
        self.walk = _Walk(
            model.w.astype(np.float64),
            model.c.astype(np.float64),
            np.zeros(target.shape),
            self.target.copy(),
            self.start.copy(),
            values=np.zeros(0),
            values_mean=np.zeros(0),
            values_smooth=np.zeros(0),
            variances=np.zeros(0),
            values_variances=np.zeros(0),
            effects=np.zeros(target.shape),
            slopes=np.zeros((len(target), len(model.block_starts) - 1)),
            contrasts=np.zeros(0),
        )
        self.prior = self._prior(target, prior.pairs_of(model.block_starts, self.free))
        free_of_prior = settings.effects == "free" and mean is None and settings.prior != "box"
        own = self.score if free_of_prior else np.zeros(len(self.score))
        self.effects = Effects.of(own, self.free, self.held, model.block_starts, threads)
        self.directions, self.tested = contrasts.NONE, contrasts.Tested()
        self._take_up(model.triples, np.zeros(0, bool))
        self.good = self.walk.copy()

    def run(self) -> tuple[Stationary, np.ndarray, list[Iteration]]:
        progress = self.progress
        if progress.level == 0:
            self._shrink()
            self._rest(self._model(self.walk), self.settings.settle)
            progress.best = self._judged()[0]
        while not progress.ended or progress.level < len(self.levels):
            if progress.ended:
                self._enter()
            self._judge(*self._window())
            if self.keep:
                self.keep(self._state())
        self._settle_average()
        model = self._model(self.average, np.float32)
        if self.found:
            self.found(self.tested)
        self._rest(model, self.settings.settle)
        return model, self.walk.chains[np.argsort(self.order)], self.history

    def _shrink(self) -> None:
        """Begin near what a prior leaves of the start's weights, each cell by itself."""
        if not self.prior or self.prior.kind == "box":
            return
        walk, information = self.walk, self.target / self.share + 0.5
        for _ in range(SPLITS):
            self._learn()
        rest = self._own(walk.w) - walk.effects
        stiffness = np.where(self.free, self.prior.stiffness(rest), 0.0)
        rest *= information / (information + stiffness)
        walk.w = self._whole(walk.effects + rest)

    def _settle_average(self) -> None:
        """Leave at zero what a prior kept there in the end; note the expected crosstab.

        Where the fit ends, the expected count of a pair is its true one less the pull on its weight. That is
        known without the noise, and the slow drift, of chains.
        """
        average = self.average
        if self.triple_prior:
            average.values = self.triple_prior.settled(average.values, self.walk.values)
        if not self.prior:
            return
        own = self.prior.settled(self._own(average.w), self._own(self.walk.w))
        effects = self.walk.effects
        for _ in range(SPLITS):
            own, gained, effects, _ = self._split(own, effects)
            average.c += gained
        average.w, self.walk.effects = self._whole(own), effects
        if self.prior.kind != "box" and not self.held.any():
            rest = own - effects
            expected = self.target / self.share - self.prior.pull(rest, 0 * rest)
            self.model = replace(self.model, expected=np.maximum(expected, 0).astype(np.float32))

    def resume(self, state: State) -> None:
        """Take up the fit where ``state`` was kept."""

        def part(prefix: str) -> dict[str, np.ndarray]:
            return {k.removeprefix(prefix): v for k, v in state.arrays.items() if k.startswith(prefix)}

        self.directions = contrasts.Directions(**part("directions."))
        self.tested = contrasts.Tested(**part("tested."))
        self._take_up(**part("triples."))
        self.walk, self.good = _Walk(**part("walk.")).copy(), _Walk(**part("good.")).copy()
        self.average.count = state.facts["averaged"]
        for name, value in part("average.").items():
            setattr(self.average, name, value.copy())
        self._recall()
        self.progress = Progress(**state.facts["progress"])
        self.history = [Iteration(**line) for line in state.facts["history"]]

    def _state(self) -> State:
        parts = {"walk": vars(self.walk), "good": vars(self.good)}
        parts["average"] = {"w": self.average.w, "c": self.average.c, "values": self.average.values}
        parts["average"]["contrasts"] = self.average.contrasts
        parts |= {"directions": vars(self.directions), "tested": vars(self.tested)}
        parts["triples"] = {"chosen": self.model.triples, "free": self.free_cells}
        arrays = {f"{part}.{name}": v.copy() for part, values in parts.items() for name, v in values.items()}
        facts = {
            "progress": asdict(self.progress),
            "averaged": self.average.count,
            "history": [asdict(line) for line in self.history],
        }
        return State(arrays, facts)

    def _prior(self, target: np.ndarray, group: np.ndarray) -> Prior | None:
        kind = self.settings.prior
        return None if kind == "none" else Prior.of(kind, target, group)

    def _rest(self, model: Stationary, sweeps: int) -> None:
        self._pull(self._own(model.w) - self.walk.effects, self._cells(self.walk))
        for _ in range(sweeps):
            self._sweep(model, 0, 0.0)

    def _enter(self) -> None:
        """Begin the next level; choose the triples before what would be the last one without them."""
        progress = self.progress
        if self.settings.triples and progress.level == len(self.settings.levels) - 1:
            self._choose_triples()
        self.good = self.walk.copy()
        progress.enter()
        if progress.level <= self.averaged:
            self.average = _Average(self.walk)

    def _judge(self, discrepancy: float, bias: float) -> None:
        """Go back if a window made things worse; note where it was good."""
        settings, progress = self.settings, self.progress
        if progress.begins_average(bias, self.averaged):
            self.average = _Average(self.walk)
        verdict = progress.judge(discrepancy, bias, self.averaged, settings.tolerance, settings.most_windows)
        if verdict == "worse":
            self._halve()
        elif verdict == "good":
            self.good = self.walk.copy()

    def _halve(self) -> None:
        """Go back to the last good weights and chains, with half the steps."""
        self.progress.halve("the stationary model")
        self.walk = self.good.copy()
        self._recall()
        self.average = _Average(self.walk)

    def _window(self) -> tuple[float, float]:
        """Iterate a few times; return the mean discrepancy and the mean bias."""
        level = self.progress.level
        step = self.levels[level - 1] * self.progress.scale
        if self.settings.restart and len(self.order) == len(self.records):
            self.walk.chains = self.start.copy()
        for number in range(self.settings.window):
            if number % LEARNT_EVERY == 0:
                self._learn()
            self._pull(self._own(self.walk.w) - self.walk.effects, self._cells(self.walk))
            self._update(*self._sweep(self._model(self.walk), level, step), step)
            self.average.add(self.walk)
        return self._judged()

    def _learn(self) -> None:
        """Tell effects of pairs from what a prior pulls at, and learn the priors anew."""
        walk = self.walk
        if self.prior:
            own = self._own(walk.w)
            for _ in range(1 if walk.effects.any() else SPLITS):
                own, gained, walk.effects, walk.slopes = self._split(own, walk.effects)
                walk.c += gained
            walk.w = self._whole(own)
            self.prior.learn(own - walk.effects)
            walk.variances = self.prior.variances
        if self.triple_prior:
            self.triple_prior.learn(self._cells(walk))
            walk.values_variances = self.triple_prior.variances

    def _split(
        self, own: np.ndarray, effects: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Tell effects from the rest as :meth:`Effects.split` does, by the prior's stiffness.

        Of a prior with heavy tails that is next to nothing where the rest is large; by such cells nothing
        would hold what effects and categories take from one another.
        """
        assert self.prior
        stiffness = self.prior.stiffness(own - effects)
        return self.effects.split(
            own, np.maximum(stiffness, FIRM * self.prior.stiffness(np.zeros(own.shape)))
        )

    def _cells(self, weights: _Walk | _Average) -> np.ndarray:
        """Weights of triples' cells without their contrasts, which no prior pulls at."""
        return weights.values - self.directions.along(weights.contrasts, len(weights.values))

    def _recall(self) -> None:
        """Let the priors be what they were when the walk was here."""
        if self.prior:
            self.prior.variances = self.walk.variances
        if self.triple_prior:
            self.triple_prior.variances = self.walk.values_variances

    def _pull(self, rest: np.ndarray, cells: np.ndarray) -> None:
        """Note what weights miss of the target because priors pull at them, in the chains' records."""
        walk = self.walk
        if self.prior:
            stiffness = self.prior.stiffness(rest)
            self.pulled = self.share * self.prior.pull(rest, walk.mean / self.share, stiffness)
            self.stiff = self.share * stiffness
        if self.triple_prior:
            self.pulled_cells = self.share * self.triple_prior.pull(cells, walk.values_mean / self.share)

    def _judged(self) -> tuple[float, float]:
        lines = self.history[-self.settings.window :]
        return float(np.mean([i.discrepancy for i in lines])), float(np.mean([i.bias for i in lines]))

    def _sweep(self, model: Stationary, level: int, step: float) -> tuple[np.ndarray, np.ndarray]:
        """Sweep all chains, note how they stand, return their crosstab and counts of triples.

        The two halves of the chains are independent given the weights: the product of their
        deviations has the squared bias as its expectation, without the sampling noise.
        """
        swept = model.step(
            self.walk.chains, self.seed, len(self.history), self.threads, parts=2, gpu=self.gpu
        )
        self.walk.chains = swept.codes
        halves = np.array_split(swept.codes, 2)
        counted = [self._counts(half) for half in halves]
        scales = tuple(len(swept.codes) / max(len(half), 1) for half in halves)
        tables, cells = zip(*counted, strict=True)
        pairs_found = passes.deviations(tables, scales, self.target, self.pulled, self.free, self.threads)
        wanted, pulled, free = (
            each[None] for each in (self.target_cells, self.pulled_cells, self.free_cells)
        )
        rows = tuple(each[None] for each in cells)
        cells_found = passes.deviations(rows, scales, wanted, pulled, free, 1)
        squares, products = (np.concatenate(both) for both in zip(pairs_found, cells_found, strict=True))
        line = Iteration(
            level,
            len(self.history) + 1,
            step,
            _mean(squares),
            _mean(products) / self.share,
            swept.changed / swept.codes.size,
        )
        self.history.append(line)
        self.report(line)
        return np.add(*tables), np.add(*cells).astype(np.float64)

    def _counts(self, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Crosstab, and counts of the triples that have weights."""
        if self.gpu is None:
            crosstab = pairs.counts(codes, self.model.block_starts, self.threads)
        else:
            from modp.crosstabs.gpu_counts import counts_on

            crosstab = counts_on(self.gpu, codes, self.model.block_starts)
        return crosstab, self._three_way(codes, self.model.triples)

    def _update(self, crosstab: np.ndarray, cells: np.ndarray, step: float) -> None:
        walk = self.walk
        own = self._own(walk.w)
        moved, margins = passes.moved(
            own,
            walk.mean,
            walk.smooth,
            crosstab,
            self.target,
            self.pulled,
            self.stiff,
            self.free,
            self.pair_step,
            step,
            self.settings.damping,
            self.settings.momentum,
            self.threads,
        )
        moved = self._held_back(self.prior, own, moved, walk.mean)
        if self.prior and self.effects.score.any():
            gained, steeper = self._effects_gain(margins, step)
            moved += gained
            walk.effects, walk.slopes = walk.effects + gained, walk.slopes + steeper
        walk.w = self._whole(moved)
        walk.c += (step * self.settings.margin_step) * margins
        self._update_triples(cells, step)

    def _effects_gain(self, margins: np.ndarray, step: float) -> tuple[np.ndarray, np.ndarray]:
        """What weights gain by a step of their effects, (K, K), and slopes, (K, Q)."""
        seen = np.maximum(self.target, self.walk.smooth)
        longest = min(FASTER * self.settings.pair_step, self.longest)

        def steps(size: np.ndarray) -> np.ndarray:
            return step * self._steps(np.maximum(size, self.settings.damping), self.pairs, longest)

        ridge, walk = self.share * RIDGE, self.walk
        return self.effects.step(walk.mean, margins, self.target, seen, walk.slopes, ridge, steps)

    def _update_triples(self, cells: np.ndarray, step: float) -> None:
        walk, settings = self.walk, self.settings
        walk.values_smooth += 0.1 * (cells - walk.values_smooth)
        walk.values_mean += (1 - settings.momentum) * (self.target_cells - cells - walk.values_mean)
        count = np.maximum(self.target_cells, walk.values_smooth)
        seen = count + settings.damping + self._stiffness(self.triple_prior, self._cells(walk))
        cells = (walk.values_mean - self.pulled_cells) / seen
        moved = walk.values + step * np.where(self.free_cells, self.triple_step * cells, 0)
        walk.values = self._held_back(self.triple_prior, walk.values, moved, walk.values_mean)
        if len(self.directions):
            size = self.directions.sums(count, power=2) + settings.damping
            together = min(FASTER * settings.triple_step / len(self.directions), settings.most_pair_step)
            change = step * together * self.directions.sums(walk.values_mean) / size
            walk.contrasts = walk.contrasts + change
            walk.values = walk.values + self.directions.along(change, len(walk.values))

    def _own(self, w: np.ndarray) -> np.ndarray:
        """What a prior pulls at: the weights, without those that it pulls to."""
        return w if self.mean is None else w - self.mean

    def _whole(self, own: np.ndarray) -> np.ndarray:
        return own if self.mean is None else own + self.mean

    def _held_back(
        self, of: Prior | None, before: np.ndarray, moved: np.ndarray, missing: np.ndarray
    ) -> np.ndarray:
        return of.held_back(before, moved, missing / self.share) if of else moved

    def _stiffness(self, of: Prior | None, weights: np.ndarray) -> np.ndarray | float:
        return self.share * of.stiffness(weights) if of else 0.0

    def _model(self, weights: _Walk | _Average, kind: DTypeLike = np.float64) -> Stationary:
        w, c, values = (x.astype(kind, copy=False) for x in (weights.w, weights.c, weights.values))
        return replace(self.model, w=w, c=c, values=values)

    def _steps(self, target: np.ndarray, together: int, step: float) -> np.ndarray:
        settings = self.settings
        return shortened(
            target + 1, len(self.order), together, step, settings.rare_power, settings.most_pair_step
        )

    def _choose_triples(self) -> None:
        """Give weights to the triples that pairs explain least.

        All cells of those whose tables misfit; with a prior, where one contrast says it, that alone. None
        under a prior where chains are far from what they should say of two questions: what they say of three
        is wrong.
        """
        if self.prior and self.progress.bias > FAR:
            return
        every = triples.every(len(self.sizes))
        every = every[self.sizes[every].prod(axis=1) <= MOST_CELLS]
        worst = np.concatenate([self._misfit(part) for part in triples.parts(every, self.sizes)])
        misfit = {tuple(map(int, triple)): float(by) for triple, by in zip(every, worst, strict=True)}
        tests = self._tests() if self.prior else []
        found = contrasts.found(tests, self.sizes)
        evidence = {triple: by for triple, by in misfit.items() if by > SURE}
        for contrast in found:
            excess = (contrast.z**2 - 1) / math.sqrt(2)  # as misfit is counted, of one cell
            evidence[contrast.triple] = max(evidence.get(contrast.triple, 0.0), excess)
        falling = sorted(evidence, key=lambda triple: (-evidence[triple], triple))
        kept = sorted(falling[: self.settings.triples])
        self.tested = _tested(tests, misfit, falling, kept)
        if not kept:
            return
        chosen = np.array(kept, np.int64)
        free = np.maximum(*self._true_and_found(chosen)) >= triples.FEWEST
        tables = np.array([misfit[triple] > SURE for triple in kept])
        free &= np.repeat(tables, np.diff(triples.ends(chosen, self.sizes)))
        of_kept = [contrast for contrast in found if contrast.triple in set(kept)]
        self.directions = contrasts.Directions.of(of_kept, chosen, self.sizes)
        self._take_up(chosen, free)
        self.progress.best = math.inf

    def _tests(self) -> list[contrasts.Test]:
        """Tests of three-way effects in the chains, of the triples where these are largest."""
        model, chains, drawn = self._model(self.walk), self.walk.chains, []
        for number in range(int(np.clip(TESTED // len(chains), *STATES))):
            chains = model.step(chains, self.seed, AFTER + number, self.threads, gpu=self.gpu).codes
            drawn.append(chains)
        codes, starts = np.concatenate(drawn), self.model.block_starts
        n = len(self.records) if self.weights is None else float(self.weights.sum())
        arguments = (self.records, codes, self.score, starts, self.weights, self.threads)
        some = contrasts.candidates(*arguments)
        some = some[self.sizes[some].prod(axis=1) <= MOST_CELLS]
        counted = self._true_three_way(some), self._three_way(codes, some)
        return contrasts.tested(some, *counted, n, len(codes), self.score, starts)

    def _three_way(self, codes: np.ndarray, some: np.ndarray) -> np.ndarray:
        if self.gpu is None:
            return triples.counts(codes, some, self.sizes, self.threads)
        from modp.crosstabs.gpu_counts import triples_on

        return triples_on(self.gpu, codes, some, self.sizes)

    def _true_three_way(self, some: np.ndarray) -> np.ndarray:
        """Counts of triples of as many records as the target is of."""
        return triples.counts(self.records, some, self.sizes, self.threads, self.weights)

    def _true_and_found(self, some: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Counts of triples, true and in the chains, of as many records as there are less of."""
        found = self._three_way(self.walk.chains, some) / max(self.share, 1)
        return self._true_three_way(some) * min(self.share, 1), found

    def _misfit(self, some: np.ndarray) -> np.ndarray:
        return triples.misfit(*self._true_and_found(some), triples.ends(some, self.sizes))

    def _take_up(self, chosen: np.ndarray, free: np.ndarray) -> None:
        """Give triples of questions weights, zero so far, of which the ``free`` ones will be fitted."""
        self.model, self.free_cells = replace(self.model, triples=chosen), free
        places = triples.ends(chosen, self.sizes)
        group = np.where(free, np.repeat(np.arange(len(chosen)), np.diff(places)), -1)
        levels = self.settings.levels
        self.levels = levels[:-1] + (levels[1:] or levels) if len(chosen) else levels
        self.averaged = max(1, len(self.levels) - 1)
        true_cells = self._true_three_way(chosen)
        self.target_cells = true_cells * self.share
        self.triple_prior = self._prior(true_cells, group)
        self.pulled, self.pulled_cells = np.zeros(self.target.shape), np.zeros(len(free))
        self.triple_step = self._steps(self.target_cells, len(chosen), self.settings.triple_step)
        walk = self.walk
        walk.values, walk.values_mean = np.zeros((2, len(free)))
        walk.contrasts = np.zeros(len(self.directions))
        walk.values_smooth = self.target_cells.copy()
        if self.prior and self.triple_prior:
            walk.variances, walk.values_variances = self.prior.variances, self.triple_prior.variances
        self.average = _Average(walk)


def _tested(
    tests: Sequence[contrasts.Test],
    misfit: Mapping[contrasts.Triple, float],
    found: Sequence[contrasts.Triple],
    kept: Sequence[contrasts.Triple],
) -> contrasts.Tested:
    """Say of triples what was found: of those ``found``, in falling order, and as many others."""
    strongest = {tuple(map(int, test.triple)): test.strongest for test in tests}
    others = sorted(strongest, key=lambda triple: -abs(strongest[triple][0]))
    listed = list(dict.fromkeys([*found, *others[: LISTED + len(found)]]))
    z, effect = (
        zip(*(strongest.get(t, (math.nan, (-1, -1))) for t in listed), strict=True) if listed else ((), ())
    )
    return contrasts.Tested(
        np.array(listed, np.int64).reshape(-1, 3),
        np.array(effect, np.int64).reshape(-1, 2),
        np.array(z, float),
        np.array([misfit[triple] for triple in listed], float),
        np.arange(len(listed)) < len(found),
        np.array([(triple in set(kept)) * (1 + (misfit[triple] > SURE)) for triple in listed], np.int64),
    )


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else 0.0


def shortened(
    counts: np.ndarray, n: float, together: int, step: float, rare_power: float, most: float
) -> np.ndarray:
    """Return each cell's step, of the shape of ``counts``.

    Steps of cells that occur together add up, so they shrink with the number of pairs, or triples, of
    questions; rare cells occur together with few others, so theirs can be longer.

    Parameters
    ----------
    counts : of each cell among ``n`` records, more than zero
    together : number of pairs or triples of questions that have weights
    step, rare_power, most : as ``pair_step``, ``rare_power`` and ``most_pair_step`` of :class:`Settings`
    """
    longer = (COMMON / np.minimum(counts / n, COMMON)) ** rare_power
    return np.minimum(step / max(1, together) * longer, most)
