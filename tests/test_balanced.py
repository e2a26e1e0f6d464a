"""Balanced draws: n of many records drawn, whose crosstab is the expected one."""

import inspect
import itertools

import numpy as np
import pytest
from conftest import codes_of

from modp.crosstabs.pairs import counts
from modp.draws.balanced import chosen

SIZES = (3, 4, 2, 6)
STARTS = np.array([0, 3, 7, 9, 15])


def discrepancy(codes: np.ndarray, drawn: np.ndarray) -> float:
    expected = counts(drawn, STARTS) * (len(codes) / len(drawn))
    upper = np.triu_indices(len(expected))
    return (((counts(codes, STARTS) - expected) ** 2) / (expected + 1))[upper].sum()


def expected(drawn: np.ndarray, n: int, starts: np.ndarray = STARTS) -> np.ndarray:
    return counts(drawn, starts) * (n / max(len(drawn), 1))


def drawn_of(n: int, seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    codes = codes_of(SIZES, n, rng)
    codes[:, 3] = np.where(rng.random(n) < 0.5, codes[:, 0], codes[:, 3])
    return codes


def test_the_noise_of_a_draw_is_taken_out():
    drawn = drawn_of(10_000)
    rows = chosen(drawn, expected(drawn, 500), 500, STARTS, np.random.default_rng(1))
    assert len(np.unique(rows)) == 500
    assert discrepancy(drawn[rows], drawn) < 0.1 * discrepancy(drawn[:500], drawn)


def test_a_hand_made_pool_is_balanced_exactly():
    # Of two questions with two answers all four pairs are drawn equally often: one of each is expected.
    pairs = np.array([[0, 0], [0, 0], [0, 0], [0, 0], [0, 1], [1, 0], [1, 1], [0, 1], [1, 0], [1, 1]])
    drawn = np.concatenate([pairs, [[0, 1], [1, 0], [1, 1], [0, 1], [1, 0], [1, 1]]]).astype(np.int16)
    starts = np.array([0, 2, 4])
    rows = chosen(drawn, expected(drawn, 4, starts), 4, starts, np.random.default_rng(1))
    assert sorted(map(tuple, drawn[rows].tolist())) == [(0, 0), (0, 1), (1, 0), (1, 1)]


def test_the_reported_discrepancy_falls_and_is_that_of_the_records_chosen():
    drawn, told = drawn_of(6_000), []
    rows = chosen(
        drawn, expected(drawn, 300), 300, STARTS, np.random.default_rng(2), report=lambda _, d: told.append(d)
    )
    assert all(later <= earlier for earlier, later in itertools.pairwise(told))
    assert told[-1] == pytest.approx(discrepancy(drawn[rows], drawn))


def test_the_choice_is_a_function_of_what_was_drawn_on_any_number_of_threads():
    drawn = drawn_of(40_000)
    one, two = (
        chosen(drawn, expected(drawn, 2_000), 2_000, STARTS, np.random.default_rng(3), threads)
        for threads in (1, 2)
    )
    np.testing.assert_array_equal(one, two)
    assert list(inspect.signature(chosen).parameters)[:5] == ["drawn", "expected", "n", "block_starts", "rng"]


def test_a_pool_with_nothing_to_spare_is_left_as_it_is():
    drawn = drawn_of(100)
    np.testing.assert_array_equal(
        chosen(drawn, expected(drawn, 100), 100, STARTS, np.random.default_rng(1)), np.arange(100)
    )
    assert len(chosen(drawn[:0], expected(drawn[:0], 0), 0, STARTS, np.random.default_rng(1))) == 0
