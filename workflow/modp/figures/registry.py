"""Every kind of figure, declared once.

Rules, parameters, their JSON schema and the report follow from what is declared here. A new kind takes
an entry in :data:`KINDS` and the function that it names. Importing this loads nothing that draws.
"""

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from modp.measures.ends import MARGINALS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from modp.figures.given import Given


class Of(Enum):
    """What a figure may be of."""

    ROWS = "rows of the accuracy table"
    ROWS_AND_ENDS = f"rows of the accuracy table, and {MARGINALS}, records of independent answers"
    DRAWN_ROWS = "rows of drawn records, which the bootstrap has none of"
    GATES = "models with a gate"
    GATES_OF_THREE = "a model of three blades"
    MODELS = "models that are trained or fitted"
    CHAINS = "models with chains"
    RUN = "the whole run"
    HOUSEHOLDS = "rows of whole households"
    PARTS = "rows made of a scattered data set's parts"
    UTILITY = "rows of which it is measured what they are worth to analysts"


class Shows(Enum):
    """How many of these it may show."""

    ONE = "one"
    SEVERAL = "one or several"
    PAIRS = "two by two"


ACCURACY = "tables/accuracy.parquet"
CELLS = "measures/{of}/cells.parquet"
PRIVACY = "measures/{of}/privacy.parquet"
GATES = "gates/{of}.parquet"


@dataclass(frozen=True)
class Kind:
    """What is known of one kind of figure.

    ``reads`` are files below a data set's results, in the order in which the function gets them: one with
    ``{of}`` is read of every row or model that the figure shows, one with ``{traced}`` of every model whose
    fidelity is traced against privacy. ``draws`` is ``module:function``; the function takes a
    :class:`modp.figures.given.Given` and returns a Matplotlib figure. ``caption`` says what the figure
    shows to those who cannot see it and those who see it first. With ``published`` the function is also
    given the paper's numbers. A kind with ``named`` is drawn by every run under that name and not asked for
    in params.yaml: of all that there are, or, with ``{of}`` in the name, of each; one that is of parts, by
    ``snakemake scattered`` instead. One that is not ``public``
    shows true counts cell by cell, or a point for a true record, and is left out of the report to publish.
    A ``weighted`` one is drawn only where the data set names weights.
    """

    of: Of
    shows: Shows
    reads: tuple[str, ...]
    draws: str
    caption: str
    published: bool = False
    named: str | None = None
    public: bool = True
    weighted: bool = False

    @property
    def module(self) -> str:
        """The module of the drawing function."""
        return self.draws.partition(":")[0]

    def function(self) -> Callable[["Given"], "Figure"]:
        """Return the drawing function; its module is imported only now."""
        module, _, name = self.draws.partition(":")
        return getattr(importlib.import_module(module), name)

    def files(self, of: Sequence[str], traced: Sequence[str]) -> list[str]:
        """Return the files that a figure is drawn from, in order, relative to the data set's results.

        Parameters
        ----------
        of : the rows or models that it shows
        traced : the models whose fidelity is traced against privacy
        """
        found = []
        for pattern in self.reads:
            names = of if "{of}" in pattern else traced if "{traced}" in pattern else [""]
            found += [pattern.format(of=name, traced=name) for name in names]
        return found


Shown = tuple[str, list[str], bool]
"""What the report is told of a figure."""

KINDS: dict[str, Kind] = {
    "crosstabs": Kind(
        of=Of.ROWS,
        shows=Shows.SEVERAL,
        reads=(ACCURACY, CELLS),
        draws="modp.figures.crosstabs:crosstabs_figure",
        caption="Every cell of the crosstab, true count against synthetic; on the diagonal they agree. "
        "Inset: the answers to single questions.",
        public=False,
    ),
    "z_against_d": Kind(
        of=Of.ROWS,
        shows=Shows.ONE,
        reads=(CELLS,),
        draws="modp.figures.merit:z_against_d_figure",
        caption="Each cell's z against its log discrepancy d: cells at the lower left agree; "
        "large z with small d is a small error in a large cell.",
        public=False,
    ),
    "merit_histogram": Kind(
        of=Of.ROWS,
        shows=Shows.ONE,
        reads=(CELLS,),
        draws="modp.figures.merit:merit_histogram_figure",
        caption="How often cells have which blended figure of merit; small is good.",
    ),
    "merit_heatmap": Kind(
        of=Of.ROWS,
        shows=Shows.ONE,
        reads=(CELLS,),
        draws="modp.figures.merit:merit_heatmap_figure",
        caption="The blended figure of merit of every pair of answers: blue is good, red is bad.",
        public=False,
    ),
    "attack_roc": Kind(
        of=Of.ROWS_AND_ENDS,
        shows=Shows.SEVERAL,
        reads=("measures/{of}/roc.parquet",),
        draws="modp.figures.attack_roc:attack_roc_figure",
        caption="How many of the people whom the models saw an attacker finds, at each rate of taking "
        "others for them; the grey line is guessing.",
    ),
    "estimates": Kind(
        of=Of.ROWS,
        shows=Shows.SEVERAL,
        reads=("tables/estimates.parquet",),
        draws="modp.figures.estimates:estimates_figure",
        caption="Totals, means and medians that a user would publish, from synthetic records: by how many of "
        "the true estimate's standard errors they are off. The band is the true 90 % interval, bars are the "
        "synthetic ones.",
        named="estimates",
        weighted=True,
    ),
    "analyses": Kind(
        of=Of.UTILITY,
        shows=Shows.SEVERAL,
        reads=("tables/analyses.parquet",),
        draws="modp.figures.analyses:analyses_figure",
        caption="Coefficients of the analyses that params.yaml asks for: of synthetic records and of people "
        "held out, from those of the true records, in standard errors of these.",
        named="analyses",
        public=False,
    ),
    "entropy": Kind(
        of=Of.DRAWN_ROWS,
        shows=Shows.ONE,
        reads=(PRIVACY,),
        draws="modp.figures.hiding:entropy_figure",
        caption="The randomness, in bits, with which each synthetic record was drawn.",
    ),
    "multiplicities": Kind(
        of=Of.DRAWN_ROWS,
        shows=Shows.ONE,
        reads=(PRIVACY,),
        draws="modp.figures.hiding:multiplicities_figure",
        caption="How many true records are identical to each one, against two to the power of the "
        "bits with which its synthetic partner was drawn.",
        public=False,
    ),
    "effective_multiplicity": Kind(
        of=Of.DRAWN_ROWS,
        shows=Shows.ONE,
        reads=(PRIVACY,),
        draws="modp.figures.hiding:effective_multiplicity_figure",
        caption="The product of both: the size of the crowd that a record hides in.",
    ),
    "causal_rank": Kind(
        of=Of.DRAWN_ROWS,
        shows=Shows.SEVERAL,
        reads=(ACCURACY, PRIVACY),
        draws="modp.figures.hiding:causal_rank_figure",
        caption="How many true records are as close to a synthetic record as the one it was drawn "
        "from, or closer; curves that start lower hide their records better.",
    ),
    "gate_triangle": Kind(
        of=Of.GATES_OF_THREE,
        shows=Shows.ONE,
        reads=(GATES,),
        draws="modp.figures.gates:gate_triangle_figure",
        caption="How the gate shares records out between three blades; corners belong to one blade.",
        public=False,
    ),
    "gate_histogram": Kind(
        of=Of.GATES,
        shows=Shows.ONE,
        reads=(GATES,),
        draws="modp.figures.gates:gate_histogram_figure",
        caption="How often a blade's weight for a record has which size.",
    ),
    "gate_survival": Kind(
        of=Of.GATES,
        shows=Shows.ONE,
        reads=(GATES,),
        draws="modp.figures.gates:gate_survival_figure",
        caption="How many records have a largest, second, third … gate weight above each value.",
    ),
    "co_assignment": Kind(
        of=Of.GATES,
        shows=Shows.PAIRS,
        reads=(GATES,),
        draws="modp.figures.gates:co_assignment_figure",
        caption="Which records the blades of two models take, against each other.",
        public=False,
    ),
    "overview": Kind(
        of=Of.RUN,
        shows=Shows.ONE,
        reads=(ACCURACY,),
        draws="modp.figures.overview:overview_figure",
        caption="How far each row's crosstab is from the sample's own, as a multiple of a bootstrap "
        "resample's; at 1 the two cannot be told apart, the sample's noise included.",
        named="accuracy",
    ),
    "frontier": Kind(
        of=Of.RUN,
        shows=Shows.ONE,
        reads=(ACCURACY, "tables/privacy.parquet", "frontier/{traced}.parquet"),
        draws="modp.figures.frontier:frontier_figure",
        caption="Fidelity against privacy: low is faithful, left is private. Above, how far from the "
        "sample's own crosstab, noise included; below, how far from that of people held out. "
        "Curves follow the number of sweeps, or the share of true answers passed through.",
        published=True,
        named="frontier",
    ),
    "risk_fidelity": Kind(
        of=Of.RUN,
        shows=Shows.ONE,
        reads=(ACCURACY, "tables/attacks.parquet", f"measures/{MARGINALS}/cells.parquet"),
        draws="modp.figures.risk_fidelity:risk_fidelity_figure",
        caption="Whether synthetic records lie closer to the records the models saw than to others, "
        "against fidelity: left is private, low is faithful; bars are 95 % intervals.",
        named="risk_fidelity",
    ),
    "mixing": Kind(
        of=Of.CHAINS,
        shows=Shows.ONE,
        reads=("frontier/{of}.mixing.parquet",),
        draws="modp.figures.mixing:mixing_figure",
        caption="How fast a stationary model's chains forget each answer of the true record.",
        named="mixing_{of}",
    ),
    "three_way": Kind(
        of=Of.ROWS,
        shows=Shows.SEVERAL,
        reads=("measures/{of}/triples.parquet",),
        draws="modp.figures.three_way:three_way_figure",
        caption="Errors of crosstabs of three questions, row by row.",
        named="three_way",
    ),
    "training": Kind(
        of=Of.MODELS,
        shows=Shows.SEVERAL,
        reads=("plots/history/{of}.csv",),
        draws="modp.figures.training:training_figure",
        caption="The loss over all records during training, model by model.",
        named="training",
    ),
    "households": Kind(
        of=Of.HOUSEHOLDS,
        shows=Shows.SEVERAL,
        reads=("tables/households.parquet",),
        draws="modp.figures.households:households_figure",
        caption="How far crosstabs of whole households are from the true ones: of each person, of persons "
        "and their household, and of two members, by their roles. At 1 they are as far as a resample's of "
        "whole households, or as near to households held out as the true ones are.",
        named="households",
    ),
    "household_shares": Kind(
        of=Of.HOUSEHOLDS,
        shows=Shows.SEVERAL,
        reads=("tables/household_shares.parquet",),
        draws="modp.figures.shares:shares_figure",
        caption="What a demographer checks of whole households: the share that cannot be, couples far apart "
        "in age, three generations, one answer of all members, and sizes; true and of every row, on an axis "
        "of square roots.",
        named="household_shares",
    ),
    "parts": Kind(
        of=Of.PARTS,
        shows=Shows.SEVERAL,
        reads=("tables/parts.parquet",),
        draws="modp.figures.parts:parts_figure",
        caption="How near the synthetic records of each part, such as a state, are to its people held out: "
        "small is near.",
        named="parts",
    ),
}


def shown(figures: Mapping[str, tuple[str, Sequence[str]]]) -> dict[str, Shown]:
    """Return what the report is told of figures: name -> caption, what it is of, whether it is public.

    Parameters
    ----------
    figures : name -> its kind and what it shows
    """
    return {name: (KINDS[kind].caption, list(of), KINDS[kind].public) for name, (kind, of) in figures.items()}


def asked_for() -> list[str]:
    """Return the kinds that params.yaml may ask for."""
    return [name for name, kind in KINDS.items() if kind.named is None]


def is_taken(figure: str) -> bool:
    """Whether every run draws a figure of that name by itself."""
    patterns = [kind.named.format(of="*") for kind in KINDS.values() if kind.named]
    return any(fnmatchcase(figure, pattern) for pattern in patterns)


def drawn_by_every_run(
    things: Mapping[Of, Sequence[str]], weighted: bool = False, of_run: bool = True
) -> dict[str, tuple[str, list[str]]]:
    """Return the figures that nobody asks for: name -> its kind and what it shows.

    Parameters
    ----------
    things : the rows or models that there are, by what a kind may be of
    weighted : whether the data set names weights
    of_run : whether those of the whole run are drawn, which are of single records
    """
    found: dict[str, tuple[str, list[str]]] = {}
    for name, kind in KINDS.items():
        if (kind.weighted and not weighted) or kind.of not in (*things, *([Of.RUN] if of_run else ())):
            continue
        if kind.named is not None and "{of}" in kind.named:
            found |= {kind.named.format(of=thing): (name, [thing]) for thing in things[kind.of]}
        elif kind.named is not None and (kind.of is Of.RUN or things[kind.of]):
            found[kind.named] = (name, [] if kind.of is Of.RUN else list(things[kind.of]))
    return found


def described() -> str:
    """Say what the kinds that params.yaml may ask for show, for its JSON schema."""
    found: dict[Of, list[str]] = {}
    for name in asked_for():
        kind = KINDS[name]
        number = "" if kind.shows is Shows.ONE else f" ({kind.shows.value})"
        found.setdefault(kind.of, []).append(name + number)
    kinds = [f"of {of.value}: {', '.join(names)}" for of, names in found.items()]
    return "; ".join(kinds) + ". Where no number is given, one is shown."
