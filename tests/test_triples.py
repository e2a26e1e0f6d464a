import itertools

import numpy as np
import pytest
import torch
from conftest import codes_of, records_of
from hypothesis import given
from hypothesis import strategies as st

from modp.crosstabs import gpu_counts, pairs, triples
from modp.measures import three_way
from modp.survey.records import Records

SIZES = np.array([2, 3, 2, 4])


def table(n: int, seed: int) -> Records:
    return records_of(codes_of(SIZES, n, np.random.default_rng(seed)), SIZES)


@given(st.integers(0, 60), st.integers(0, 10**6))
def test_counts_equal_the_slow_ones(n, seed):
    codes, slow = table(n, seed).codes, []
    for triple in itertools.combinations(range(4), 3):
        cells = list(itertools.product(*(range(SIZES[q]) for q in triple)))
        slow += [(codes[:, list(triple)] == cell).all(axis=1).sum() for cell in cells]
    every = triples.every(4)
    assert triples.counts(codes, every, SIZES).tolist() == slow
    places = triples.ends(every, SIZES)
    assert places.tolist() == [0, 12, 36, 52, 76]
    assert triples.counts(codes, every[1:2], SIZES).tolist() == slow[places[1] : places[2]]
    assert gpu_counts.triples_on(torch.device("cpu"), codes, every, SIZES).tolist() == slow
    weights = np.random.default_rng(seed).uniform(0, 2, n)
    whole = triples.counts(codes, every, SIZES, weights=weights)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(triples, "ROWS_AT_ONCE", 7)
        assert triples.counts(codes, every, SIZES).tolist() == slow
        assert np.array_equal(triples.counts(codes, every, SIZES, weights=weights), whole)


@given(st.integers(0, 60), st.integers(0, 10**6))
def test_the_gpus_path_counts_pairs_as_the_kernel_does(n, seed):
    records = table(n, seed)
    counted = gpu_counts.counts_on(torch.device("cpu"), records.codes, records.block_starts)
    assert np.array_equal(counted, pairs.crosstab(records))


def test_threads_share_the_triples_without_influence(monkeypatch):
    codes, every = table(500, 1).codes, triples.every(4)
    one = triples.counts(codes, every, SIZES)
    monkeypatch.setattr(triples, "AT_ONCE", 1)
    assert np.array_equal(one, triples.counts(codes, every, SIZES, 3))
    assert one.sum() == 4 * len(codes)


def test_misfit_by_hand():
    true, found = np.array([40, 19, 60, 20, 20]), np.array([60, 500, 60, 5, 20])
    places = np.array([0, 3, 5])
    # Cells with 19 true records do not count: 400/100 - 1 - 1, and 225/25 - 1 - 1, over sqrt(2 x 2).
    assert np.allclose(triples.misfit(true, found, places), [1.0, 3.5])
    assert len(triples.misfit(true[:0], found[:0], np.array([0]))) == 0
    assert triples.misfit(true[1:2], found[1:2], np.array([0, 1])).tolist() == [0]


def test_misfit_of_equal_distributions_is_noise():
    rng, p = np.random.default_rng(2), np.full(60, 1 / 60)
    places, scores = np.arange(0, 61, 20), []
    for _ in range(300):
        scores.append(triples.misfit(rng.multinomial(6000, p), rng.multinomial(6000, p), places))
    # 900 values of mean 0 (less one degree of freedom of 60) and standard deviation 1.
    assert abs(np.mean(scores) + 1 / 60 * 20 / np.sqrt(40)) < 0.15
    assert 0.9 < np.std(scores) < 1.1


def test_comparison_by_hand():
    true = records_of(np.repeat([[0, 0, 0], [1, 1, 1], [1, 2, 0]], [30, 25, 5], axis=0), SIZES[:3])
    synthetic = true.of(np.repeat([[0, 0, 0], [1, 1, 1]], [20, 10], axis=0))  # scaled by two
    found = three_way.compare(true, synthetic, np.array([[0, 1, 2]]))
    d = [np.log(41 / 31), np.log(26 / 21)]
    assert found.cells.cells == 2  # the third cell has too few true records to be judged
    assert np.isclose(found.cells.measures["median"], np.mean(d))
    assert np.isclose(found.cells.measures["rms"], np.sqrt(np.mean(np.square(d))))
    assert found.triples.to_dict("records")[0] == {
        **{"first": 0, "second": 1, "third": 2, "cells": 2},
        "median": found.cells.measures["median"],
    }


def test_tables_are_held_a_part_at_a_time_without_influence(monkeypatch):
    true, synthetic, every = table(3000, 1), table(3000, 2), triples.every(4)
    whole = three_way.compare(true, synthetic, every)
    assert [len(part) for part in triples.parts(every, SIZES)] == [4]
    monkeypatch.setattr(triples, "CELLS_AT_ONCE", 30)
    split = list(triples.parts(every, SIZES))
    assert [len(part) for part in split] == [2, 2] and np.array_equal(np.concatenate(split), every)
    again = three_way.compare(true, synthetic, every)
    assert whole.cells == again.cells and whole.triples.equals(again.triples)
    assert [part.shape for part in triples.parts(every[:0], SIZES)] == [(0, 3)]


def test_all_triples_are_taken_up_to_a_limit_and_a_sample_beyond():
    assert len(three_way.chosen(4, np.random.default_rng(0))) == 4
    many = three_way.chosen(38, np.random.default_rng(0))
    assert many.shape == (three_way.MOST, 3) and len(np.unique(many, axis=0)) == three_way.MOST
    assert (np.diff(many, axis=1) > 0).all()
    assert three_way.chosen(2, np.random.default_rng(0)).shape == (0, 3)


def test_nothing_to_compare_gives_nan():
    true = table(100, 1)
    assert np.isnan(three_way.compare(true, true[:0], np.array([[0, 1, 2]])).cells.measures["median"])
    assert np.isnan(three_way.compare(true[:5], true, np.array([[0, 1, 2]])).cells.measures["median"])


def test_summary_of_no_triples_is_nan():
    assert three_way.compare(table(9, 1), table(9, 2), np.zeros((0, 3), int)).cells.cells == 0
