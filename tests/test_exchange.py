import itertools

import numpy as np
import pytest
import torch
from conftest import records_of
from hypothesis import given, settings
from hypothesis import strategies as st
from test_sweep import chi_square, probabilities, random_model, states, valid_codes

from modp.crosstabs.pairs import crosstab
from modp.draws import exchange, gpu_exchange, sweeps
from modp.draws.gpu_exchange import exchange_on, paired_on
from modp.draws.gpu_sweeps import LaidOut
from modp.draws.postprocess import violations

STARTS = np.array([0, 2, 4, 7])
SIZES = np.diff(STARTS)


def model(seed: int, zeros: bool) -> tuple[sweeps.Tables, np.ndarray, np.ndarray]:
    """Random weights; the first two questions fix each other where there are zeros."""
    rng = np.random.default_rng(seed)
    w = rng.normal(0, 1, (7, 7))
    w = np.triu(w) + np.triu(w).T
    for a, b in itertools.pairwise(STARTS):
        w[a:b, a:b] = 0
    excluded = np.zeros((7, 7), bool)
    if zeros:
        for i, j in ((0, 3), (1, 2)):
            excluded[i, j] = excluded[j, i] = True
    w[excluded] = 0
    c = rng.normal(0, 1, 7)
    return sweeps.tables(w, c, excluded, STARTS), w, excluded


def by_kernel(codes, tables, linked, rounds, rng, held=None):
    return exchange.exchange(codes, tables, linked, rounds, rng, 2, held)


def by_torch(codes, tables, linked, rounds, rng, held=None):
    return exchange_on(torch.device("cpu"), codes, tables, linked, rounds, rng, held)


both_ways = pytest.mark.parametrize("once", [by_kernel, by_torch], ids=["kernel", "torch"])


def linked_by(codes: np.ndarray, starts: np.ndarray = STARTS) -> exchange.Links:
    return exchange.links(crosstab(records_of(codes, np.diff(starts))), starts)


def exact(w: np.ndarray, c: np.ndarray, excluded: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All records, and their probabilities."""
    every = np.array(list(itertools.product(*(range(s) for s in SIZES))), np.int16)
    columns = every + STARTS[:-1]
    energy = c[columns].sum(axis=1)
    for q, r in itertools.combinations(range(3), 2):
        energy += w[columns[:, q], columns[:, r]]
        energy[excluded[columns[:, q], columns[:, r]]] = -np.inf
    p = np.exp(energy - energy.max())
    return every, p / p.sum()


@both_ways
def test_exchanges_and_sweeps_leave_the_models_distribution_as_it_is(once):
    tables, w, excluded = model(1, zeros=True)
    every, p = exact(w, tables.bias.astype(float), excluded)
    rng = np.random.default_rng(2)
    n = 40_000
    codes = every[rng.choice(len(every), n, p=p)]
    linked = linked_by(codes)
    for number in range(4):
        codes, accepted = once(codes, tables, linked, 5, rng)
        codes = sweeps.sweep(codes, tables, 7, number, 2).codes
    weight = np.array([6, 3, 1])
    counts = np.bincount(codes @ weight, minlength=12)
    expected = np.zeros(12)
    expected[every @ weight] = n * p
    assert (counts[expected == 0] == 0).all() and accepted > 0.1
    used = expected > 0
    chi2 = ((counts - expected)[used] ** 2 / expected[used]).sum()
    assert chi2 < 20.5  # the 0.1% point of five degrees of freedom


@both_ways
def test_exchanges_keep_the_distribution_of_a_model_with_triples(once):
    # With sweeps left out, since they would mend what exchanges do wrong.
    starts = np.array([0, 2, 4, 6, 8, 10])
    triples = ((0, 1, 2), (1, 2, 3), (0, 2, 4), (1, 3, 4), (0, 3, 4))
    strength = (
        np.array([[0, 9, 1, 2, 3], [9, 0, 4, 1, 2], [1, 4, 0, 1, 5], [2, 1, 1, 0, 8], [3, 2, 5, 8, 0]]) / 10
    )
    for seed in range(3):
        rng = np.random.default_rng(seed)
        model = random_model(starts, rng, triples=triples)
        codes = states(starts)[rng.choice(32, 60_000, p=probabilities(model))]
        moved, accepted = once(codes, model, exchange.Links(strength), 12, rng)
        statistic, freedom = chi_square(moved, model)
        assert accepted > 0.1 and (moved != codes).mean() > 0.02
        assert statistic < freedom + 5 * np.sqrt(2 * freedom)


@both_ways
def test_questions_that_fix_each_other_are_set_free(once):
    starts = np.arange(0, 11, 2)
    excluded = np.zeros((10, 10), bool)
    for i, j in ((0, 3), (1, 2)):
        excluded[i, j] = excluded[j, i] = True
    free = sweeps.tables(np.zeros((10, 10)), np.zeros(10), excluded, starts)
    rng = np.random.default_rng(3)
    first = rng.integers(0, 2, 4000)
    start = np.column_stack([first, first, *rng.integers(0, 2, (3, 4000))]).astype(np.int16)
    alone, together = start, start
    linked = linked_by(start, starts)
    for number in range(10):
        alone = sweeps.sweep(alone, free, 1, number, 1).codes
        together = sweeps.sweep(together, free, 1, number, 1).codes
        together, _ = once(together, free, linked, 4, rng)
    assert (alone[:, 0] == start[:, 0]).all()
    assert np.mean(together[:, 0] == start[:, 0]) < 0.6
    assert not violations(records_of(together, np.diff(starts)), excluded).any()


@settings(max_examples=30)
@given(st.integers(2, 60), st.integers(0, 10**6))
def test_exchanges_keep_every_count_make_no_zero_and_do_not_depend_on_threads(n, seed):
    tables, _, excluded = model(seed, zeros=True)
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 2, n)
    codes = np.column_stack([first, first, rng.integers(0, 3, n)]).astype(np.int16)
    linked = linked_by(codes)
    one, two = (
        exchange.exchange(codes, tables, linked, 6, np.random.default_rng(seed), threads)[0]
        for threads in (1, 2)
    )
    assert (one == two).all()
    of_torch = by_torch(codes, tables, linked, 6, np.random.default_rng(seed))[0]
    for moved in (one, of_torch):
        assert not violations(records_of(moved, SIZES), excluded).any()
        for q in range(3):
            assert (np.bincount(moved[:, q], minlength=3) == np.bincount(codes[:, q], minlength=3)).all()


def test_the_gpus_path_pairs_records_that_agree_on_the_context_and_none_twice():
    rng = np.random.default_rng(5)
    codes = rng.integers(0, 3, (1001, 4))
    generator = torch.Generator().manual_seed(1)
    pairs = paired_on(torch.from_numpy(codes), torch.tensor([2, 0]), generator).numpy()
    assert (codes[pairs[:, 0]][:, [0, 2]] == codes[pairs[:, 1]][:, [0, 2]]).all()
    assert len(np.unique(pairs)) == pairs.size >= 1001 - 9
    assert len(paired_on(torch.from_numpy(codes[:1]), torch.tensor([0]), generator)) == 0


@pytest.mark.parametrize("seed", range(3))
def test_the_gpus_path_accepts_what_the_kernel_does(seed):
    # Of the same pairs and uniform numbers: all others of theirs are alike.
    rng = np.random.default_rng(seed)
    starts = np.array([0, 3, 6, 8, 11, 13])
    model = random_model(starts, rng, 0.2, triples=((0, 1, 2), (1, 3, 4), (0, 2, 4)))
    codes = valid_codes(600, model, rng)
    pairs = exchange.paired(codes, np.array([2]), rng)
    uniform = rng.random(len(pairs)).astype(np.float32)
    inner, outer = np.array([1, 3]), np.array([0, 2, 4])
    torn = exchange.torn_by(np.isin(np.arange(5), inner), model)
    assert len(torn) == 2
    moved = codes.copy()
    laid_out = (model.block_starts, model.weights, model.excluded, model.rows.numbers)
    done = exchange._exchange_pairs(moved, pairs, inner, outer, uniform.astype(float), torn, *laid_out)
    answers = torch.from_numpy(codes).long() + torch.from_numpy(starts[:-1])
    numbers = (torch.from_numpy(x) for x in (pairs, inner, outer, uniform))
    swapped = gpu_exchange.swap(answers, LaidOut(torch.device("cpu"), model), *numbers, torn)
    assert 50 < done == swapped
    assert np.array_equal(answers.numpy() - starts[:-1], moved)


def test_the_gpus_path_leaves_what_is_held():
    tables, _, _ = model(3, zeros=False)
    rng = np.random.default_rng(3)
    codes = np.column_stack([rng.integers(0, size, 500) for size in SIZES]).astype(np.int16)
    held = rng.random(codes.shape) < 0.3
    moved, accepted = by_torch(codes, tables, linked_by(codes), 8, rng, held)
    assert (moved[held] == codes[held]).all() and accepted > 0
    assert (moved != codes).any()


def test_links_by_hand():
    codes = np.array([[0, 0, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1]], np.int16)
    strength = linked_by(codes).strength
    assert strength[0, 1] == pytest.approx(1) and strength[0, 2] == pytest.approx(0)
    linked = exchange.Links(strength)
    assert linked.group(0, 0.5).tolist() == [True, True, False]
    assert linked.group(2, 0.5).tolist() == [False, False, True]
    assert linked.context(np.array([True, True, False])).tolist() == [2]


def test_pairs_agree_on_the_context_and_use_a_record_once():
    rng = np.random.default_rng(5)
    codes = rng.integers(0, 3, (101, 4)).astype(np.int16)
    pairs = exchange.paired(codes, np.array([1, 2]), rng)
    assert (codes[pairs[:, 0]][:, [1, 2]] == codes[pairs[:, 1]][:, [1, 2]]).all()
    assert len(np.unique(pairs)) == pairs.size and len(pairs) >= (101 - 9) // 2
    assert len(exchange.paired(codes, np.zeros(0, int), rng)) == 50


def test_a_row_keeps_at_least_half_of_its_answers_in_one_exchange():
    # Two kinds of records, everything linked but the last question: not the rows trade places, it does.
    first = np.repeat([0, 1], 50).astype(np.int16)
    codes = np.column_stack([first, first, np.tile([0, 1, 2, 0], 25)]).astype(np.int16)
    free = sweeps.tables(np.zeros((7, 7)), np.zeros(7), np.zeros((7, 7), bool), STARTS)
    strength = np.zeros((3, 3))
    strength[0, 1] = strength[1, 0] = 1
    for seed in range(20):
        moved, _ = exchange.exchange(codes, free, exchange.Links(strength), 1, np.random.default_rng(seed), 1)
        assert ((moved != codes).sum(axis=1) <= 1).all()
