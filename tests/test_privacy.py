"""Multiplicities and causal ranks: by hand, against slow counts, and what must not matter."""

import json

import numpy as np
import pytest
from conftest import codebook_of, codes_of
from hypothesis import given
from hypothesis import strategies as st

from modp.__main__ import main
from modp.measures import crowds
from modp.survey import records

TRUE = np.array([[0, 0, 0], [0, 0, 1], [1, 1, 1]], np.int16)
SYNTHETIC = np.array([[0, 0, 1], [0, 1, 1], [1, 1, 1]], np.int16)
RECORD = np.array([0, 1, 2])
# distance of synthetic (row) to true (column):
#   001: 1 0 2     partner 0 at 1 -> true 0, 1          -> 2
#   011: 2 1 1     partner 1 at 1 -> true 1, 2          -> 2
#   111: 3 2 0     partner 2 at 0 -> true 2             -> 1
# and down the columns, from the true partner:
#   000: 1 2 3     own synthetic 0 at 1 -> synthetic 0     -> 1
#   001: 0 1 2     own synthetic 1 at 1 -> synthetic 0, 1  -> 2
#   111: 2 1 0     own synthetic 2 at 0 -> synthetic 2     -> 1


@st.composite
def tables(draw):
    """A true table, a synthetic one with each record's partner, and chosen synthetic rows."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=5))
    n, m = draw(st.integers(1, 30)), draw(st.integers(1, 30))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    true, synthetic = (codes_of(sizes, rows, rng) for rows in (n, m))
    return true, synthetic, rng.integers(0, n, m), rng.integers(0, m, draw(st.integers(0, 12)))


def slow_ranks(true, synthetic, record, chosen, backwards):
    ranks = []
    for row in chosen:
        own, partner = synthetic[row], true[record[row]]
        near = sum(a != b for a, b in zip(own, partner, strict=True))
        table, point = (synthetic, partner) if backwards else (true, own)
        ranks.append(sum(sum(a != b for a, b in zip(other, point, strict=True)) <= near for other in table))
    return ranks


def test_multiplicity_by_hand():
    codes = np.array([[1, 0], [0, 1], [1, 0], [1, 1], [1, 0]], np.int16)
    found = crowds.multiplicity(codes)
    assert found.dtype == np.int64
    assert found.tolist() == [3, 1, 3, 1, 3]


def test_multiplicity_of_no_record_and_of_one():
    assert crowds.multiplicity(np.zeros((0, 3), np.int16)).tolist() == []
    assert crowds.multiplicity(np.zeros((1, 3), np.int16)).tolist() == [1]


def test_multiplicity_tells_many_wide_questions_apart():
    # 40 questions of 30,000 codes each: a product of the codes would not fit in 64 bits.
    codes = np.full((6, 40), 29_999, np.int16)
    codes[1, 0], codes[2, 39], codes[3, [0, 39]] = 0, 0, 0
    assert crowds.multiplicity(codes).tolist() == [3, 1, 1, 1, 3, 3]


@given(tables())
def test_multiplicity_equals_the_slow_count(case):
    codes = case[0]
    slow = [sum((a == b).all() for b in codes) for a in codes]
    assert crowds.multiplicity(codes).tolist() == slow


def test_effective_multiplicity_by_hand_and_without_overflow():
    found = crowds.effective_multiplicity(np.array([100, 1, 8]), np.array([0.0, 5_000.0, 3.0]))
    assert found == pytest.approx([2, 5_000 * np.log10(2), np.log10(64)])


def test_deficient_records_lie_strictly_below_the_limit():
    multiplicity, bits = np.array([1, 4, 1, 300, 4]), np.array([0.0, 3.0, 20.0, 0.0, 2.999])
    assert crowds.deficient(multiplicity, bits, limit=32).tolist() == [True, False, False, False, True]


def test_causal_rank_by_hand_in_both_directions():
    chosen = np.arange(3)
    assert crowds.causal_rank(TRUE, SYNTHETIC, RECORD, chosen).tolist() == [2, 2, 1]
    assert crowds.causal_rank(TRUE, SYNTHETIC, RECORD, chosen, backwards=True).tolist() == [1, 2, 1]


def test_causal_rank_follows_the_chosen_rows():
    found = crowds.causal_rank(TRUE, SYNTHETIC, RECORD, np.array([2, 0, 2]))
    assert found.dtype == np.int64
    assert found.tolist() == [1, 2, 1]
    assert crowds.causal_rank(TRUE, SYNTHETIC, RECORD, np.array([], np.int64)).tolist() == []


@given(tables(), st.booleans())
def test_causal_rank_equals_the_slow_count(case, backwards):
    assert crowds.causal_rank(*case, backwards).tolist() == slow_ranks(*case, backwards)


@given(tables(), st.integers(0, 2**32 - 1))
def test_causal_rank_ignores_the_order_of_records_questions_and_categories(case, seed):
    true, synthetic, record, chosen = case
    rng = np.random.default_rng(seed)
    expected = crowds.causal_rank(*case)
    rows, questions, shift = rng.permutation(len(true)), rng.permutation(true.shape[1]), rng.permutation(8)
    moved = crowds.causal_rank(
        shift[true][rows][:, questions], shift[synthetic][:, questions], np.argsort(rows)[record], chosen
    )
    assert moved.tolist() == expected.tolist()


@given(tables())
def test_causal_rank_lies_between_the_partners_multiplicity_and_the_number_of_records(case):
    true, _, record, chosen = case
    ranks = crowds.causal_rank(*case)
    assert (ranks >= crowds.multiplicity(true)[record[chosen]]).all()
    assert (ranks <= len(true)).all()


@pytest.mark.parametrize("backwards", [False, True])
def test_causal_rank_does_not_depend_on_the_chunks(monkeypatch, backwards):
    rng = np.random.default_rng(5)
    true, synthetic = rng.integers(0, 4, (500, 12)), rng.integers(0, 4, (300, 12))
    record, chosen = rng.integers(0, 500, 300), rng.permutation(300)[:101]
    whole = crowds.causal_rank(true, synthetic, record, chosen, backwards)
    monkeypatch.setattr(crowds, "PAIRS_AT_ONCE", 1700)
    assert crowds.causal_rank(true, synthetic, record, chosen, backwards).tolist() == whole.tolist()


def test_causal_rank_of_copies_is_the_multiplicity(sample):
    codes, _ = sample
    chosen = np.arange(0, len(codes), 7)
    ranks = crowds.causal_rank(codes, codes, np.arange(len(codes)), chosen)
    assert ranks.tolist() == crowds.multiplicity(codes)[chosen].tolist()


def test_a_protected_variant_leaves_out_whom_neither_kind_of_crowd_hides(tmp_path):
    codebook = codebook_of(2, 2)
    true = np.array([[0, 0], [0, 0], [0, 1], [1, 1]], np.int16)  # multiplicities 2 2 1 1
    extra = {"record": np.arange(4), "entropy_bits": np.array([1.0, 0.5, 3.0, 1.5])}  # crowds 4 2.8 8 2.8
    (tmp_path / "codebook.json").write_text(codebook.to_json())
    records.write(tmp_path / "records.parquet", true, codebook)
    records.write(tmp_path / "1.parquet", 1 - true, codebook, extra)
    variant = json.dumps({"model": "m", "name": "protected", "protect": 4})
    options = {"records": "records.parquet", "codebook": "codebook.json", "instances": "1.parquet"}
    options |= {"weights": "none", "out": "synthetic.parquet"}
    paths = [part for name, file in options.items() for part in (f"--{name}", str(tmp_path / file))]
    more = ["--variant", variant, "--seed", "1", "--zeros", "sample", "--log", str(tmp_path / "log")]
    assert main(["postprocess", *paths, *more]) == 0
    codes, kept = records.read(tmp_path / "synthetic.parquet", codebook, ["record", "entropy_bits"])
    assert kept["record"].tolist() == [0, 2] and kept["entropy_bits"].tolist() == [1, 3]
    assert codes.tolist() == [[1, 1], [1, 0]]
    assert "50.0% of the records hide in a crowd below 4" in (tmp_path / "log").read_text()
