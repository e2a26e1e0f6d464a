"""What several tables released of the same records tell an attacker together.

Tables of one model have chance of their own, which falls away where they are put together, and what they have
in common stays: the model, and what it remembers of the records it was fitted to. Codes are of shape (n, Q).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from modp.crosstabs.identical import identities
from modp.measures import attacks
from modp.measures.attacks import RESAMPLES, Estimate
from modp.measures.table import GAINS

Sides = tuple[np.ndarray, np.ndarray]
"""What an attack says of each member, and of each of the others."""


@dataclass(frozen=True)
class Victims:
    """Whom tables are attacked about; :mod:`modp.measures.attacks` says who they are.

    members, others : train records and as many records held out, whose membership is guessed
    unknown : the same for the attack that has the records of ``reference``, none of whom is among them
    guessed : some of ``members`` and ``others``, whose answers are guessed
    reconstructed : train records of whom an answer is solved together, not fewer than ``others``
    sizes : shape (Q,), number of categories of each question
    """

    members: np.ndarray
    others: np.ndarray
    unknown: Sides
    reference: np.ndarray
    guessed: Sides
    reconstructed: np.ndarray
    sizes: np.ndarray


def together(
    tables: Sequence[np.ndarray],
    victims: Victims,
    questions: Mapping[str, tuple[int, bool]],
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Attack the first table, then the first two together, and so on to all of them.

    The attacker puts tables on a heap: distances are to the nearest record of any, densities and crosstabs
    are the mean over all.

    Parameters
    ----------
    tables : of the same model, drawn independently
    questions : name -> place of a question whose answer is guessed, and whether its categories are in order
    rng : of the resamples that standard errors are from

    Returns
    -------
    One line a measure, question and number of tables, ``releases``: ``value``, ``low`` and ``high``, its 95 %
    interval; ``gain``, ``gain_low`` and ``gain_high``, the value less that of the first table alone. Since
    the people are the same, a gain is surer than the values that it is a difference of: its standard error is
    that of a bootstrap over people.
    """
    first: dict[tuple[str, str], Sides] = {}
    lines = []
    for number in range(1, len(tables) + 1):
        heap = np.concatenate(tables[:number])
        for measure, question, sides in _attacks(heap, victims, questions):
            value, of = MEASURED[measure]
            alone = first.setdefault((measure, question), sides)
            line = {"measure": measure, "question": question, "releases": number}
            line |= vars(value(sides, rng))
            gain = vars(_gain(alone, sides, of, rng))
            line |= {"gain": gain["value"], "gain_low": gain["low"], "gain_high": gain["high"]}
            lines.append(line)
    return pd.DataFrame(lines, columns=["measure", "question", "releases", *BOUNDS, *GAINS])


BOUNDS = ("value", "low", "high")


def _auc(sides: Sides) -> float:
    return attacks.auc(*sides).value


def _found(sides: Sides) -> float:
    return attacks.found_at_false_alarms(*sides)


def _leak(sides: Sides) -> float:
    return float(sides[0].mean() - sides[1].mean())


Valued = Callable[[Sides, np.random.Generator], Estimate]
MEASURED: Mapping[str, tuple[Valued, Callable[[Sides], float]]] = {
    **{f"{attack}_auc": (lambda s, _: attacks.auc(*s), _auc) for attack in ("distance", "density")},
    **{
        f"{attack}_tpr": (lambda s, rng: attacks.true_positives(*s, rng), _found)
        for attack in ("distance", "density")
    },
    **{
        f"{leak}_leak": (lambda s, _: attacks.difference(*s), _leak)
        for leak in ("copied", "attribute", "reconstruction")
    },
}
"""How each measure, with its interval and without, follows from what an attack says of people."""


def _attacks(
    heap: np.ndarray, victims: Victims, questions: Mapping[str, tuple[int, bool]]
) -> Iterator[tuple[str, str, Sides]]:
    """Measure, question, and what the attack says of people; nothing where there are none."""
    if not len(heap) or min(len(victims.members), len(victims.others)) < 2:
        return
    sides = (victims.members, victims.others)
    yield "copied_leak", "", (copied(sides[0], heap), copied(sides[1], heap))
    near = (attacks.nearness(sides[0], heap), attacks.nearness(sides[1], heap))
    yield "distance_auc", "", near
    yield "distance_tpr", "", near
    if min(map(len, (*victims.unknown, victims.reference))) >= 2:
        one, other = (
            attacks.density_ratio(side, heap, victims.reference, victims.sizes) for side in victims.unknown
        )
        yield "density_auc", "", (one, other)
        yield "density_tpr", "", (one, other)
    for name, (at, ordered) in questions.items():
        members, others = victims.guessed
        right = (attacks.guessed(members, heap, at), attacks.guessed(others, heap, at))
        yield "attribute_leak", name, right
        solved = attacks.reconstructed_right(heap, victims.reconstructed, victims.others, at, ordered)
        yield "reconstruction_leak", name, solved


def copied(people: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Return who answers like nobody else of these people and like a record of the table: bool (n,)."""
    person = identities(people, table)
    mine, theirs = person[: len(people)], person[len(people) :]
    alone = np.bincount(mine, minlength=person.max() + 1)[mine] == 1
    return alone & np.isin(mine, theirs)


def _gain(
    before: Sides, after: Sides, measure: Callable[[Sides], float], rng: np.random.Generator
) -> Estimate:
    """What a measure is more after than before, of the same people."""
    if before is after:
        return Estimate(0.0, 0.0, 0.0)
    gains = []
    for _ in range(RESAMPLES):
        rows = [rng.integers(len(side), size=len(side)) for side in after]
        gains.append(
            measure((after[0][rows[0]], after[1][rows[1]]))
            - measure((before[0][rows[0]], before[1][rows[1]]))
        )
    return attacks.plus_minus(measure(after) - measure(before), float(np.std(gains, ddof=1)))
