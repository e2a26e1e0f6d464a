"""The table of measures: whatever is measured of a synthetic table, a record each.

A measure is computed elsewhere (those of d in :mod:`modp.measures.accuracy`) and described here; tables,
metrics.json, cards, the report, repeats and comparisons follow. Nothing is computed here, and nothing heavy
imported.
"""

import math
from dataclasses import dataclass
from typing import Literal

Table = Literal[
    "d",
    "population",
    "accuracy",
    "weighted",
    "estimates",
    "privacy",
    "copies",
    "membership",
    "exposed",
    "guesses",
    "releases",
    "anonymeter",
    "learners",
    "numbers",
    "analyses",
]
"""Where measures are columns.

``d``: of the accuracy and of the three-way table, each with its ratio to the bootstrap's; ``population``: of
the accuracy table, each with its standard error; ``accuracy``: of the accuracy table alone; ``weighted``: of
the table of weighted crosstabs, beside those of d; ``estimates``: of how well estimates are kept;
``privacy``: of the table of causal partners; ``copies``, ``membership``, ``exposed`` and ``guesses``: parts
of the table of attacks; ``releases``: of the table of attacks on several tables together, which has a part
for each; ``anonymeter``: of Anonymeter's risks; ``learners``, ``numbers`` and ``analyses``: parts of the
table of utility.
"""

ATTACKS: dict[Table, str] = {
    "copies": "Copies and nearest records",
    "membership": "Membership",
    "exposed": "Members among the 1 % most exposed",
    "guesses": "Guesses of {question}",
}
"""The parts of the table of attacks, and their captions."""

RATIO = "ratio_"
"""Before the name of a measure of d: its ratio to the bootstrap's."""

BETWEEN = "_between"
"""After the name of a measure of d: over cells between questions."""

THREE_WAY = "_three_way"
"""After the name of a measure of d: of three-way crosstabs."""

WEIGHTED = "_weighted"
"""After the name of a measure of d or of ``weighted``, before that of its cells: of weighted crosstabs."""

LIMITS = ("_low", "_high")
"""Endings of the names of metrics that are ends of another one's interval."""

ERROR = "_error"
"""After the key or the name of a measure: its standard error."""

SPREADS = (*LIMITS, ERROR)
"""Endings of the names of metrics that say how sure another one is."""

PAPER_NOTEBOOK = "paper_notebook"
"""The parameter, and the key of metrics.json that is there, and true, where it was."""

GAINS = ("gain", "gain_low", "gain_high")
"""What an attack gains from more tables than one, and its interval: columns of the table of releases."""

NOTEBOOK = (
    "d as in the author's notebook, not as in the paper's text: counts are not scaled to equal totals, every "
    "pair of different categories counts twice, and r.m.s. is the standard deviation of the signed log ratio"
)
"""What that does to accuracy."""

NEARER = (
    "1 is as near to the people who were not in the sample as the sample itself is, below 1 is nearer; a "
    "bootstrap resample, which adds its own noise to the sample's, has about 1.4"
)
"""What the ratios of ``population`` mean."""

IN_SAMPLE = (
    "the ratio to the bootstrap compares with the sample's own crosstab, noise included, so that 1.00 there "
    "only says that the sample's noise is repeated"
)
"""What the ratios of measures of d do not mean."""


@dataclass(frozen=True)
class Form:
    """How a number is written, times a hundred if ``percent``, and how sure it is.

    ``spread``: ``error`` is a standard error in a column of its own, ``share`` one that follows from the
    share and the number of cases, ``interval`` its two ends.
    """

    number: str
    percent: bool = False
    spread: Literal["none", "error", "share", "interval"] = "none"

    @property
    def scale(self) -> int:
        """What the number is multiplied by."""
        return 100 if self.percent else 1

    @property
    def unit(self) -> str:
        """What is written after it."""
        return " %" if self.percent else ""


METRIC = Form("{:.4g}")
"""How numbers of metrics.json are written that stand under their names there."""

MULTIPLE = Form("{:.2f}")
"""How ratios to the bootstrap are written."""

SIZE, COUNT = Form("{:.3f}"), Form("{:,}")
BOUNDED, BOUNDED_SHARE = Form("{:.3f}", spread="interval"), Form("{:.2f}", percent=True, spread="interval")
RANKED_SHARE = Form("{:.2f}", percent=True, spread="share")
NEAR = Form("{:.2f}", spread="error")
NEAR_HALF = Form("{:.3f}", spread="error")
NEAR_ONE, SHARE = Form("{:.2f}"), Form("{:.1f}", percent=True)
FINE = Form("{:.2f}", percent=True)

SMALL, LARGE = 0.0, math.inf


@dataclass(frozen=True)
class Headline:
    """A measure's part in the report's headline: a number, what it is, a sentence of meaning.

    Blanks are filled in from what is known of the row: the columns of the accuracy table (over all cells)
    and of the privacy table, the row's privacy and utility in metrics.json by their names there, ``written``
    (the texts of the tables of privacy and of utility, and those of ``population``, by their keys),
    ``within`` and ``ideal_within`` (how far from the true count half of the row's and the bootstrap's cells
    are at most), and ``zeros`` (what counts as a structural zero).
    """

    value: str
    name: str
    meaning: str


@dataclass(frozen=True)
class Measure:
    """One thing that is measured of a synthetic table, and how it is shown.

    ``key`` is its column in the Parquet tables, in that of attacks its name in the column ``measure``;
    ``title`` its column in the printed tables, which leave it out where that is empty. ``metric`` is its
    place in metrics.json, without model and variant. ``best`` is the value that nothing is better than: 0
    where small is good, infinity where large is; None where neither is good in itself. ``repeated`` is its
    title in the table of repeats, if it stands there; measures of d do anyway, as ratios.

    ``three_way``: metrics.json and cards have this measure of d of three-way crosstabs too. ``judges``: the
    report chooses its best row by this measure of d, among others. ``sentence`` goes into the statement on
    privacy; its blanks are the ``value``, those of other attacks by their keys, the ``question`` that is
    guessed, and the number of cases ``ranked``.
    """

    key: str
    title: str
    tables: tuple[Table, ...]
    form: Form
    metric: str | None = None
    best: float | None = None
    repeated: str | None = None
    three_way: bool = False
    judges: bool = False
    sentence: str | None = None
    headline: Headline | None = None

    @property
    def name(self) -> str:
        """Its name in metrics.json, empty if it is not there."""
        return (self.metric or "").partition(".")[2]

    def is_in(self, tree: str) -> bool:
        """Whether this tree of metrics.json, ``accuracy``, ``privacy`` or ``utility``, has it."""
        return (self.metric or "").partition(".")[0] == tree


MEASURES = (
    Measure(
        "median",
        "median",
        ("d",),
        SIZE,
        "accuracy.median",
        best=SMALL,
        three_way=True,
        judges=True,
        headline=Headline(
            "{ratio_median:.2f} ×",
            "the ideal’s error",
            "Half of the crosstab’s cells are within {within:.1%} of the true count; those of a bootstrap "
            "resample, which differs from the true records by chance alone, within {ideal_within:.1%}. The "
            "ratio of the mean errors is {ratio_mean_abs:.2f}, of the root mean square ones {ratio_rms:.2f}.",
        ),
    ),
    Measure(
        "mean_abs",
        "mean",
        ("d",),
        SIZE,
        "accuracy.mean_abs",
        SMALL,
        judges=True,
        headline=Headline(
            "{ratio_mean_abs:.2f} ×",
            "the ideal’s error",
            "The mean error of the crosstab’s cells, as a multiple of a bootstrap resample’s, which differs "
            "from the true records by chance alone; of root mean square errors it is {ratio_rms:.2f}. Half "
            "of a resample’s cells are exactly the true ones, so that medians say nothing.",
        ),
    ),
    Measure("rms", "r.m.s.", ("d",), SIZE, "accuracy.rms", SMALL, judges=True),
    Measure("population_median", "", ("population",), NEAR, "accuracy.population_median", SMALL),
    Measure(
        "population_mean_abs",
        "population",
        ("population",),
        NEAR,
        "accuracy.population_mean_abs",
        SMALL,
        repeated="population",
        headline=Headline(
            "{written[population_mean_abs]} ×",
            "the sample’s distance from other people",
            "How far the crosstab is from that of the people held out, mean ± one standard error: "
            f"{NEARER}. By contrast, {IN_SAMPLE}.",
        ),
    ),
    Measure("population_rms", "", ("population",), NEAR, "accuracy.population_rms", SMALL),
    Measure("records", "records", ("accuracy",), COUNT, "accuracy.records"),
    Measure(
        "zero_records",
        "zeros",
        ("accuracy",),
        COUNT,
        "accuracy.zero_records",
        SMALL,
        headline=Headline(
            "{zero_records:,} of {records:,}",
            "impossible records",
            "Synthetic records that hold a pair of answers which {zeros}.",
        ),
    ),
    Measure("rms_z", "r.m.s. z", ("weighted",), NEAR_ONE, "accuracy.rms_z", SMALL),
    Measure("inside", "inside", ("weighted",), SHARE, "accuracy.inside", LARGE),
    Measure(
        "estimates_inside",
        "inside",
        ("estimates",),
        SHARE,
        "accuracy.estimates_inside",
        LARGE,
        repeated="estimates inside",
    ),
    Measure("estimates_overlap", "overlap", ("estimates",), SHARE, "accuracy.estimates_overlap", LARGE),
    Measure("estimates_width", "width", ("estimates",), NEAR_ONE, "accuracy.estimates_width", 1.0),
    Measure(
        "auc_raw",
        "AUC",
        ("learners",),
        NEAR_HALF,
        "utility.auc_raw",
        best=0.5,
        repeated="AUC",
        headline=Headline(
            "AUC {written[auc_raw]}",
            "of a classifier that tells it from new people",
            "Boosted trees are shown synthetic records and as many people held out, values and all. AUC is "
            "how often they take the synthetic one of two for synthetic: at 0.5 nobody can tell.",
        ),
    ),
    Measure(
        "auc_classes",
        "AUC, classes",
        ("learners",),
        NEAR_HALF,
        "utility.auc_classes",
        best=0.5,
        repeated="AUC, classes",
    ),
    Measure("tstr_median", "taught: median", ("learners",), SIZE, "utility.tstr_median", LARGE, "taught"),
    Measure("tstr_worst", "taught: least", ("learners",), SIZE, "utility.tstr_worst", LARGE),
    Measure("spearman_mean", "correlations: mean", ("numbers",), SIZE, "utility.spearman_mean", SMALL),
    Measure("spearman_max", "greatest", ("numbers",), SIZE, "utility.spearman_max", SMALL),
    Measure("spearman_slope", "slope", ("numbers",), SIZE, "utility.spearman_slope"),
    Measure("quantiles", "quantiles", ("numbers",), FINE, "utility.quantiles", SMALL),
    Measure("zero_shares", "zeros", ("numbers",), FINE, "utility.zero_shares", SMALL),
    Measure("rounded", "rounded", ("numbers",), FINE, "utility.rounded", SMALL),
    Measure("analyses_off", "off", ("analyses",), NEAR_ONE, "utility.analyses_off", SMALL, "analyses off"),
    Measure("analyses_overlap", "overlap", ("analyses",), SHARE, "utility.analyses_overlap", LARGE),
    Measure("analyses_agree", "agree", ("analyses",), SHARE, "utility.analyses_agree", LARGE),
    Measure("analyses_held", "off held out", ("analyses",), NEAR_ONE, "utility.analyses_held", SMALL),
    Measure("entropy_bits", "bits", ("accuracy", "privacy"), Form("{:.1f}"), "privacy.entropy_bits", LARGE),
    Measure(
        "log10_effective_multiplicity", "effective multiplicity", ("privacy",), Form("10^{:.1f}"), best=LARGE
    ),
    Measure("nearest", "nearest", ("privacy",), RANKED_SHARE, "privacy.nearest", SMALL),
    Measure(
        "within_10",
        "within 10",
        ("privacy",),
        RANKED_SHARE,
        "privacy.within_10",
        SMALL,
        repeated="within 10",
        sentence="The true record that a synthetic one was drawn from is among its ten nearest in {value} of "
        "{ranked:,} cases (one standard error).",
        headline=Headline(
            "{written[within_10]}",
            "of the causal records found",
            "How often the true record that a synthetic one was drawn from is among its ten nearest. For "
            "half of them, {median_rank:,.0f} or more true records are as near. Small is private.",
        ),
    ),
    Measure("within_10_backwards", "within 10 backwards", ("privacy",), RANKED_SHARE, best=SMALL),
    Measure(
        "median_rank",
        "median rank",
        ("privacy",),
        Form("{:,.0f}"),
        "privacy.median_rank",
        LARGE,
        repeated="median rank",
    ),
    Measure("exact", "exact: all of train", ("copies",), BOUNDED_SHARE, best=SMALL),
    Measure(
        "exact_train",
        "exact: train",
        ("copies",),
        BOUNDED_SHARE,
        "privacy.exact_train",
        SMALL,
        sentence="{value} % of the synthetic records equal a true record that nobody else shares; of as many "
        "records held out it is {exact_holdout} %, which is chance.",
    ),
    Measure("exact_holdout", "exact: holdout", ("copies",), BOUNDED_SHARE, "privacy.exact_holdout"),
    Measure(
        "closer_to_train",
        "closer to train",
        ("copies",),
        BOUNDED_SHARE,
        "privacy.closer_to_train",
        best=0.5,
        repeated="closer to train",
        sentence="{value} % of the synthetic records are closer to a record that the model saw than to one "
        "it did not. 50 % is no leak.",
        headline=Headline(
            "{closer_to_train:.3f} ({closer_to_train_low:.3f}–{closer_to_train_high:.3f})",
            "closer to train",
            "How often a synthetic record is nearer to the records it was made from than to as many that "
            "were held out, with its 95 % interval. 0.5 is no leak.",
        ),
    ),
    Measure("distance_train", "distance: train", ("copies",), BOUNDED),
    Measure("distance_holdout", "distance: holdout", ("copies",), BOUNDED),
    Measure("ratio_train", "nearest : second, train", ("copies",), BOUNDED),
    Measure("ratio_holdout", "nearest : second, holdout", ("copies",), BOUNDED),
    Measure(
        "distance_auc",
        "distance: AUC",
        ("membership", "releases"),
        BOUNDED,
        "privacy.membership_auc",
        best=0.5,
        repeated="membership AUC",
        sentence="Somebody with the table who must tell which of two people was in the data is right with "
        "probability {value}. 0.5 is a coin.",
    ),
    Measure(
        "distance_tpr",
        "distance: found at 1 % false alarms",
        ("membership", "releases"),
        BOUNDED_SHARE,
        "privacy.membership_tpr",
        best=0.01,
        sentence="If he may accuse 1 % of the people who were not in it, he finds {value} % of those who "
        "were. 1 % is no better than chance.",
    ),
    Measure(
        "density_auc",
        "density: AUC",
        ("membership", "releases"),
        BOUNDED,
        "privacy.density_auc",
        best=0.5,
        repeated="density AUC",
        sentence="With a sample of other people besides, which tells how common their answers are anyway, he "
        "is right with probability {value}.",
    ),
    Measure(
        "density_tpr",
        "density: found at 1 % false alarms",
        ("membership", "releases"),
        BOUNDED_SHARE,
        "privacy.density_tpr",
        best=0.01,
        sentence="Accusing 1 % of the others, he then finds {value} %.",
    ),
    Measure(
        "likelihood_auc",
        "likelihood: AUC",
        ("membership",),
        BOUNDED,
        "privacy.likelihood_auc",
        best=0.5,
        repeated="likelihood AUC",
        sentence="With the model's weights instead of the table he is right with probability {value}.",
    ),
    Measure(
        "likelihood_tpr",
        "likelihood: found at 1 % false alarms",
        ("membership",),
        BOUNDED_SHARE,
        "privacy.likelihood_tpr",
        best=0.01,
        sentence="Accusing 1 % of the others, he then finds {value} %.",
    ),
    Measure("distance_top", "distance", ("exposed",), BOUNDED_SHARE, "privacy.membership_top", best=0.5),
    Measure(
        "density_top",
        "density",
        ("exposed",),
        BOUNDED_SHARE,
        "privacy.density_top",
        best=0.5,
        sentence="Of the 1 % of all people most suspect by the table and that sample, {value} % were in "
        "the data. 50 % is chance.",
    ),
    Measure(
        "likelihood_top",
        "likelihood",
        ("exposed",),
        BOUNDED_SHARE,
        "privacy.likelihood_top",
        best=0.5,
        sentence="Of the 1 % most suspect by the model's weights, {value} % were.",
    ),
    Measure("attribute_members", "train", ("guesses",), BOUNDED_SHARE),
    Measure("attribute_others", "holdout", ("guesses",), BOUNDED_SHARE),
    Measure(
        "attribute_leak",
        "leak",
        ("guesses", "releases"),
        BOUNDED_SHARE,
        "privacy.attribute_leak",
        best=0.0,
        sentence="{question} is guessed right from a person's other answers {value} percentage points more "
        "often for people who were in the data. 0 is no leak.",
    ),
    Measure("attribute_without", "train, without", ("guesses",), BOUNDED_SHARE),
    Measure("attribute_majority", "commonest answer", ("guesses",), BOUNDED_SHARE),
    Measure("reconstruction_members", "reconstructed: train", ("guesses",), BOUNDED_SHARE),
    Measure("reconstruction_others", "reconstructed: holdout", ("guesses",), BOUNDED_SHARE),
    Measure(
        "reconstruction_leak",
        "reconstructed: leak",
        ("guesses", "releases"),
        BOUNDED_SHARE,
        "privacy.reconstruction_leak",
        best=0.0,
        sentence="Whether {question} is in the upper half, or the commonest answer where there is no such "
        "order, comes out right {value} percentage points more often for people who were in the data if it "
        "is solved from the table's crosstabs for everybody at once. 0 is no leak.",
    ),
    Measure("copied_leak", "copied: train less holdout", ("releases",), BOUNDED_SHARE, best=SMALL),
    Measure("singling_out", "singling out", ("anonymeter",), BOUNDED_SHARE, best=SMALL),
    Measure("linkability", "linkability", ("anonymeter",), BOUNDED_SHARE, best=SMALL),
    Measure("inference", "inference", ("anonymeter",), BOUNDED_SHARE, best=SMALL),
)
"""All of them, in the order of the tables' columns."""


def measures_of(*tables: Table) -> list[Measure]:
    """Return the measures of these tables, or of all, in order."""
    return [measure for measure in MEASURES if not tables or set(tables) & set(measure.tables)]


def of_population() -> Measure:
    """Return the measure of ``population`` that is printed, and by which rows are judged."""
    (quoted,) = (measure for measure in measures_of("population") if measure.title)
    return quoted


def measure_named(metric: str) -> Measure | None:
    """Return the measure that a number of metrics.json is of.

    None for the unknown, and for ends of intervals and standard errors.

    Parameters
    ----------
    metric : its dotted name, such as ``accuracy.stationary.sweeps-20.ratio_median``
    """
    tree, _, rest = metric.partition(".")
    name = rest.rpartition(".")[2]
    if name.endswith(SPREADS):
        return None
    name = name.removeprefix(RATIO).removesuffix(THREE_WAY).removesuffix(BETWEEN).removesuffix(WEIGHTED)
    for measure in MEASURES:
        guessed = "guesses" in measure.tables and name.startswith(f"{measure.name}_")
        if measure.is_in(tree) and (measure.name == name or guessed):
            return measure
    return None


def better(measure: Measure, before: float, after: float) -> bool:
    """Whether ``after`` is nearer to the best value there is; the measure must have one."""
    assert measure.best is not None
    if math.isinf(measure.best):
        return after > before
    return abs(after - measure.best) < abs(before - measure.best)
