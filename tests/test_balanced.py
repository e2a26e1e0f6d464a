"""Balanced draws: n of many records drawn, whose crosstab is the expected one."""

import inspect
import itertools

import numpy as np
import pytest
from conftest import codes_of

from modp.crosstabs.pairs import counts
from modp.draws.balanced import chosen, mended

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


def at_random(seed: int, opened: list[np.ndarray]):
    """Redraws open answers evenly, and notes which were open."""

    def redraw(codes: np.ndarray, held: np.ndarray, number: int) -> np.ndarray:
        rng = np.random.default_rng([seed, number])
        opened.append(~held)  # of an array that is used again
        return np.where(held, codes, codes_of(SIZES, len(codes), rng))

    return redraw


def test_answers_are_redrawn_singly_and_kept_where_the_crosstab_gains():
    drawn, opened = drawn_of(10_000), []
    first = drawn[:500].copy()
    codes = mended(first, expected(drawn, 500), at_random(1, opened), STARTS, np.random.default_rng(1))
    assert discrepancy(codes, drawn) < 0.2 * discrepancy(first, drawn)
    np.testing.assert_array_equal(first, drawn[:500])
    assert all((asked.sum(axis=1) == 1).all() for asked in opened)
    passes = np.array(opened).reshape(-1, 4, 500, 4).sum(axis=1)
    assert (passes == 1).all() and len(passes) > 2, "each answer once a pass"


def test_one_answer_is_mended_by_hand():
    # A record of each pair is expected; (0, 0) stands twice, so one of them becomes the missing (0, 1).
    codes = np.array([[0, 0], [0, 0], [1, 0], [1, 1]], np.int16)
    starts, all_pairs = np.array([0, 2, 4]), np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.int16)
    other = lambda now, held, _: np.where(held, now, 1 - now).astype(np.int16)  # noqa: E731
    fixed = mended(codes, counts(all_pairs, starts), other, starts, np.random.default_rng(1))
    assert sorted(map(tuple, fixed.tolist())) == sorted(map(tuple, all_pairs.tolist()))


def test_what_is_as_expected_or_cannot_be_redrawn_stays():
    drawn = drawn_of(300)
    same = lambda codes, *_: codes  # noqa: E731
    for redraw, wanted in (
        (at_random(2, []), counts(drawn, STARTS)),
        (same, expected(drawn_of(900, 2), 300)),
    ):
        codes = mended(drawn, wanted, redraw, STARTS, np.random.default_rng(1))
        np.testing.assert_array_equal(codes, drawn)
    assert len(mended(drawn[:0], expected(drawn, 0), same, STARTS, np.random.default_rng(1))) == 0
