"""Identical records, against a slow count, whatever their answers are packed into."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from modp.crosstabs import identical


@given(st.integers(1, 60), st.integers(0, 30), st.integers(0, 10**6), st.sampled_from([4, 100, 1 << 62]))
def test_records_have_one_number_if_they_are_identical(n, more, seed, packed):
    rng = np.random.default_rng(seed)
    tables = [rng.integers(0, 2, (size, 4)).astype(np.int16) for size in (n, more)]
    together = np.concatenate(tables)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(identical, "PACKED", packed)
        patch.setattr(identical, "SORTED_AT_ONCE", 20)
        found = identical.identities(*tables)
        multiplicity = identical.multiplicity(together)
    same = (together[:, None] == together).all(axis=2)
    assert np.array_equal(found[:, None] == found, same)
    assert sorted(set(found.tolist())) == list(range(found.max() + 1))
    assert np.array_equal(multiplicity, same.sum(axis=1))


def test_many_questions_of_many_categories_are_told_apart():
    codes = np.zeros((3, 40), np.int16)
    codes[:, :20], codes[1, 0], codes[2, 39] = 999, 998, 1
    assert identical.identities(codes).tolist() == [1, 0, 2]
