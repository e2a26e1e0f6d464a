"""The figures show the numbers they were given, on the paper's axes, however few there are."""

import subprocess
import sys

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from conftest import ROOT, codebook_of
from matplotlib.axes import Axes
from matplotlib.legend import Legend
from matplotlib.patches import StepPatch
from matplotlib.text import Text

from modp.__main__ import main
from modp.base.config import load, read_yaml
from modp.figures import (
    attack_roc,
    crosstabs,
    frontier,
    gates,
    hiding,
    merit,
    overview,
    registry,
    risk_fidelity,
    shares,
    style,
    three_way,
)
from modp.figures.given import Given
from modp.measures.accuracy import figure_of_merit
from modp.pipeline.params import FigureRecipe, Params

pytestmark = pytest.mark.filterwarnings("error")
TITLE = "Alaska, West Virginia, Wyoming 2021 persons: model_5_15, zeros removed"
NAN = np.full(9, np.nan)
NONE = np.zeros(0)


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def rng():
    return np.random.default_rng(11)


def gate(n, blades):
    return rng().dirichlet(np.full(blades, 0.2), n)


def lines(axis, gid):
    return [line for line in axis.lines if line.get_gid() == gid]


def steps(axis):
    return next(patch for patch in axis.patches if isinstance(patch, StepPatch)).get_data()


def texts(figure):
    return "\n".join(text.get_text() for text in figure.findobj(Text))


def heat(size, names, starts, order=()):
    values = rng().gamma(1, 1, (size, size))
    return merit.merit_heatmap(values + values.T, names, np.array(starts), order, TITLE)


def ranked(n):
    return {"plain": rng().integers(1, 900, n), "zeros removed": rng().integers(1, 90, n)}


ROC = pd.DataFrame({"attack": ["distance", "distance", "distance"], "fpr": [0, 0.1, 1], "tpr": [0, 0.5, 1]})
RISKS = pd.DataFrame(
    {
        "name": ["bootstrap", *(f"model_5_15/variant-{k}" for k in range(12)), "marginals"],
        "end": [True, *[False] * 12, True],
        "ratio": [1, *np.linspace(0.8, 7, 12), 8],
        "value": [0.62, *np.linspace(0.49, 0.55, 12), 0.5],
        "low": [0.61, *np.linspace(0.48, 0.54, 12), 0.49],
        "high": [0.63, *np.linspace(0.5, 0.56, 12), 0.51],
    }
)
MANY_NAMES = [f"QUESTION{q}" for q in range(40)]
DRAWN = {
    "z against d": lambda: merit.z_against_d(
        rng().normal(0, 0.2, 900), rng().normal(0, 2, 900), np.arange(900), TITLE
    ),
    "z against d, one": lambda: merit.z_against_d(np.zeros(1), np.zeros(1), np.zeros(1), TITLE),
    "z against d, NaN": lambda: merit.z_against_d(NAN, NAN, np.arange(9), TITLE),
    "merit": lambda: merit.merit_histogram(rng().gamma(1, 1, 900), TITLE),
    "merit, NaN": lambda: merit.merit_histogram(NAN, TITLE),
    "merit, none": lambda: merit.merit_histogram(NONE, TITLE),
    "heat map": lambda: heat(130, MANY_NAMES, [*range(0, 78, 2), 90, 130], MANY_NAMES[20:]),
    "heat map, one question": lambda: heat(2, ["SEX"], [0, 2]),
    "heat map, one category": lambda: heat(1, ["ONE"], [0, 1]),
    "heat map, NaN": lambda: merit.merit_heatmap(
        np.full((4, 4), np.nan), ["A", "B"], np.array([0, 2, 4]), ["B"], TITLE
    ),
    "triangle": lambda: gates.triangle(gate(900, 3), TITLE),
    "triangle, nine": lambda: gates.triangle(gate(9, 3), TITLE),
    "triangle, none": lambda: gates.triangle(np.zeros((0, 3)), TITLE),
    "triangle, NaN": lambda: gates.triangle(np.full((9, 3), np.nan), TITLE),
    "weights": lambda: gates.weight_histogram(gate(900, 5), TITLE),
    "weights, one blade": lambda: gates.weight_histogram(np.ones((9, 1)), TITLE),
    "weights, none": lambda: gates.weight_histogram(np.zeros((0, 5)), TITLE),
    "survival": lambda: gates.survival(gate(900, 5), TITLE),
    "survival, one blade": lambda: gates.survival(np.ones((9, 1)), TITLE),
    "survival, none": lambda: gates.survival(np.zeros((0, 5)), TITLE),
    "survival, NaN": lambda: gates.survival(np.full((9, 2), np.nan), TITLE),
    "co-assignment": lambda: gates.co_assignment(
        [("model_5_15", gate(900, 5), "model_3_10", gate(900, 3))], TITLE
    ),
    "co-assignment, two": lambda: gates.co_assignment(
        [
            ("model_5_15", gate(900, 5), "model_3_10", gate(900, 3)),
            ("model_12_24", gate(900, 12), "model_12_24", gate(900, 12)),
        ],
        TITLE,
    ),
    "co-assignment, none": lambda: gates.co_assignment(
        [("a", np.zeros((0, 2)), "b", np.zeros((0, 1)))], TITLE
    ),
    "entropy": lambda: hiding.entropy_histogram(rng().normal(15, 4, 900).clip(0), TITLE),
    "entropy, none": lambda: hiding.entropy_histogram(NONE, TITLE),
    "entropy, NaN": lambda: hiding.entropy_histogram(NAN, TITLE),
    "two multiplicities": lambda: hiding.two_multiplicities(
        rng().integers(1, 90, 900), rng().normal(15, 4, 900).clip(0), rng(), TITLE
    ),
    "two multiplicities, large": lambda: hiding.two_multiplicities(
        np.full(9, 40_000), np.full(9, 160.0), rng(), TITLE
    ),
    "two multiplicities, none": lambda: hiding.two_multiplicities(NONE, NONE, rng(), TITLE),
    "two multiplicities, NaN": lambda: hiding.two_multiplicities(np.ones(9), NAN, rng(), TITLE),
    "effective": lambda: hiding.effective_histogram(rng().normal(4, 1, 900), TITLE),
    "effective, equal": lambda: hiding.effective_histogram(np.zeros(9), TITLE),
    "effective, NaN": lambda: hiding.effective_histogram(NAN, TITLE),
    "attack ROC": lambda: attack_roc.draw({"bootstrap": ROC, "model_5_15, plain": ROC}, TITLE),
    "attack ROC, none": lambda: attack_roc.draw({"a": ROC[:0]}, TITLE),
    "risk and fidelity": lambda: risk_fidelity.draw(RISKS, TITLE),
    "risk and fidelity, none": lambda: risk_fidelity.draw(RISKS.assign(value=np.nan), TITLE),
    "causal ranks": lambda: hiding.causal_ranks(ranked(900), 30_000, TITLE),
    "causal ranks, nine records": lambda: hiding.causal_ranks({"one": np.array([1, 9, 4])}, 9, TITLE),
    "causal ranks, none": lambda: hiding.causal_ranks({"none": np.zeros(0, np.int64)}, 9, TITLE),
    "causal ranks, no table": lambda: hiding.causal_ranks({}, 9, TITLE),
}


def written(figure):
    """The words on the figure that have to be read whole: titles, labels, notes and legends."""
    found = [*figure.texts, figure._suptitle]
    for axis in figure.findobj(Axes):
        found += [*axis.texts, axis.xaxis.label, axis.yaxis.label]
        found += [axis.title, axis._left_title, axis._right_title]
    for legend in figure.findobj(Legend):
        found += [*legend.get_texts(), legend.get_title()]
    return [text for text in found if text.get_text()]


@pytest.mark.pipeline
@pytest.mark.parametrize("name", DRAWN)
def test_every_figure_draws_without_warnings_and_keeps_its_words_on_the_page(name):
    figure = DRAWN[name]()
    style.settle(figure)
    figure.draw_without_rendering()  # which puts legends where they belong
    page, off = figure.bbox.padded(1), {}
    for text in written(figure):
        box = text.get_window_extent()
        if not (page.contains(*box.min) and page.contains(*box.max)):
            off[text.get_text()] = box
    assert off == {}
    assert TITLE.split()[0] in texts(figure)


def test_a_long_title_is_broken_into_lines():
    figure = hiding.entropy_histogram(np.ones(3), "word " * 30)
    assert figure.get_suptitle().count("\n") == 3


def test_z_against_d_shows_every_cell_on_the_papers_axes():
    d, z, counts = np.array([-0.1, 0.2, np.nan, 0.7]), np.array([1, -2, 3, 4.0]), np.array([5, 50, 1, 500])
    figure = merit.z_against_d(d, z, counts, TITLE)
    axis, above, right, _ = figure.axes
    dots = axis.collections[0]
    assert dots.get_offsets().tolist() == [[0.1, 1], [0.2, 2], [0.7, 4]]
    assert dots.get_array().tolist() == [0, 0.5, 1]
    assert (axis.get_xlim(), axis.get_ylim()) == ((0, 0.5), (0, 12))
    above_counts, above_edges, _ = steps(above)
    right_counts, right_edges, _ = steps(right)
    assert np.diff(above_edges) == pytest.approx(0.008) and np.diff(right_edges) == pytest.approx(0.15)
    assert (above_counts.sum(), right_counts.sum()) == (2, 3)
    assert "median d 0.200, median z 2.00" in texts(figure)
    assert "33% of 3 cells" in texts(figure)


def test_equal_true_counts_have_one_colour():
    figure = merit.z_against_d(np.full(4, 0.1), np.ones(4), np.array([0, 0, 0, 7]), TITLE)
    assert figure.axes[0].collections[0].get_array().tolist() == pytest.approx([1 / 3, 1 / 3, 1 / 3, 1])


@pytest.mark.parametrize("level", merit.LEVELS)
def test_the_contours_are_those_of_the_figure_of_merit(level):
    figure = merit.z_against_d(np.full(4, 0.1), np.ones(4), np.arange(4), TITLE)
    (line,) = lines(figure.axes[0], f"merit {level:g}")
    d, z = line.get_data()
    assert figure_of_merit(d, z) == pytest.approx(np.full(len(d), level))
    assert z[0] == pytest.approx(12) and d[-1] == pytest.approx(0.5)


def test_the_contour_ends_where_no_z_is_bad_enough():
    assert np.isnan(merit.contour(1, np.array([0.0, 0.05]))).all()
    assert merit.contour(2, np.array([0.2])) == pytest.approx([2])


def test_merit_histogram_has_150_bins_from_0_to_3():
    figure = merit.merit_histogram(np.array([0.0, 0.01, 1.0, 2.999, 40.0, np.nan]), TITLE)
    counts, edges, _ = steps(figure.axes[0])
    assert (len(counts), edges[0], edges[-1]) == (150, 0, 3)
    assert (counts[0], counts[50], counts[149], counts.sum()) == (2, 1, 1, 4)
    assert figure.axes[0].get_xlim() == (0, 3)
    assert "60% of the cells at most 1, 20% beyond 3" in texts(figure)


def test_merit_heatmap_is_reordered_by_question():
    values = np.arange(25.0).reshape(5, 5)
    figure = merit.merit_heatmap(values, ["A", "B", "C"], np.array([0, 2, 3, 5]), ["C", "X", "A"], TITLE)
    image = figure.axes[0].images[0]
    moved = [3, 4, 0, 1, 2]
    assert image.get_array().tolist() == values[np.ix_(moved, moved)].tolist()
    assert image.get_clim() == (0, 6)
    names = [text for text in figure.axes[0].texts if len(text.get_text()) == 1]
    assert [name.get_text() for name in names] == ["C", "A", "B"]
    assert [name.get_position()[1] for name in names] == [1, 3, 4.5]


def test_questions_not_in_the_order_follow_in_their_own():
    assert merit.drawn_order(["A", "B", "C", "D"], ["D", "B", "D"]) == [3, 1, 0, 2]
    assert merit.drawn_order(["A", "B"], []) == [0, 1]


def test_names_are_spread_no_farther_than_needed():
    assert merit._spread(np.array([1.0, 5.0, 9.0]), 2, 10) == pytest.approx([1, 5, 9])
    assert merit._spread(np.array([4.5, 5.0, 5.5]), 2, 10) == pytest.approx([3, 5, 7])
    assert merit._spread(np.array([9.0, 9.5, 9.8]), 2, 10) == pytest.approx([5, 7, 9])


def test_triangle_places_each_record():
    weights = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0.5, 0.5, 0], [1 / 3, 1 / 3, 1 / 3]])
    figure = gates.triangle(weights, TITLE)
    (dots,) = lines(figure.axes[0], "records")
    height = 3**0.5 / 2
    expected = np.array([[0, 0], [1, 0], [0.5, height], [0.5, 0], [0.5, height / 3]])
    assert dots.get_xydata() == pytest.approx(expected)
    assert "60% of the records weigh one blade above 0.9,\n20% weigh all three" in texts(figure)
    assert "blade 3\nalone: 20%" in texts(figure)


@pytest.mark.parametrize(("n", "shown"), [(20_000, 20_000), (20_010, 2_001)])
def test_many_records_are_thinned_to_every_tenth(n, shown):
    (dots,) = lines(gates.triangle(gate(n, 3), TITLE).axes[0], "records")
    assert len(dots.get_xdata()) == shown
    both = hiding.two_multiplicities(np.ones(n), np.ones(n), rng(), TITLE)
    assert len(lines(both.axes[0], "records")[0].get_xdata()) == shown


def test_weight_histogram_has_100_bins_from_0_to_1_on_a_logarithmic_axis():
    figure = gates.weight_histogram(np.array([[0.0, 1.0], [0.005, 0.995], [0.505, 0.495]]), TITLE)
    counts, edges, _ = steps(figure.axes[0])
    assert (len(counts), edges[0], edges[-1]) == (100, 0, 1)
    assert (counts[0], counts[49], counts[50], counts[99]) == (2, 1, 1, 2)
    assert figure.axes[0].get_yscale() == "log"


def test_survival_is_the_share_of_records_with_a_larger_weight():
    weights = gate(300, 5)
    axis = gates.survival(weights, TITLE).axes[0]
    ordered = -np.sort(-weights, axis=1)
    assert axis.get_xlim() == (1e-4, 1.2)
    assert [line.get_label() for line in axis.lines] == ["largest", "second", "third", "fourth"]
    for rank, line in enumerate(axis.lines):
        at, share = line.get_data()
        slow = [(ordered[:, rank] > w).mean() for w in at]
        assert share == pytest.approx(np.array(slow))


def test_survival_has_no_more_curves_than_blades():
    assert len(gates.survival(gate(50, 2), TITLE).axes[0].lines) == 2


def test_co_assignment_counts_records_given_to_one_blade_by_both():
    a = np.array([[0.95, 0.05], [0.95, 0.05], [0.02, 0.98], [0.5, 0.5]])
    b = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [0.91, 0.09, 0.0], [1.0, 0.0, 0.0]])
    figure = gates.co_assignment([("a", a, "b", b)], TITLE)
    axis = figure.axes[0]
    assert axis.images[0].get_array().tolist() == [[0, 1], [0, 0], [2, 0]]
    assert [text.get_text() for text in axis.texts] == ["0", "1", "0", "0", "2", "0"]
    assert (axis.get_xlabel(), axis.get_ylabel()) == ("blade of a", "blade of b")
    assert "75% of the records" in texts(figure)


def test_co_assignment_of_many_cells_is_not_annotated():
    figure = gates.co_assignment([("a", gate(90, 12), "b", gate(90, 12))], TITLE)
    assert not figure.axes[0].texts


def test_entropy_histogram_has_50_bins_to_25_bits_and_more_where_needed():
    counts, edges, _ = steps(hiding.entropy_histogram(np.array([0.2, 6.0, 24.9]), TITLE).axes[0])
    assert (len(counts), edges[0], edges[-1], counts.sum()) == (50, 0, 25, 3)
    figure = hiding.entropy_histogram(np.array([6.0, 25.0, 31.2]), TITLE)
    counts, edges, _ = steps(figure.axes[0])
    assert (edges[-1], counts.sum(), counts[12], counts[50]) == (31.5, 3, 1, 1)
    assert np.diff(edges) == pytest.approx(0.5)
    assert "median 25.0 bits: one of about 34,000,000 alternatives" in texts(figure)


def test_two_multiplicities_shows_whole_numbers_broadened_by_half():
    multiplicity, bits = rng().integers(1, 500, 300), rng().uniform(0, 20, 300)
    axis = hiding.two_multiplicities(multiplicity, bits, rng(), TITLE).axes[0]
    (dots,) = lines(axis, "records")
    assert dots.get_xdata() == pytest.approx(2**bits)
    shift = dots.get_ydata() - multiplicity
    assert np.abs(shift).max() <= 0.5 and np.unique(shift).size == 300
    assert (axis.get_xscale(), axis.get_yscale()) == ("log", "log")
    assert axis.get_xlim() == (1, 1e7) and axis.get_ylim() == (0.3, 700)


def test_two_multiplicities_reaches_as_far_as_the_data():
    axis = hiding.two_multiplicities(np.array([5_000]), np.array([40.0]), rng(), TITLE).axes[0]
    assert axis.get_xlim()[1] > 2.0**40 and axis.get_ylim()[1] > 5_000


def test_two_multiplicities_counts_shares_over_all_records():
    figure = hiding.two_multiplicities(np.array([1, 1, 4, 8]), np.array([3.0, 20.0, 1.0, 20.0]), rng(), TITLE)
    assert "50% of the true records are unique" in texts(figure)
    assert "below 10: 50%, below 1,000: 50%" in texts(figure)


def test_effective_histogram_has_50_bins_over_the_data():
    values = np.array([1.0, 3.0, 4.0, 6.0, np.nan])
    figure = hiding.effective_histogram(values, TITLE)
    counts, edges, _ = steps(figure.axes[0])
    assert (len(counts), edges[0], edges[-1], counts.sum()) == (50, 1, 6, 4)
    assert "median $10^{3.5}$; below 10: 0%, below 1,000: 25%" in texts(figure)


def test_causal_ranks_are_cumulative_and_say_the_share_at_1_and_10():
    ranks = np.array([1, 5, 5, 10, 2_000])
    figure = hiding.causal_ranks({"plain": ranks}, 30_000, TITLE)
    axis = figure.axes[0]
    curve = next(line for line in axis.lines if line.get_drawstyle() == "steps-post")
    x, y = curve.get_data()
    assert x.tolist() == [1, 5, 10, 2_000, 30_000]
    assert y == pytest.approx([0.2, 0.6, 0.8, 1, 1])
    assert axis.get_xlim() == (1, 30_000) and axis.get_ylim() == (1e-3, 1)
    assert "plain: 20% at 1, 80% at 10, median 5" in texts(figure)
    assert [line.get_xydata().tolist() for line in axis.lines if line.get_marker() == "o"] == [
        [[1, 0.2]],
        [[10, 0.8]],
    ]


def test_causal_ranks_mark_no_share_below_the_axis():
    ranks = np.concatenate([[7], np.full(5_000, 400)])
    axis = hiding.causal_ranks({"a": ranks}, 30_000, TITLE).axes[0]
    assert not [line for line in axis.lines if line.get_marker() == "o"]


@pytest.mark.parametrize(
    ("n", "largest", "limit"), [(292_919, 900, 1e5), (292_919, 200_000, 200_000), (9, 3, 10)]
)
def test_causal_ranks_end_at_100000_or_at_the_data(n, largest, limit):
    figure = hiding.causal_ranks({"a": np.array([1, largest])}, n, TITLE)
    assert figure.axes[0].get_xlim() == (1, limit)


@pytest.mark.parametrize(
    ("share", "text"),
    [(0, "0%"), (0.00018, "0.018%"), (0.0123, "1.2%"), (0.5, "50%"), (0.9999, ">99%"), (1, "100%")],
)
def test_shares_are_written_with_two_figures(share, text):
    assert style.percent(share) == text


IDEAL = {"median": 0.1, "population_mean_abs": 1.35}
NEAR = {"population_mean_abs": [2.0, 1.5], "population_mean_abs_error": [0.1, 0.2]}
"""Rows of the accuracy table against the people held out."""


def test_frontier_marks_every_row_and_curve_as_multiples_of_the_ideal():
    points = pd.DataFrame(
        [
            ("marginals", "stationary", 0.0, 1.2, 6.0, 0.0),
            ("sweeps", "stationary", 1.0, 0.1, 1.3, 0.2),
            ("sweeps", "stationary", 20.0, 0.12, 1.4, 0.01),
            ("pass-through", "model_5_15", 0.5, 0.2, 2.5, 0.5),
        ],
        columns=["curve", "model", "parameter", "median", "population_mean_abs", "within_10"],
    )
    rows = pd.DataFrame({"within_10": [0.05, 0.3], "median": [0.3, 0.2], **NEAR})
    figure = frontier.draw(points, rows, IDEAL, {"paper: m": (3.8, 0.05)}, "title")
    drawn = {line.get_label(): line.get_xydata().tolist() for line in figure.axes[0].lines}
    assert np.allclose(drawn["independent marginals"], [[0, 12]])
    assert np.allclose(drawn["paper: m"], [[0.05, 3.8]])
    assert np.allclose(drawn["rows of the accuracy table"], [[0.05, 3], [0.3, 2]])
    assert np.allclose(drawn["stationary, number of sweeps"], [[0.2, 1], [0.01, 1.2]])
    written = {text.get_text() for text in figure.axes[0].texts}
    assert {"1", "20", "0.5", "bootstrap"} <= written
    below = figure.axes[1]
    drawn = {line.get_label(): line.get_xydata().tolist() for line in below.lines}
    assert drawn["independent marginals"] == [[0, 6]]
    assert drawn["rows of the accuracy table"] == [[0.05, 2.0], [0.3, 1.5]]
    assert drawn["stationary, number of sweeps"] == [[0.2, 1.3], [0.01, 1.4]]
    (bars,) = below.collections
    assert np.allclose(bars.get_segments()[1], [[0.3, 1.3], [0.3, 1.7]])
    levels = {text.get_text(): text.xy[1] for text in below.texts}
    assert (levels["bootstrap"], levels["the sample"]) == (1.35, 1)


def test_frontier_without_people_held_out_has_one_panel():
    rows = pd.DataFrame({"within_10": [0.05], "median": [0.3]} | dict.fromkeys(NEAR, np.nan))
    figure = frontier.draw(frontier.NO_CURVE, rows, IDEAL, {}, "title")
    assert len(figure.axes) == 1 and "share of synthetic records" in figure.axes[0].get_xlabel()


def test_frontier_without_any_curve_is_drawn():
    rows = pd.DataFrame({"within_10": [], "median": []} | {key: [] for key in NEAR})
    frontier.draw(frontier.NO_CURVE, rows, IDEAL, {}, "title")


def test_frontier_of_a_table_whose_ideal_is_perfect_is_drawn():
    points = pd.DataFrame(
        {"curve": ["sweeps"], "model": ["m"], "parameter": [1.0], "median": [0.1], "within_10": [1]}
    )
    points = points.assign(population_mean_abs=1.0)
    rows = pd.DataFrame({"within_10": [1.0], "median": [0.0], **{key: [1.0] for key in NEAR}})
    frontier.draw(points, rows, IDEAL | {"median": 0.0}, {}, "title")


def test_three_way_curves_are_the_sorted_medians():
    figure = three_way.draw({"a": np.array([0.3, 0.1]), "none": np.zeros(0)}, "title")
    line = figure.axes[0].lines[0]
    assert line.get_xdata().tolist() == [0.1, 0.3] and line.get_ydata().tolist() == [0.5, 1.0]
    assert "a: 0.200" in line.get_label()


def test_a_roc_curve_passes_between_its_corners_and_tells_its_area():
    distance, density, likelihood = attack_roc.draw({"plain": ROC}, TITLE).axes
    curve = distance.lines[0]
    at_one_percent = np.interp(0.01, *curve.get_data())
    assert at_one_percent == pytest.approx(0.05, rel=1e-3)
    assert distance.get_legend().get_texts()[0].get_text() == "plain: 0.70"
    for blank in (density, likelihood):
        assert blank.get_legend() is None and "no records" in [t.get_text() for t in blank.texts]


def test_every_row_is_a_point_of_risk_and_fidelity_with_its_bounds():
    figure = risk_fidelity.draw(RISKS, TITLE)
    axis = figure.axes[0]
    assert [t.get_text() for t in axis.texts] == [str(k + 1) for k in range(len(RISKS))]
    first, _, (bar,) = axis.containers[0]
    assert (first.get_xdata()[0], first.get_ydata()[0]) == (0.62, 1)
    assert bar.get_segments()[0][:, 0].tolist() == pytest.approx([0.61, 0.63])
    assert "14  marginals" in texts(figure)


TABLE = pd.DataFrame(
    [
        ("bootstrap", "", "all", 0.1, 0.2, 0.3, 1.0, 7, 1.35),
        ("m", "plain", "all", 0.4, 0.5, 0.6, 4.0, 5, 2.0),
        ("bootstrap", "", "between", 9.0, 9.0, 9.0, 1.0, 7, 9.0),
        ("m", "plain", "between", 9.0, 9.0, 9.0, 9.0, 5, 9.0),
    ],
    columns=[
        *("model", "variant", "cells", "median", "mean_abs", "rms", "ratio_median", "records"),
        "population_mean_abs",
    ],
).assign(population_mean_abs_error=0.1)
"""An accuracy table; its lines between questions are not what these figures show."""


def test_a_panel_has_the_cells_of_its_row_and_the_measures_over_all_cells():
    cells = pd.DataFrame(
        {
            "first": pd.Categorical(["A=1", "A=1"]),
            "second": pd.Categorical(["A=1", "B=1"]),
            "true": [3, 2],
            "scaled": [3.5, 1.5],
        }
    )
    ideal, plain = crosstabs.panels(TABLE, ["bootstrap", "m/plain"], [cells, cells[:1]])
    assert (ideal.name, ideal.measures, ideal.ratio) == ("bootstrap", (0.1, 0.2, 0.3), 1)
    assert (plain.name, plain.measures, plain.ratio) == ("m, plain", (0.4, 0.5, 0.6), 4)
    assert ideal.univariate.tolist() == [True, False] and len(plain.true) == 1
    assert (ideal.true.tolist(), ideal.synthetic.tolist()) == ([3, 2], [3.5, 1.5])
    assert ideal.records == plain.records == 7, "counts are scaled to the true records"


def test_the_matrix_of_merits_is_symmetric():
    found = merit.symmetric(np.array([1.0, 2, 3, 4, 5, 6]), 3)
    assert found.tolist() == [[1, 2, 3], [2, 4, 5], [3, 5, 6]]


def test_models_stand_two_by_two():
    a, b, c, d = (gate(3, k) for k in (2, 3, 4, 5))
    first, second = gates.two_by_two(["a", "b", "c", "d"], [a, b, c, d])
    assert (first[0], first[2], second[0], second[2]) == ("a", "b", "c", "d")
    assert first[1] is a and first[3] is b and second[1] is c and second[3] is d


def test_ranks_are_of_the_records_that_were_ranked():
    hidden = pd.DataFrame({"causal_rank": [4.0, np.nan, 1.0]})
    found = hiding.ranks(["m, plain"], [hidden])
    assert found["m, plain"].tolist() == [4, 1] and found["m, plain"].dtype == np.int64
    assert hiding.records(TABLE) == 7


def test_medians_of_triples_leave_out_those_without():
    found = three_way.medians(["m"], [pd.DataFrame({"median": [0.2, np.nan]})])
    assert found["m"].tolist() == [0.2]


def test_risk_stands_beside_the_ratio_of_medians():
    attacked = pd.DataFrame(
        [
            ("bootstrap", "", "closer_to_train", 0.6),
            ("m", "plain", "closer_to_train", 0.5),
            ("m", "plain", "another", 0.9),
            ("marginals", "", "closer_to_train", 0.4),
            ("unknown", "row", "closer_to_train", 0.3),
        ],
        columns=["model", "variant", "measure", "value"],
    )
    shuffled = pd.DataFrame({"log_ratio": [-0.8, 0.1, 0.9]})
    found = risk_fidelity.placed(TABLE, attacked, shuffled)
    assert found["name"].tolist() == ["bootstrap", "m/plain", "marginals", "unknown/row"]
    assert found["end"].tolist() == [True, False, True, False]
    assert found["ratio"].tolist() == pytest.approx([1, 4, 8, np.nan], nan_ok=True)
    assert found["value"].tolist() == [0.6, 0.5, 0.4, 0.3]


def test_the_papers_points_are_the_rows_of_which_it_says_both():
    published = {
        "persons": {
            "bootstrap": {"median": 0.012},
            "m/plain": {"median": 0.046, "within_10": 0.05},
            "m/other": {"median": 0.03},
        },
        "housing": {"bootstrap": {"median": 0.01}, "h/swapped": {"median": 0.02, "within_10": 0.2}},
    }
    assert frontier.papers(published) == {
        "paper: m (Texas 2022)": (3.8, 0.05),
        "paper: h/swapped (Texas 2022)": (2.0, 0.2),
    }
    assert frontier.papers({}) == {}
    assert list(frontier.papers(read_yaml(ROOT / "workflow/published/accuracy.yaml")).values()) == [
        (3.8, 0.05)
    ]


def test_the_frontier_is_drawn_of_rows_that_were_drawn_and_over_all_cells():
    hidden = pd.DataFrame({"model": ["m"], "variant": ["plain"], "within_10": [0.3]})
    frames = [TABLE, hidden]
    above, below = frontier.frontier_figure(Given(TITLE, [], frames, codebook_of(2, 2), 1)).axes
    for axis, y in ((above, 4), (below, 2)):
        drawn = {line.get_label(): line.get_xydata().tolist() for line in axis.lines}
        assert np.allclose(drawn["rows of the accuracy table"], [[0.3, y]])


def test_the_heat_map_follows_the_codebooks_order():
    book = codebook_of(1, 2)
    ordered = type(book)(book.question_set, book.questions, heat_map_order=("B",))
    cells = pd.DataFrame({"merit": [1.0, 2, 3, 4, 5, 6]})
    figure = merit.merit_heatmap_figure(Given(TITLE, ["m/plain"], [cells], ordered, 1))
    assert figure.axes[0].images[0].get_array().tolist() == [[4, 5, 2], [5, 6, 3], [2, 3, 1]]
    assert texts(figure).count("m, plain") == 1


def test_a_figures_random_stream_is_its_own_and_begins_anew():
    first, again, other = (Given("t", [name], [], codebook_of(2), 1).rng.random() for name in ("a", "a", "b"))
    assert first == again != other


@pytest.mark.parametrize("name", registry.KINDS)
def test_every_kind_has_its_function_and_its_caption(name):
    kind = registry.KINDS[name]
    assert callable(kind.function()) and kind.caption.endswith(".")
    assert kind.module.startswith("modp.figures.")
    several = [pattern for pattern in kind.reads if "{of}" in pattern]
    # The table of estimates has all rows.
    of_all = kind.of in (registry.Of.RUN, registry.Of.PARTS, registry.Of.HOUSEHOLDS, registry.Of.UTILITY)
    assert bool(several) != of_all or name == "estimates"


def test_a_kind_reads_its_files_in_order():
    kind = registry.KINDS["causal_rank"]
    assert kind.files(["a/b", "c/d"], ["x"]) == [
        "tables/accuracy.parquet",
        "measures/a/b/privacy.parquet",
        "measures/c/d/privacy.parquet",
    ]
    traced = registry.KINDS["frontier"].files([], ["x", "y"])
    assert traced[2:] == ["frontier/x.parquet", "frontier/y.parquet"]
    assert registry.KINDS["overview"].files([], []) == ["tables/accuracy.parquet"]


def test_figures_that_nobody_asks_for_have_names_that_nobody_can_take():
    of = registry.Of
    drawn = registry.drawn_by_every_run({of.ROWS: ["r"], of.MODELS: ["a", "b"], of.CHAINS: ["b", "c"]})
    assert drawn["accuracy"] == ("overview", []) and drawn["three_way"] == ("three_way", ["r"])
    assert drawn["mixing_b"] == ("mixing", ["b"]) and drawn["mixing_c"] == ("mixing", ["c"])
    assert drawn["training"] == ("training", ["a", "b"])
    assert all(registry.is_taken(name) for name in drawn) and not registry.is_taken("mixed")
    assert not {kind for kind, _ in drawn.values()} & set(registry.asked_for())


def test_the_registry_loads_nothing_that_draws():
    program = (
        "import sys, modp.figures.registry\n"
        "print(*sorted({'matplotlib', 'pandas', 'torch', 'numpy', 'pydantic'} & set(sys.modules)))"
    )
    outcome = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert outcome.stdout.split() == []


def test_a_new_kind_is_one_line_and_one_function(tmp_path, monkeypatch):
    (tmp_path / "toy_figure.py").write_text(
        "from modp.figures import style\n"
        "def toy_figure(given):\n"
        "    figure, axis = style.single(given.headed, 1.0)\n"
        "    axis.plot(given.frames[0]['x'])\n"
        "    return figure\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    toy = registry.Kind(
        registry.Of.ROWS,
        registry.Shows.ONE,
        ("measures/{of}/toy.parquet",),
        "toy_figure:toy_figure",
        "A toy.",
    )
    monkeypatch.setitem(registry.KINDS, "toy", toy)
    params = load(ROOT / "params.yaml", Params)
    wanted = FigureRecipe(kind="toy", of=["model_5_15/plain"])
    Params.model_validate(params.model_dump() | {"figures": {"mine": wanted.model_dump()}})
    (file,) = toy.files(wanted.of, [])
    (tmp_path / file).parent.mkdir(parents=True)
    pd.DataFrame({"x": [1.0, 3.0, 2.0]}).to_parquet(tmp_path / file)
    (tmp_path / "codebook.json").write_text(codebook_of(2, 2).to_json())
    out = [tmp_path / "mine.png", tmp_path / "mine.pdf"]
    arguments = ["figure", "--kind", "toy", "--title", TITLE, "--codebook", tmp_path / "codebook.json"]
    arguments += [
        "--seed",
        1,
        "--published",
        "--names",
        *wanted.of,
        "--inputs",
        tmp_path / file,
        "--out",
        *out,
    ]
    assert main([str(a) for a in arguments]) == 0
    assert out[0].read_bytes().startswith(b"\x89PNG") and out[1].read_bytes().startswith(b"%PDF")
    assert not plt.get_fignums(), "a process that draws many figures keeps none"


@pytest.mark.parametrize("ratio", [np.nan, np.inf, 0.0])
def test_rows_of_a_few_records_have_an_overview_although_their_ratios_are_none(ratio):
    ratios = {f"ratio_{m}": [ratio, 2.0] for m in ("median", "mean_abs", "rms")}
    for rows in (slice(0, 1), slice(0, 2)):
        table = pd.DataFrame({"cells": "between", "model": "m", "variant": ["a", "b"], **ratios})[rows]
        drawn = overview.draw(table, "few")
        assert drawn.axes[0].get_xlim()[0] < 1 < drawn.axes[0].get_xlim()[1]
        plt.close(drawn)


def test_shares_of_households_stand_beside_the_true_ones(tmp_path):
    table = pd.DataFrame(
        {
            "share": ["impossible", "three", "unknown"],
            "true": [0, 0.03, np.nan],
            "m/a": [0.001, 0.025, np.nan],
        }
    )
    figure = shares.shares_figure(Given(TITLE, ["m/a"], [table], codebook_of(2), 1))
    (axis,) = figure.axes
    drawn = {line.get_label(): line.get_xdata() for line in axis.lines}
    assert drawn["true"].tolist() == [0, 0.03] and drawn["m, a"].tolist() == [0.001, 0.025]
    assert [text.get_text() for text in axis.get_yticklabels()] == ["impossible", "three"]
    style.save(figure, tmp_path / "shares.png")
    style.close(figure)
