"""Total variation between tables, by hand and for tables of other sizes."""

import numpy as np
import pytest
from conftest import records_of

from modp.crosstabs.pairs import crosstab
from modp.measures import variation

SIZES = (2, 2, 3)
TRUE = records_of(np.array([[0, 0, 0], [0, 0, 1], [1, 1, 2], [1, 1, 2]], np.int16), SIZES)
OTHER = records_of(np.array([[0, 0, 0], [0, 1, 1], [1, 1, 2], [1, 1, 2]], np.int16), SIZES)


def test_pairs_and_triples_by_hand():
    # One of four records answers the second question otherwise: a quarter in each pair table that it is in.
    found = variation.of_pairs(crosstab(TRUE), crosstab(OTHER), TRUE.block_starts)
    assert found == pytest.approx((0.25 + 0.25 + 0) / 3)
    assert variation.of_triples(TRUE, OTHER, np.array([[0, 1, 2]])) == pytest.approx(0.25)


def test_tables_of_other_sizes_with_the_same_shares_are_the_same():
    twice = TRUE.of(np.repeat(TRUE.codes, 2, axis=0))
    assert variation.nearness(TRUE, twice) == pytest.approx(np.zeros(8))
    assert len(variation.KEYS) == 8


def test_the_ideal_is_of_resamples():
    some = TRUE.of(np.repeat(TRUE.codes, 50, axis=0))
    ideal = variation.ideal(some, 5, np.random.default_rng(1))
    assert (ideal[[1, 4, 6, 7]] > 0).all() and (ideal[6:] < 0.1).all()
