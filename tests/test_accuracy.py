"""A table of three questions and six records, with everything worked out by hand."""

import math

import numpy as np
import pytest
from conftest import codebook_of, codes_of, records_of
from hypothesis import given
from hypothesis import strategies as st

from modp.crosstabs import pairs
from modp.crosstabs.cells import structural_zeros
from modp.draws import independent, postprocess
from modp.measures import accuracy

SIZES = (2, 2, 3)
STARTS = codebook_of(*SIZES).block_starts
#                  A  B  C
CODES = np.array([[0, 0, 0], [0, 0, 1], [0, 1, 1], [1, 1, 1], [1, 1, 2], [1, 1, 2]], np.int16)
TRUE = records_of(CODES, SIZES)
SYNTHETIC = TRUE.of(np.array([[0, 0, 0], [0, 0, 0], [0, 1, 2], [1, 1, 1]], np.int16))

# columns:           A1 A2 B1 B2 C1 C2 C3
TRUE_COUNTS = [
    [3, 0, 2, 1, 1, 2, 0],
    [0, 3, 0, 3, 0, 1, 2],
    [2, 0, 2, 0, 1, 1, 0],
    [1, 3, 0, 4, 0, 2, 2],
    [1, 0, 1, 0, 1, 0, 0],
    [2, 1, 1, 2, 0, 3, 0],
    [0, 2, 0, 2, 0, 0, 2],
]


def test_crosstab_by_hand():
    assert pairs.crosstab(TRUE).tolist() == TRUE_COUNTS


def test_structural_zeros_by_hand():
    zeros = structural_zeros(np.array(TRUE_COUNTS), STARTS)
    found = {(i, j) for i, j in zip(*np.nonzero(zeros), strict=True) if i < j}
    assert found == {(0, 6), (1, 2), (1, 4), (2, 6), (3, 4)}
    assert postprocess.violations(SYNTHETIC, zeros).tolist() == [False, False, True, False]
    assert not postprocess.violations(TRUE, zeros).any()


def test_log_discrepancy_by_hand_scales_to_equal_totals():
    counts = pairs.crosstab(SYNTHETIC)
    scaled = accuracy.scaled(counts, 6, 4)
    d = accuracy.log_ratio(np.array(TRUE_COUNTS), scaled)
    assert counts[0, 2] == 2 and scaled[0, 2] == 3
    assert d[0, 2] == pytest.approx(math.log((3 + 1) / (2 + 1)))
    assert d[1, 6] == pytest.approx(math.log((0 + 1) / (2 + 1)))
    assert d[0, 1] == 0


def test_z_value_by_hand():
    # 20 of 100 against 30 of 200; one pseudocount in 100 records: p1 = .21, p2 = .16, pooled = 53/300
    z = accuracy.z_value(np.array([20]), np.array([30]), 100, 200)
    pooled = 53 / 300
    expected = (32 / 200 - 21 / 100) / math.sqrt(pooled * (1 - pooled) * (1 / 100 + 1 / 200))
    assert z == pytest.approx([expected])
    assert expected == pytest.approx(-1.0704, abs=1e-4)


def test_z_value_is_zero_where_everybody_gives_the_answer():
    assert accuracy.z_value(np.array([50]), np.array([50]), 50, 50).tolist() == [0.0]


def test_z_value_of_equal_proportions_is_zero_whatever_the_totals():
    z = accuracy.z_value(np.array([0, 12, 600]), np.array([0, 5, 250]), 12_000, 5_000)
    assert z == pytest.approx([0, 0, 0])


def test_figure_of_merit_by_hand():
    merit = accuracy.figure_of_merit(np.array([0.1, 0.2, 0.0, 0.05]), np.array([1.0, 2.0, 3.0, 0.0]))
    assert merit == pytest.approx([1.0, 2.0, 0.0, 0.0])


def test_summary_takes_the_root_mean_square_about_zero():
    summary = accuracy.summarise(np.array([-0.3, -0.1, 0.1, 0.3, -0.2]))
    assert (summary.cells, summary.measures["median"]) == (5, 0.2)
    assert summary.measures["mean_abs"] == pytest.approx(0.2)
    assert summary.measures["rms"] == pytest.approx(math.sqrt(0.24 / 5))
    assert accuracy.Summary.from_dict(summary.to_dict()) == summary


def test_crosstabs_of_different_totals_are_compared_by_hand():
    found = accuracy.compared(np.array([[3, 1], [1, 1]]), np.array([[1, 0], [0, 0]]), n_true=4, n_synthetic=2)
    d = [math.log(4 / 3), math.log(2), math.log(2)]
    assert found.cells == 3 and found.measures["median"] == pytest.approx(d[1])
    assert found.measures["mean_abs"] == pytest.approx(sum(d) / 3)


def test_cell_sets_count_the_papers_cells_and_those_between_questions():
    sets = accuracy.cell_sets(STARTS)
    assert sets["all"].sum() == 7 * 8 // 2
    assert sets["between"].sum() == 2 * 2 + 2 * 3 + 2 * 3


def test_the_notebooks_rms_is_the_spread_of_signed_log_ratios_about_their_mean():
    # mean -0.2, deviations -0.1 and 0.1; about zero it would be sqrt((0.09 + 0.01) / 2)
    measures = accuracy.summarise(np.array([-0.3, -0.1]), paper_notebook=True).measures
    assert measures["rms"] == pytest.approx(0.1)
    assert measures["median"] == measures["mean_abs"] == pytest.approx(0.2)


def test_the_notebook_counts_every_pair_of_categories_twice():
    # cells (1, 1), (1, 2), (2, 2) of one question: 0.1, 0.5, 0.3; the square is 0.1, 0.5, 0.5, 0.3
    some = accuracy.cell_sets(codebook_of(2).block_starts, paper_notebook=True)
    found = accuracy.summarise(np.array([0.1, 0.5, 0.3])[some["all"]], paper_notebook=True)
    assert (found.cells, len(some["between"])) == (4, 0)
    assert found.measures["median"] == pytest.approx(0.4)
    assert found.measures["mean_abs"] == pytest.approx(0.35)
    sets = accuracy.cell_sets(STARTS, paper_notebook=True)
    assert len(sets["all"]) == 7 * 7 and len(sets["between"]) == 2 * (2 * 2 + 2 * 3 + 2 * 3)


def test_the_notebook_does_not_scale_counts():
    # 3 of 4 synthetic records, 2 of 6 true ones: ln(4 / 3) instead of ln(5.5 / 3)
    for paper_notebook, expected in ((True, math.log(4 / 3)), (False, math.log(5.5 / 3))):
        judged = accuracy.scaled(np.array([3]), 6, 4, paper_notebook)
        assert accuracy.log_ratio(np.array([2]), judged) == pytest.approx([expected])
    assert np.isnan(accuracy.scaled(np.array([0]), 6, 0, paper_notebook=True)).all()


def test_the_notebooks_figure_of_merit_lacks_the_factor_two():
    # d = 0.2, z = 2: 1 / (0.1 / 0.2 + 1 / 2) = 1, the paper's 2
    merit = accuracy.figure_of_merit(np.array([0.2, 0.0]), np.array([2.0, 3.0]), paper_notebook=True)
    assert merit == pytest.approx([1.0, 0.0])


def test_no_synthetic_record_gives_nan_not_zero():
    counts = pairs.crosstab(TRUE[:0])
    d = accuracy.log_ratio(np.array(TRUE_COUNTS), accuracy.scaled(counts, 6, 0))
    assert np.isnan(d).all()
    assert np.isnan(accuracy.z_value(np.array(TRUE_COUNTS), counts, 6, 0)).all()


def test_entropy_by_hand():
    probabilities = np.array([[0.5, 0.5, 1.0, 0.0, 0.25, 0.25, 0.5]])
    assert independent.entropy_bits(probabilities) == pytest.approx([1 + 0 + 1.5])


def test_record_sums_count_each_pair_of_answers_once():
    cells = np.arange(49.0).reshape(7, 7)
    cells = cells + cells.T
    expected = cells[0, 2] + cells[0, 5] + cells[2, 5]
    assert pairs.record_sums(TRUE[1:2], cells) == pytest.approx([expected])


@given(st.lists(st.integers(1, 4), min_size=2, max_size=5), st.integers(0, 60), st.integers(0, 2**32 - 1))
def test_crosstab_equals_the_slow_count(sizes, n, seed):
    starts = codebook_of(*sizes).block_starts
    rng = np.random.default_rng(seed)
    codes = codes_of(sizes, n, rng)
    slow = np.zeros((starts[-1], starts[-1]), int)
    for row in codes + starts[:-1]:
        for i in row:
            for j in row:
                slow[i, j] += 1
    assert (pairs.crosstab(records_of(codes, sizes)) == slow).all()


def test_counts_stay_exact_over_many_chunks():
    many = TRUE.of(np.zeros((3 * pairs.ROWS_AT_ONCE + 1, 3), np.int16))
    assert pairs.crosstab(many)[0, 2] == len(many)
