"""Multiplicities and causal ranks: by hand, against slow counts, and what must not matter."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from conftest import codes_of, records_of
from hypothesis import given
from hypothesis import strategies as st

from modp.__main__ import main
from modp.cli.inputs import read_drawn
from modp.crosstabs import agreements
from modp.crosstabs.identical import multiplicity
from modp.crosstabs.pairs import crosstab
from modp.draws import postprocess
from modp.measures import crowds
from modp.measures.effective import effective_multiplicity
from modp.models.blades.network import Blades
from modp.models.blades.recipe import Shape
from modp.models.family import Drawn
from modp.survey.records import Records

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
    found = multiplicity(codes)
    assert found.dtype == np.int64
    assert found.tolist() == [3, 1, 3, 1, 3]


def test_multiplicity_of_no_record_and_of_one():
    assert multiplicity(np.zeros((0, 3), np.int16)).tolist() == []
    assert multiplicity(np.zeros((1, 3), np.int16)).tolist() == [1]


def test_multiplicity_tells_many_wide_questions_apart():
    # 40 questions of 30,000 codes each: a product of the codes would not fit in 64 bits.
    codes = np.full((6, 40), 29_999, np.int16)
    codes[1, 0], codes[2, 39], codes[3, [0, 39]] = 0, 0, 0
    assert multiplicity(codes).tolist() == [3, 1, 1, 1, 3, 3]


@given(tables())
def test_multiplicity_equals_the_slow_count(case):
    codes = case[0]
    slow = [sum((a == b).all() for b in codes) for a in codes]
    assert multiplicity(codes).tolist() == slow


def test_effective_multiplicity_by_hand_and_without_overflow():
    found = effective_multiplicity(np.array([100, 1, 8]), np.array([0.0, 5_000.0, 3.0]))
    assert found == pytest.approx([2, 5_000 * np.log10(2), np.log10(64)])


def test_deficient_records_lie_strictly_below_the_limit():
    crowd, bits = np.array([1, 4, 1, 300, 4]), np.array([0.0, 3.0, 20.0, 0.0, 2.999])
    assert postprocess.deficient(crowd, bits, limit=32).tolist() == [True, False, False, False, True]


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
    assert (ranks >= multiplicity(true)[record[chosen]]).all()
    assert (ranks <= len(true)).all()


@pytest.mark.parametrize("backwards", [False, True])
def test_causal_rank_and_agreements_do_not_depend_on_the_chunks(monkeypatch, backwards):
    rng = np.random.default_rng(5)
    true, synthetic = rng.integers(0, 4, (500, 12)), rng.integers(0, 4, (300, 12))
    record, chosen = rng.integers(0, 500, 300), rng.permutation(300)[:101]
    whole = crowds.causal_rank(true, synthetic, record, chosen, backwards)
    again = np.tile(true, (20, 1)), np.tile(synthetic, (20, 1))
    more = crowds.causal_rank(*again, np.tile(record, 20), chosen, backwards)
    assert len(again[backwards]) > agreements.ROWS_AT_ONCE and more.tolist() == (20 * whole).tolist()
    shared = (true[:30, None] == synthetic).sum(axis=2)
    monkeypatch.setattr(agreements, "PAIRS_AT_ONCE", 1700)
    parts = list(agreements.agreements(synthetic, true[:30]))
    assert len(parts) > 1 and np.array_equal(np.concatenate([found for _, found in parts]), shared)
    spread = [np.bincount(row, minlength=13) for row in shared]
    assert np.array_equal(agreements.numbers(again[1], true[:30]), 20 * np.array(spread))
    assert np.array_equal(agreements.most(again[1], true[:30]), shared.max(axis=1))


def test_causal_rank_of_copies_is_the_multiplicity(sample):
    codes = sample.codes
    chosen = np.arange(0, len(codes), 7)
    ranks = crowds.causal_rank(codes, codes, np.arange(len(codes)), chosen)
    assert ranks.tolist() == multiplicity(codes)[chosen].tolist()


def drawn(folder: Path, true: Records, instance: np.ndarray, bits: list[float], row: dict) -> Drawn:
    """What the step draws of one instance of all true records; its log is beside it."""
    codebook = true.codebook
    (folder / "codebook.json").write_text(codebook.to_json())
    true.write(folder / "records.parquet")
    extra = {"record": np.arange(len(true)), "entropy_bits": np.array(bits)}
    true.of(instance).write(folder / "1.parquet", extra)
    starts, shape = torch.from_numpy(codebook.block_starts), Shape(blades=1, reduced=1)
    Blades(starts, shape, torch.Generator()).save(folder / "model.safetensors", codebook)
    files = {"records": "records.parquet", "codebook": "codebook.json", "instances": "1.parquet"}
    files |= {"weights": "model.safetensors", "out": "synthetic.parquet", "log": "log"}
    paths = [part for name, file in files.items() for part in (f"--{name}", str(folder / file))]
    more = ["--family", "blades", "--row", json.dumps({"model": "m", **row}), "--device", "cpu"]
    more += ["--name", f"m/{row['name']}", "--seed", "1", "--zeros", "sample"]
    assert main(["draw", *paths, *more]) == 0
    return read_drawn(folder / "synthetic.parquet", codebook)


def test_a_protected_row_leaves_out_whom_neither_kind_of_crowd_hides(tmp_path):
    true = records_of(np.array([[0, 0], [0, 0], [0, 1], [1, 1]], np.int16), (2, 2))  # multiplicities 2 2 1 1
    bits = [1.0, 0.5, 3.0, 1.5]  # crowds 4 2.8 8 2.8
    found = drawn(tmp_path, true, 1 - true.codes, bits, {"name": "protected", "protect": 4})
    assert found.record.tolist() == [0, 2] and found.entropy_bits.tolist() == [1, 3]
    assert found.codes.tolist() == [[1, 1], [1, 0]]
    assert "50.0% of the records hide in a crowd below 4" in (tmp_path / "log").read_text()


def test_no_one_draw_made_a_swapped_record_so_its_entropy_is_blank_but_not_its_partner(tmp_path):
    true = records_of(np.repeat([[0, 0], [1, 1]], 20, axis=0).astype(np.int16), (2, 2))
    instance = np.column_stack([true.codes[:, 0], np.tile([0, 1], 20)]).astype(np.int16)
    row = {"name": "swapped", "swap": {"passes": 5}}
    found = drawn(tmp_path, true, instance, [1.0] * 40, row)
    assert (found.codes != instance).any()
    away = [np.abs(crosstab(true.of(codes)) - crosstab(true)).max() for codes in (instance, found.codes)]
    assert away[1] < away[0] / 2
    assert found.entropy_bits.mask.all()
    assert found.record.tolist() == list(range(40))
    stored = pq.read_table(tmp_path / "synthetic.parquet")["entropy_bits"]
    assert stored.null_count == 40 and stored.type == pa.float64()
    plain = drawn(tmp_path, true, instance, [1.0] * 40, {"name": "plain"})
    assert plain.entropy_bits.tolist() == [1.0] * 40 and (plain.codes == instance).all()
