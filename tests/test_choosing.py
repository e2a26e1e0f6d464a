import numpy as np
import pytest
from conftest import codebook_of
from hypothesis import given
from hypothesis import strategies as st

from modp.models.households import choosing, matching
from modp.models.households.recipe import HouseholdsRecipe
from modp.survey.households import HOUSEHOLDER, SPOUSE, Households
from modp.survey.records import Records

BLOCK = np.array([0, 0, 1, 1, 2])
OFTEN = np.array([True, True, True, False, True])


def test_misfit_is_the_product_of_the_halves_deviations_by_hand():
    true = [np.array([10, 4, 6, 9, 0]), np.array([9, 5, 8, 9, 1])]
    found = [np.array([6, 4, 8, 0, 1]), np.array([6, 7, 7, 0, 3])]
    missed, cells = choosing.misfit(true, found, BLOCK, OFTEN)
    assert cells.tolist() == [2, 1, 1]
    assert missed == pytest.approx([4 * 4 * 3 / 20 + 0, 4 * -2 * 1 / 15, 4 * -1 * -2 / 2])


def test_counts_that_miss_nothing_have_the_misfit_and_spread_that_are_stated():
    rng = np.random.default_rng(1)
    block = np.repeat(np.arange(2000), 12)
    expected = rng.uniform(20, 100, len(block))
    true = [rng.poisson(expected) for _ in "ab"]
    missed, cells = choosing.misfit(true, [expected, expected], block, np.ones(len(block), bool))
    spread = 2 * np.sqrt(cells[0])
    assert abs(missed.mean()) < 4 * spread / np.sqrt(len(cells))
    assert missed.std() == pytest.approx(spread, rel=0.1)
    further = [part + 0.4 * expected for part in (expected, expected)]
    missed, _ = choosing.misfit(true, further, block, np.ones(len(block), bool))
    bias = np.bincount(block, (2 * 0.4 * expected) ** 2 / (2 * expected))
    assert missed.mean() == pytest.approx(bias.mean(), rel=0.05)


@given(
    st.lists(st.tuples(st.floats(-100, 1000), st.integers(0, 40), st.booleans()), min_size=1, max_size=30),
    st.integers(0, 300),
)
def test_what_is_chosen_is_missed_by_more_than_noise_fits_and_nothing_better_is_left_out(blocks, more):
    missed, cells, taken = (np.array(values) for values in zip(*blocks, strict=True))
    most = cells[taken].sum() + more
    chosen = choosing.worst(missed, cells, taken, most)
    assert chosen[taken].all() and cells[chosen].sum() <= most
    new = chosen & ~taken
    assert (missed[new] > 4 * np.sqrt(cells[new])).all() and (cells[new] > 0).all()
    left = ~chosen & (cells > 0) & (missed > 4 * np.sqrt(cells))
    if new.any() and left.any():
        assert (missed[left] / cells[left]).max() <= (missed[new] / cells[new]).min()
    elif left.any():
        first = np.flatnonzero(left)[np.argmax(missed[left] / cells[left])]
        assert cells[first] > more


def couples(n: int, rng: np.random.Generator) -> Households:
    """Couples who often give one answer to the second of three questions."""
    book, home = codebook_of(3, 4, 3), codebook_of(2)
    codes = np.column_stack([rng.integers(size, size=2 * n) for size in book.sizes])
    codes[1::2, 1] = np.where(rng.random(n) < 0.7, codes[::2, 1], codes[1::2, 1])
    return Households(
        Records(codes.astype(np.int16), book),
        Records(rng.integers(2, size=(n, 1)).astype(np.int16), home),
        2 * np.arange(n + 1),
        np.tile(np.array([HOUSEHOLDER, SPOUSE], np.int8), n),
    )


@pytest.mark.parametrize("prior", ["none", "student"])
@pytest.mark.parametrize(("most", "at_least"), [(1.5, True), (0.001, False)])
def test_a_fit_has_weights_for_the_pair_of_questions_that_members_share_and_no_other(most, at_least, prior):
    true = couples(1500, np.random.default_rng(3))
    recipe = HouseholdsRecipe(most_windows=1, member_weights=most, prior=prior)
    model, _ = matching.fit(true, recipe, np.full(3, -1), 2, 1, 1, lambda _: None)
    pair = model.weights.pair[HOUSEHOLDER, SPOUSE]
    held = {(q, r) for q in range(3) for r in range(3) if pair[slice(*BOUNDS[q]), slice(*BOUNDS[r])].any()}
    assert held == ({(1, 1)} if at_least else set())
    assert np.count_nonzero(pair) <= most * len(true)
    assert np.array_equal(pair, model.weights.pair[SPOUSE, HOUSEHOLDER].T)


BOUNDS = ((0, 3), (3, 7), (7, 10))


def test_without_a_bound_all_pairs_of_members_have_weights():
    true = couples(400, np.random.default_rng(4))
    recipe = HouseholdsRecipe(most_windows=1, member_weights=None)
    model, _ = matching.fit(true, recipe, np.full(3, -1), 2, 1, 1, lambda _: None)
    assert (model.weights.pair[HOUSEHOLDER, SPOUSE] != 0).mean() > 0.9


def test_a_model_without_a_prior_has_all_pairs_unless_it_says_otherwise():
    assert HouseholdsRecipe().member_weights == 1.5
    assert HouseholdsRecipe(prior="none").member_weights is None
    assert HouseholdsRecipe(prior="none", member_weights=2.0).member_weights == 2.0


def test_what_an_interrupted_window_saw_is_forgotten():
    true = [np.full((4, 4, 2, 2), 10.0) for _ in "ab"]
    choice = choosing.Choice(true, np.zeros((4, 4, 2, 2), np.int64), np.ones((4, 4, 2, 2), bool), 100)
    choice.see([np.zeros((4, 4, 2, 2)) for _ in "ab"])
    choice.forget()
    choice.see(true)
    assert not choice.cells().any() and not choice.ended
    choice.forget()
    choice.see([np.zeros((4, 4, 2, 2)) for _ in "ab"])
    assert choice.cells().all() and choice.ended
