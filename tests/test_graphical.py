"""Sizes and pair tables of graphical models that AIM is asked for are those of the whole joint table."""

import itertools
import sys

import numpy as np
import pytest
from conftest import ROOT
from hypothesis import given
from hypothesis import strategies as st

sys.path.insert(0, str(ROOT / "benchmarks"))
import graphical


@st.composite
def models(draw):
    """Sizes of up to seven questions, and log potentials over cliques of up to three."""
    names = [f"Q{number}" for number in range(draw(st.integers(1, 7)))]
    sizes = {name: draw(st.integers(1, 4)) for name in names}
    some = st.lists(st.sampled_from(names), min_size=1, max_size=min(3, len(names)), unique=True).map(tuple)
    cliques = draw(st.lists(some, max_size=8, unique=True))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    return sizes, {clique: 3 * rng.normal(size=[sizes[name] for name in clique]) for clique in cliques}


def whole(sizes, potentials):
    """The table of all questions, which sums to 1, as an array with an axis for each."""
    names = list(sizes)
    logs = np.zeros(list(sizes.values()))
    for clique, potential in potentials.items():
        order = np.argsort([names.index(name) for name in clique])
        logs += potential.transpose(order).reshape([sizes[name] if name in clique else 1 for name in names])
    return np.exp(logs) / np.exp(logs).sum()


@given(models())
def test_tables_of_all_pairs_are_the_whole_tables(model):
    sizes, potentials = model
    tree, table = graphical.Tree(sizes, potentials), whole(*model)
    for one, other in itertools.permutations(range(len(sizes)), 2):
        summed = table.sum(axis=tuple(axis for axis in range(len(sizes)) if axis not in (one, other)))
        names = (f"Q{one}", f"Q{other}")
        assert tree.table(names) == pytest.approx(summed if one < other else summed.T, abs=1e-12)
    for one in range(len(sizes)):
        summed = table.sum(axis=tuple(axis for axis in range(len(sizes)) if axis != one))
        assert tree.table((f"Q{one}",)) == pytest.approx(summed, abs=1e-12)


@given(models())
def test_each_clique_lies_in_one_that_is_left_when_questions_are_eliminated(model):
    sizes, potentials = model
    left = graphical.eliminated(sizes, potentials)
    assert sorted(left) == sorted(sizes)
    found = [{question, *others} for question, others in left.items()]
    assert all(any(set(clique) <= one for one in found) for clique in potentials)
    # A question that two cliques share is in all between them, or sums along the tree would be wrong.
    turn = {question: number for number, question in enumerate(left)}
    for others in left.values():
        if others:
            assert set(others) <= {min(others, key=turn.get), *left[min(others, key=turn.get)]}


def test_a_model_is_as_large_as_its_largest_cliques_once_circles_are_closed():
    sizes = {"A": 2, "B": 3, "C": 5, "D": 7}
    mb = 8 / 2**20
    assert graphical.megabytes(sizes, []) == pytest.approx((2 + 3 + 5 + 7) * mb)
    assert graphical.megabytes(sizes, [("A", "B"), ("B",), ("B", "C")]) == pytest.approx((6 + 15 + 7) * mb)
    circle = [("A", "B"), ("B", "C"), ("C", "D"), ("D", "A")]
    # B goes first, with A and C, of 30 cells; then A, C and D are left, of 70. A first would make 42 + 105.
    assert graphical.megabytes(sizes, circle) == pytest.approx((2 * 3 * 5 + 2 * 5 * 7) * mb)
    # With its neighbours A has fewest cells, 50, although B's neighbours alone have fewer, 18, than A's, 25.
    sizes = {"A": 2, "B": 5, "C": 9, "D": 5}
    assert graphical.megabytes(sizes, circle) == pytest.approx((2 * 5 * 5 + 9 * 5 * 5) * mb)


def test_a_tree_gets_no_larger_although_its_middle_is_cheapest():
    """C would go first, which would join B and D."""
    sizes = {"A": 100, "B": 10, "C": 1, "D": 10, "E": 100}
    path = list(itertools.pairwise(sizes))
    assert graphical.is_tree(graphical.neighbours(sizes, path))
    assert graphical.megabytes(sizes, path) == pytest.approx((1000 + 10 + 10 + 1000) * 8 / 2**20)
    assert not graphical.is_tree(graphical.neighbours(sizes, path[1:]))
    assert not graphical.is_tree(graphical.neighbours(sizes, [*path, ("A", "C")]))
    assert not graphical.is_tree(graphical.neighbours(sizes, [*path[1:], ("B", "D")]))


def test_a_chain_of_many_questions_is_quick_and_exact():
    names = [f"Q{number}" for number in range(80)]
    rng = np.random.default_rng(1)
    links = {pair: rng.normal(size=(3, 3)) for pair in itertools.pairwise(names)}
    tree = graphical.Tree(dict.fromkeys(names, 3), links)
    before, after = [np.ones(3)], [np.ones(3)]
    for pair in itertools.pairwise(names):
        before.append(before[-1] @ np.exp(links[pair]))
    for pair in reversed(list(itertools.pairwise(names))):
        after.append(np.exp(links[pair]) @ after[-1])
    between = np.eye(3)
    for pair in list(itertools.pairwise(names))[10:60]:
        between = between @ np.exp(links[pair])
    joint = before[10][:, None] * between * after[79 - 60]
    assert tree.table(("Q10", "Q60")) == pytest.approx(joint / joint.sum(), abs=1e-12)
