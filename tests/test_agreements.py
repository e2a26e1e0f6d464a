"""How many answers records share, against a slow count, whatever they are laid out in."""

import numpy as np
import pytest

from modp.crosstabs import agreements


@pytest.mark.parametrize(
    ("questions", "codes"), [(5, (0, 3)), (5, (0, 255)), (5, (0, 300)), (5, (-1, 3)), (260, (0, 2))]
)
def test_shared_answers_are_those_of_a_slow_count(monkeypatch, questions, codes):
    monkeypatch.setattr(agreements, "PAIRS_AT_ONCE", 500)
    monkeypatch.setattr(agreements, "LAID_OUT", 40)
    rng = np.random.default_rng(questions)
    table, points = (rng.integers(*codes, (n, questions), endpoint=True).astype(np.int16) for n in (90, 20))
    points[:3], table[:2, 0] = table[5], codes[1]
    shared = (points[:, None] == table).sum(axis=2)
    least = shared[:, 7]
    assert np.array_equal(agreements.at_least(table, points, least), (shared >= least[:, None]).sum(axis=1))
    assert np.array_equal(agreements.most(table, points), shared.max(axis=1))
    slow = [np.bincount(row, minlength=questions + 1) for row in shared]
    assert np.array_equal(agreements.numbers(table, points), slow)
    assert np.array_equal(
        np.concatenate([found for _, found in agreements.agreements(table, points)]), shared
    )
    assert agreements.most(table[:0], points).tolist() == [0] * len(points)


def test_the_nearest_rows_vote_on_an_answer_that_is_left_out(monkeypatch):
    rng = np.random.default_rng(2)
    table, points = (rng.integers(0, 3, (n, 5)).astype(np.int16) for n in (200, 30))
    others = np.array([0, 1, 3, 4])
    shared = (points[:, None, others] == table[:, others]).sum(axis=2)
    nearest = shared == shared.max(axis=1, keepdims=True)
    slow = np.array([[(near & (table[:, 2] == answer)).sum() for answer in range(3)] for near in nearest])
    for rows in (7, 1000):
        monkeypatch.setattr(agreements, "LAID_OUT", rows)
        assert np.array_equal(agreements.votes(table, points, 2), slow)
    assert slow.sum(axis=1).max() > 1
    assert agreements.votes(table[:0], points, 2).tolist() == np.zeros((30, 3)).tolist()
