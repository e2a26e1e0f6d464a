import itertools

import numpy as np
from conftest import codes_of
from hypothesis import given, settings
from hypothesis import strategies as st

from modp import triples

SIZES = np.array([2, 3, 2, 4])


def table(n: int, seed: int) -> np.ndarray:
    return codes_of(SIZES, n, np.random.default_rng(seed))


@settings(deadline=None)
@given(st.integers(0, 60), st.integers(0, 10**6))
def test_counts_equal_the_slow_ones(n, seed):
    codes = table(n, seed)
    for triple in itertools.combinations(range(4), 3):
        cells = list(itertools.product(*(range(SIZES[q]) for q in triple)))
        slow = [(codes[:, list(triple)] == cell).all(axis=1).sum() for cell in cells]
        assert triples.counts(codes, triple, SIZES).tolist() == slow


def test_comparison_by_hand():
    true = np.repeat([[0, 0, 0], [1, 1, 1], [1, 2, 0]], [30, 25, 5], axis=0)
    synthetic = np.repeat([[0, 0, 0], [1, 1, 1]], [20, 10], axis=0)  # scaled by two
    found = triples.compare(true, synthetic, SIZES[:3], np.array([[0, 1, 2]]))
    d = [np.log(41 / 31), np.log(26 / 21)]
    assert found.cells.cells == 2  # the third cell has too few true records to be judged
    assert np.isclose(found.cells.median, np.mean(d))
    assert np.isclose(found.cells.rms, np.sqrt(np.mean(np.square(d))))
    assert found.triples.to_dict("records")[0] == {
        **{"first": 0, "second": 1, "third": 2, "cells": 2},
        "median": found.cells.median,
    }


def test_all_triples_are_taken_up_to_a_limit_and_a_sample_beyond():
    assert len(triples.chosen(4, np.random.default_rng(0))) == 4
    many = triples.chosen(38, np.random.default_rng(0))
    assert many.shape == (triples.MOST, 3) and len(np.unique(many, axis=0)) == triples.MOST
    assert (np.diff(many, axis=1) > 0).all()
    assert triples.chosen(2, np.random.default_rng(0)).shape == (0, 3)


def test_nothing_to_compare_gives_nan():
    true = table(100, 1)
    assert np.isnan(triples.compare(true, true[:0], SIZES, np.array([[0, 1, 2]])).cells.median)
    assert np.isnan(triples.compare(true[:5], true, SIZES, np.array([[0, 1, 2]])).cells.median)


def test_summary_of_no_triples_is_nan():
    assert triples.compare(table(9, 1), table(9, 2), SIZES, np.zeros((0, 3), int)).cells.cells == 0
