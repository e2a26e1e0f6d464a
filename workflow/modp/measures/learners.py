"""What learners make of a table: whether they tell it from other people's, and what it teaches about these.

Tables are float64 (n, Q) as :func:`modp.measures.frames.matrices` returns them, blanks NaN, and ``nominal``
is the mask (Q,) of their columns of categories. Learners are boosted trees of scikit-learn.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.tree import DecisionTreeRegressor

from modp.measures.attacks import auc
from modp.measures.frames import FEW
from modp.measures.weighted import CERTAINTY

FOLDS = 5
"""Parts of the records, of which a classifier has seen all but the one that it is tried on."""

MOST = 8_000
"""Records of a table that a learner takes, chosen at random if there are more."""

FEWEST_RECORDS = 100
"""With fewer nothing can be learnt that could be measured."""

PERMUTED = 100
"""Records of each side of a fold by which it is found what gives a table away."""

TOLD = {"learning_rate": 0.15, "max_iter": 60, "max_leaf_nodes": 31, "min_samples_leaf": 30}
TAUGHT = {"learning_rate": 0.2, "max_iter": 30, "max_leaf_nodes": 15, "l2_regularization": 5.0}
"""How trees are boosted that tell tables apart, and those that predict an answer."""

CLASSES = 8
"""Classes of an answer that is predicted: its commonest answers, the last one all others."""

TREE = {"min_samples_leaf": 20, "max_depth": 8}
"""The tree by which it is found which answers can be predicted."""

GROWN = 2_000
"""Records that it is grown on, and as many that it is tried on, at most."""

PREDICTABLE = (0.1, 0.95)
"""Skill of that tree from which on an answer is predictable, and up to which it is no function of others."""


@dataclass(frozen=True)
class Detection:
    """How well a classifier tells synthetic records from others.

    auc : the mean area under the ROC curve, over folds; not cut at ½
    error : its standard error, given these classifiers
    drops : float64 (Q,), by how much it falls if a column's answers change places among the records
    """

    auc: float
    error: float
    drops: np.ndarray


def detection(
    synthetic: np.ndarray,
    others: np.ndarray,
    nominal: np.ndarray,
    rng: np.random.Generator,
    most: int = MOST,
) -> Detection:
    """Let a boosted classifier tell records from as many of people who were in no fit.

    A classifier two-sample test (Lopez-Paz and Oquab, ICLR 2017): one for each of five folds, trained on the
    other four. The standard error is DeLong's of each fold, folds taken for independent; NaN of few records.

    Parameters
    ----------
    synthetic, others : (m, Q) and (h, Q)
    rng : chooses the records and parts them
    most : records of each side that are taken
    """
    k = min(len(synthetic), len(others), most)
    if k < FEWEST_RECORDS:
        return Detection(np.nan, np.nan, np.full(len(nominal), np.nan))
    x = np.concatenate([side[rng.permutation(len(side))[:k]] for side in (synthetic, others)])
    is_synthetic = np.repeat([True, False], k)
    fold = np.concatenate([rng.permutation(np.arange(k) % FOLDS) for _ in range(2)])
    areas, errors, drops = np.zeros(FOLDS), np.zeros(FOLDS), np.zeros((FOLDS, len(nominal)))
    for f in range(FOLDS):
        model = _boosted(HistGradientBoostingClassifier, TOLD, nominal, rng)
        model.fit(x[fold != f], is_synthetic[fold != f])
        sides = [x[(fold == f) & (is_synthetic == side)] for side in (True, False)]
        found = auc(*(model.decision_function(side) for side in sides))
        areas[f], errors[f] = found.value, (found.high - found.low) / (2 * CERTAINTY)
        drops[f] = _drops(model, [side[:PERMUTED] for side in sides], rng)
    return Detection(float(areas.mean()), float(np.sqrt(np.sum(errors**2)) / FOLDS), drops.mean(axis=0))


def _drops(model: Any, sides: Sequence[np.ndarray], rng: np.random.Generator) -> np.ndarray:
    """By how much the area under the curve falls if a column's answers change places, (Q,)."""
    x, columns = np.concatenate(sides), sides[0].shape[1]
    tried = np.repeat(x[None], columns + 1, axis=0)
    for q in range(columns):
        tried[q, :, q] = rng.permutation(x[:, q])
    scores = model.decision_function(tried.reshape(-1, columns)).reshape(columns + 1, -1)
    areas = np.array([auc(own[: len(sides[0])], own[len(sides[0]) :]).value for own in scores])
    return areas[-1] - areas[:-1]


def _boosted(kind: type, how: dict[str, float], nominal: np.ndarray, rng: np.random.Generator) -> Any:
    state = int(rng.integers(1 << 31))
    return kind(**how, categorical_features=nominal, early_stopping=False, random_state=state)


@dataclass(frozen=True)
class Target:
    """An answer that learners predict from all others.

    column : its place
    classes : float64, the answers that are classes, all others being one more; None of a number, of which
        the signed logarithm is predicted
    """

    column: int
    classes: np.ndarray | None

    @staticmethod
    def of(true: np.ndarray, nominal: np.ndarray, column: int) -> "Target":
        """Return a column as a target; its classes are the true records' commonest answers."""
        values, counts = np.unique(true[~np.isnan(true[:, column]), column], return_counts=True)
        if not nominal[column] and len(values) > FEW:
            return Target(column, None)
        most = len(values) if len(values) <= CLASSES else CLASSES - 1
        return Target(column, np.sort(values[np.argsort(-counts, kind="stable")[:most]]))

    def parted(self, table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the other columns (m, Q - 1) of the records that have the answer, and the answer.

        That is float64 (m, 1) of a number, and of classes (m, k), one of them 1.
        """
        known = table[~np.isnan(table[:, self.column])]
        y, x = known[:, self.column], np.delete(known, self.column, axis=1)
        if self.classes is None:
            return x, (np.sign(y) * np.log1p(np.abs(y)))[:, None]
        among = (y[:, None] == self.classes).astype(float)
        return x, np.column_stack([among, 1 - among.sum(axis=1)])


def predictable(true: np.ndarray, nominal: np.ndarray, rng: np.random.Generator, most: int = 5) -> list[int]:
    """Return the columns that the others predict best and are not as good as functions of them, best first.

    What is predictable is told by a single tree, grown on one half of the true records, tried on the other.
    """
    some = true[rng.permutation(len(true))[: 2 * GROWN]]
    halves = some[: len(some) // 2], some[len(some) // 2 :]
    skills = np.array([_skill_of_a_tree(*halves, Target.of(some, nominal, q)) for q in range(len(nominal))])
    low, high = PREDICTABLE
    order = np.argsort(-skills, kind="stable")
    return [q for q in order.tolist() if low <= skills[q] <= high][:most]


def _skill_of_a_tree(train: np.ndarray, test: np.ndarray, target: Target) -> float:
    """The share of the squared error of the mean guess that a tree does without; 0 of few records."""
    (x, y), (others, wanted) = target.parted(train), target.parted(test)
    if min(len(x), len(others)) < FEWEST_RECORDS or not x.shape[1]:
        return 0.0
    found = DecisionTreeRegressor(**TREE, random_state=0).fit(x, y).predict(others)
    lost, guessed = (np.sum((wanted - p) ** 2) for p in (found.reshape(wanted.shape), y.mean(axis=0)))
    return float(1 - lost / guessed) if guessed > 0 else 0.0


@dataclass(frozen=True)
class Taught:
    """What a table teaches of an answer, tried on other people.

    skill : the share of the mean guess's squared error (of classes: Brier's score) that is done without
    share : of the skill that true records teach
    error : the standard error of ``share``, given these learners: over the people it is tried on
    """

    skill: float
    share: float
    error: float


UNTAUGHT = Taught(np.nan, np.nan, np.nan)


def taught(
    tables: Sequence[np.ndarray],
    others: np.ndarray,
    nominal: np.ndarray,
    column: int,
    rng: np.random.Generator,
    most: int = MOST,
) -> list[Taught]:
    """Train a learner of one answer on each table, and try it on people who were in none.

    Train on synthetic, test on real (Esteban, Hyland and Rätsch, 2017). The guess that skill is measured from
    is the true records' mean, or the shares of their answers.

    Parameters
    ----------
    tables : (n, Q) each, the true records first
    others : (h, Q)
    column : whose answer is predicted from all other columns
    most : records of a table that are taken
    """
    target = Target.of(tables[0], nominal, column)
    x, wanted = target.parted(others)
    parted = [target.parted(table[rng.permutation(len(table))[:most]]) for table in tables]
    if min(len(x), len(parted[0][0])) < FEWEST_RECORDS:
        return [UNTAUGHT for _ in tables]
    guessed = np.sum((wanted - parted[0][1].mean(axis=0)) ** 2, axis=1)
    found = [_predicted(*part, x, np.delete(nominal, column), target, rng) for part in parted]
    gains = [guessed - np.sum((wanted - p) ** 2, axis=1) for p in found]
    return [_taught(own, gains[0], guessed.mean()) for own in gains]


def _predicted(
    x: np.ndarray,
    y: np.ndarray,
    others: np.ndarray,
    nominal: np.ndarray,
    target: Target,
    rng: np.random.Generator,
) -> np.ndarray:
    """What a learner trained on records predicts of others: (h, k), as :meth:`Target.parted` has answers."""
    if len(x) < FEWEST_RECORDS:
        return np.full((len(others), y.shape[1]), np.nan)
    if target.classes is None:
        model = _boosted(HistGradientBoostingRegressor, TAUGHT, nominal, rng)
        return model.fit(x, y[:, 0]).predict(others)[:, None]
    found, kinds = np.zeros((len(others), y.shape[1])), np.flatnonzero(y.any(axis=0))
    if len(kinds) == 1:
        found[:, kinds] = 1.0
    else:
        model = _boosted(HistGradientBoostingClassifier, TAUGHT, nominal, rng)
        found[:, kinds] = model.fit(x, y.argmax(axis=1)).predict_proba(others)
    return found


def _taught(gains: np.ndarray, of_true: np.ndarray, guessed: float) -> Taught:
    """The ratio of two mean gains (h,), with its standard error by the delta method."""
    if np.isnan(gains).any() or not of_true.mean() > 0:
        return UNTAUGHT
    share = gains.mean() / of_true.mean()
    spread = np.std(gains - share * of_true, ddof=1) / (np.sqrt(len(gains)) * of_true.mean())
    return Taught(float(gains.mean() / guessed), float(share), float(spread))
