import numpy as np
import pytest
import torch
from conftest import records_of
from hypothesis import given, settings
from hypothesis import strategies as st

from modp.crosstabs.cells import structural_zeros
from modp.crosstabs.pairs import crosstab
from modp.draws import swap
from modp.draws.postprocess import violations
from modp.draws.swap import Limits, Problem

SIZES = (2, 3, 4)
STARTS = np.array([0, 2, 5, 9])
CPU = torch.device("cpu")
KINDS = pytest.mark.parametrize("kind", [swap._OneByOne, swap._ManyAtOnce])
PLENTY = Limits(passes=20, seconds=60, improvement=0.0)


def table(n: int, seed: int, linked: bool) -> np.ndarray:
    """Three questions, of which the later two follow the first, or not."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 2, n)
    pull = rng.random((2, n)) < (0.7 if linked else 0)
    second = np.where(pull[0], first, rng.integers(0, 3, n))
    third = np.where(pull[1], 2 * first, rng.integers(0, 4, n))
    return np.column_stack([first, second, third]).astype(np.int16)


def counted(codes: np.ndarray) -> np.ndarray:
    return crosstab(records_of(codes, SIZES))


def problem(codes: np.ndarray, true: np.ndarray, n_true: int) -> Problem:
    """The records, to be swapped towards the counts of so many true ones."""
    return Problem(records_of(codes, SIZES), true, structural_zeros(true, STARTS), n_true)


def apart() -> Problem:
    """Independent answers, to be swapped towards linked ones."""
    return problem(table(400, 2, linked=False), counted(table(500, 1, linked=True)), 500)


def swapped(at: Problem, limits: Limits, seed: int) -> tuple[np.ndarray, list[float]]:
    """The records after swaps on the CPU, and the discrepancy after each pass."""
    said = []
    rng = np.random.default_rng(seed)
    return swap.swap(at, limits, rng, CPU, lambda _, left: said.append(left)), said


def slow_discrepancy(codes: np.ndarray, true: np.ndarray, n_true: int) -> float:
    """The sum that swapping lowers, cell by cell."""
    total, question = 0.0, np.repeat(np.arange(3), np.diff(STARTS))
    counts = counted(codes)
    for i in range(9):
        for j in range(i):
            if question[i] != question[j]:
                total += np.log((counts[i, j] * n_true / len(codes) + 1) / (true[i, j] + 1)) ** 2
    return total


@KINDS
@settings(max_examples=30)
@given(st.integers(2, 60), st.integers(0, 10**6))
def test_swapping_keeps_single_counts_lowers_the_sum_and_makes_no_zero(kind, n, seed):
    true = counted(table(40, seed, linked=True))
    before = table(n, seed + 1, linked=False)
    state = kind(problem(before, true, 40), CPU)
    rng = np.random.default_rng(seed)
    last = slow_discrepancy(before, true, 40)
    for question in (0, 1, 2, 0, 1, 2):
        state.improve(question, rng)
        codes = state.codes()
        assert (state.counts.__array__() == counted(codes)).all()
        now = slow_discrepancy(codes, true, 40)
        assert now <= last + 1e-9 and np.isclose(state.discrepancy(), now)
        last = now
    zeros = structural_zeros(true, STARTS)
    held = [violations(records_of(c, SIZES), zeros) for c in (before, codes)]
    assert not (held[1] & ~held[0]).any()
    for q in range(3):
        assert (np.bincount(before[:, q], minlength=4) == np.bincount(codes[:, q], minlength=4)).all()


@KINDS
def test_swapping_makes_independent_answers_depend_as_they_should(kind, monkeypatch):
    monkeypatch.setattr(swap, "_OneByOne", kind)
    truth = table(3000, 1, linked=True)
    true = counted(truth)
    drawn = np.column_stack([np.random.default_rng(q).permutation(truth[:, q]) for q in range(3)])
    limits = Limits(passes=60, seconds=60, improvement=1e-4)
    mended, said = swapped(problem(drawn, true, 3000), limits, seed=5)
    before, after = (slow_discrepancy(c, true, 3000) for c in (drawn, mended))
    assert after < 0.01 * before
    assert said == sorted(said, reverse=True)


def test_the_same_seed_swaps_the_same():
    first, again, other = (swapped(apart(), PLENTY, seed)[0] for seed in (1, 1, 2))
    assert (first == again).all() and (first != other).any()


def test_limits_end_the_swapping():
    for limits, passes in [
        (Limits(3, 60, 0.0), 3),
        (Limits(50, 60, 0.9999), 1),
        (Limits(50, 0.0, 0.0), 1),
    ]:
        assert len(swapped(apart(), limits, seed=1)[1]) == passes
