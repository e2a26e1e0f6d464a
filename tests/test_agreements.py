"""How many answers records share, against a slow count, whatever they are laid out in."""

import numpy as np
import pytest

from modp.crosstabs import agreements


@pytest.mark.parametrize(
    ("questions", "codes"), [(5, (0, 3)), (5, (0, 255)), (5, (0, 300)), (5, (-1, 3)), (260, (0, 2))]
)
def test_shared_answers_are_those_of_a_slow_count(monkeypatch, questions, codes):
    monkeypatch.setattr(agreements, "PAIRS_AT_ONCE", 500)
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
