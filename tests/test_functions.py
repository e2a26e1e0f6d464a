"""Columns that follow from others: found by looking, told, and never contradicted by a synthetic record."""

import numpy as np
import pandas as pd
import pytest
from conftest import question_set
from hypothesis import given, settings
from hypothesis import strategies as st
from test_columns import column as looked_at
from test_release import made_of, numbers_question, other, source_of, table_of, texts

from modp.base.config import check, parsed
from modp.cli.init import summary
from modp.crosstabs.zeros import zeros_of
from modp.files.columns import decide
from modp.files.options import DETECTED
from modp.files.plan import plan
from modp.files.table import Table
from modp.release.assembled import released
from modp.release.functions import UNKNOWN, Answered, learnt
from modp.survey.codebook import Codebook
from modp.survey.questions import QuestionSet, Relation

N = 3000
RNG = np.random.default_rng(8)
AMOUNTS = np.round(RNG.lognormal(10, 1, N)).astype(int)
GROUPS = RNG.choice(["n", "s", "w"], N)
CODES = RNG.integers(100, 160, N)
WITHIN = np.zeros(N, int)
for name in "nsw":
    own = name == GROUPS
    WITHIN[own] = np.searchsorted(np.quantile(AMOUNTS[own], [0.3, 0.6, 0.9]), AMOUNTS[own])
OTHERS = {"Z": RNG.choice(["x", "y"], N), "Y": RNG.integers(1, 6, N)}


def found(**columns) -> list[str]:
    """The relations that looking at these columns finds."""
    table = Table(tuple(looked_at(name, np.asarray(own).tolist()) for name, own in columns.items()))
    decisions = decide(table)
    told = [text for decision in decisions for text in decision.relations]
    _, questions = plan(table, decisions, "t.csv", "t", DETECTED)
    assert check(parsed(questions), QuestionSet, "q").relations == told
    assert any(all(text in line for text in told) for line in summary(decisions, N)) or not told
    return told


def test_classes_of_a_number_and_groups_of_codes_are_found():
    classes = np.searchsorted([10_000, 20_000, 40_000], AMOUNTS)
    assert found(A=AMOUNTS, K=classes, **OTHERS) == ["K of A"]
    assert found(CODE=CODES, GROUP=CODES // 10, **OTHERS) == ["GROUP of CODE"]
    words = np.array([f"region {code % 7}" for code in CODES])
    assert found(CODE=CODES, WORDS=words, **OTHERS) == ["WORDS of CODE"]


def test_classes_of_a_number_without_repeats_are_found():
    amounts = np.round(RNG.lognormal(10, 1, N), 6)
    assert found(A=amounts, K=np.searchsorted([10_000, 20_000], amounts), **OTHERS) == ["K of A"]


def test_classes_made_group_by_group_are_found_with_the_groups():
    assert found(A=AMOUNTS, G=GROUPS, K=WITHIN, **OTHERS) == ["K of A by G"]


def test_equal_columns_follow_the_first_and_blanks_go_with_blanks():
    answers = np.where(RNG.random(N) < 0.1, None, CODES.astype(object))
    assert found(A=answers, B=answers, **OTHERS) == ["B of A"]


def test_totals_and_smaller_numbers_are_found():
    wage, rest = RNG.integers(0, 50_000, N), RNG.integers(0, 50_000, N) * (RNG.random(N) < 0.4)
    told = found(WAGE=wage, REST=rest, INCOME=wage + rest, **OTHERS)
    assert "INCOME = WAGE + REST" in told or "INCOME = REST + WAGE" in told
    assert "WAGE <= INCOME" in told
    assert not any("Z" in text or "Y" in text for text in told)


@pytest.mark.parametrize("rows", [1, 30])
def test_what_some_rows_contradict_is_not_found(rows):
    classes, groups = np.searchsorted([10_000, 20_000, 40_000], AMOUNTS), CODES // 10
    rest = RNG.integers(0, 40_000, N)
    total = AMOUNTS + rest
    off = RNG.choice(N, rows, replace=False)
    classes[off], groups[off] = (classes[off] + 2) % 4, 3 + groups[off]
    total[off] += 100
    assert not found(A=AMOUNTS, K=classes, CODE=CODES, GROUP=groups, B=rest, T=total, **OTHERS)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 999), st.integers(40, 400), st.floats(0, 1))
def test_columns_that_go_together_by_chance_do_not_follow(seed, n, strength):
    rng = np.random.default_rng(seed)
    base = rng.normal(size=n)
    noisy = strength * base + rng.normal(size=n)
    columns = {
        "A": np.round(1000 * base).astype(int),
        "B": (noisy > 1).astype(int),
        "C": np.round(noisy).astype(int),
        "D": rng.choice(["p", "q", "r"], n, p=[0.9, 0.05, 0.05]),
        "E": rng.integers(0, 40, n),
    }
    table = Table(tuple(looked_at(name, own.tolist()) for name, own in columns.items()))
    assert not [text for decision in decide(table) for text in decision.relations]


def contradicted(made: Table, true: Table, target: str, of: str) -> int:
    """Records in which a question of codes is not what follows from another."""
    known = dict(zip(texts(true, of), texts(true, target), strict=True))
    return sum(known[a] != b for a, b in zip(texts(made, of), texts(made, target), strict=True))


GROUP = {"name": "B", "label": "B", "categories": {k: str(k) for k in range(10, 16)}}
HALVES = {1: {"label": "low", "values": "100..139"}, 2: {"label": "high", "values": "140..159"}}
CODE = {"name": "A", "label": "A", "categories": HALVES}


@pytest.mark.parametrize("how", ["shape", "uniform"])
def test_codes_that_follow_are_never_contradicted_and_what_that_cost_is_told(how):
    table = table_of(A=CODES.tolist(), B=(CODES // 10).tolist())
    rng = np.random.default_rng(1)
    source = source_of(table, question_set(CODE, GROUP, other(), relations=["B of A"]))
    possible = source.records.codes[rng.permutation(N)]
    made = released(possible, source, 1, how)
    assert not contradicted(made.table, table, "B", "A")
    assert how == "uniform" or not made.said
    shuffled = np.column_stack([rng.permutation(own) for own in source.records.codes.T])
    made = released(shuffled, source, 1, how)
    assert not contradicted(made.table, table, "B", "A")
    (line,) = made.said
    assert line.startswith("B: in ") and line.endswith("so that it follows from A")


@pytest.mark.parametrize("by", [True, False])
def test_classes_are_those_of_the_number_that_was_drawn(by):
    classes = WITHIN if by else np.searchsorted([10_000, 20_000, 40_000], AMOUNTS)
    table = table_of(A=AMOUNTS.tolist(), K=classes.tolist(), G=GROUPS.tolist())
    questions = (
        numbers_question("A", 8_000, 15_000, 30_000),
        {"name": "K", "label": "K", "categories": {k: str(k) for k in range(4)}},
        {"name": "G", "label": "G", "categories": {g: g for g in "nsw"}},
    )
    relation = "K of A by G" if by else "K of A"
    source = source_of(table, question_set(*questions, other(), relations=[relation]))
    for seed in range(2):
        codes = source.records.codes[np.random.default_rng(seed).permutation(N)]
        made = released(codes, source, seed)
        frame = pd.DataFrame({name: texts(made, name) for name in "AKG"}).astype({"A": float, "K": int})
        true = pd.DataFrame({"A": AMOUNTS, "K": classes, "G": GROUPS})
        for group, rows in frame.groupby("G" if by else lambda _: ""):
            own = true[true["G"] == group] if by else true
            ends = own.groupby("K")["A"].agg(["min", "max"]).astype(float)
            assert (rows["A"] < ends["min"].shift(-1, fill_value=np.inf)[rows["K"]].to_numpy()).all()
            assert (rows["A"] > ends["max"].shift(1, fill_value=-np.inf)[rows["K"]].to_numpy()).all()
        assert not made.said, "each record could keep its categories"


def test_a_rare_number_that_follows_is_not_a_true_one_and_the_same_for_all():
    prices = {code: round(10 + code * 1.37 + 0.001 * code**2, 2) for code in range(100, 160)}
    codes = np.concatenate([np.repeat(np.arange(100, 130), 60), np.repeat(np.arange(130, 160), 4)])
    table = table_of(A=codes.tolist(), B=[prices[code] for code in codes.tolist()])
    listed = {"name": "A", "label": "A", "categories": {k: str(k) for k in range(100, 160)}}
    made, _ = made_of(table, listed, numbers_question("B", 190), relations=["B of A"])
    pairs = pd.DataFrame({name: texts(made, name) for name in "AB"})
    assert len(pairs.drop_duplicates()) == len(set(pairs["A"]))
    shared = pairs[pairs["A"].astype(int) < 130]
    assert (shared["B"].astype(float) == shared["A"].astype(int).map(prices)).all()
    rare = pairs[pairs["A"].astype(int) >= 130]
    assert (rare["B"].astype(float) != rare["A"].astype(int).map(prices)).mean() > 0.8


def test_relations_hold_after_others_have_moved_numbers():
    smaller = np.minimum(AMOUNTS, np.round(AMOUNTS * RNG.random(N))).astype(int)
    classes = np.searchsorted([10_000, 20_000, 40_000], AMOUNTS)
    table = table_of(A=AMOUNTS.tolist(), B=smaller.tolist(), K=classes.tolist())
    questions = (
        numbers_question("A", 8_000, 15_000, 30_000),
        numbers_question("B", 8_000, 15_000, 30_000),
        {"name": "K", "label": "K", "categories": {k: str(k) for k in range(4)}},
    )
    source = source_of(table, question_set(*questions, other(), relations=["B <= A", "K of A"]))
    rng = np.random.default_rng(2)
    made = released(np.column_stack([rng.permutation(own) for own in source.records.codes.T]), source, 1)
    a, b, k = (np.array(texts(made, name), float) for name in "ABK")
    assert (b <= a).all()
    assert (np.abs(np.searchsorted([10_000, 20_000, 40_000], a, side="right") - k) == 0).mean() > 0.999


def test_what_follows_is_learnt_word_by_word_and_from_the_nearest_number():
    answers = ["1", "2", "10", "none"]
    numbers = np.array([1.0, 2.0, 10.0, np.nan])
    of = Answered(np.array(answers, object), numbers)
    function = learnt(of, None, np.array(["low", "low", "high", "-"], object), np.array([0, 0, 1, 2]))
    asked = Answered(np.array(["3", "7", "none", "who"], object), np.array([3.0, 7.0, np.nan, np.nan]))
    places = function.of(asked)
    assert function.answers(places, lambda _, text: text).tolist() == ["low", "high", "-", ""]
    assert places[-1] == UNKNOWN
    by = learnt(of, np.array(list("aabb"), object), np.array(list("pqrs"), object), np.arange(4))
    found = by.of(Answered(np.array(["1", "1", "1"], object), np.ones(3)), np.array(list("abz"), object))
    assert [[*"pqrs", ""][at] for at in found] == ["p", "r", ""]


def test_pairs_that_no_record_has_are_zeros_between_questions_of_which_one_follows():
    table = table_of(A=CODES.tolist()[:60], B=(CODES // 10).tolist()[:60])
    single = {**CODE, "categories": {k: str(k) for k in range(100, 160)}}
    wanted = question_set(single, GROUP, other(), relations=["B of A"])
    records = source_of(table, wanted).records
    assert Codebook.from_json(records.codebook.to_json()) == records.codebook
    zeros = zeros_of("likely", records)
    starts = records.codebook.block_starts
    block = zeros[starts[0] : starts[1], starts[1] : starts[2]]
    codes = np.bincount(records.codes[:, 0] * 6 + records.codes[:, 1], minlength=360).reshape(60, 6)
    assert np.array_equal(block, codes == 0)
    assert not zeros[starts[0] : starts[1], starts[2] :].all()


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (["A of B", "B of A"], "A is said to follow from itself"),
        (["A of B", "A of Z"], "A is said to follow from others twice"),
        (["A of C"], "there is no question 'C'"),
        (["A of"], "cannot read 'A of'"),
    ],
)
def test_faulty_functions_are_refused(wanted, said):
    with pytest.raises(Exception, match=said):
        question_set({**CODE}, GROUP, other(), relations=wanted)
    assert Relation.read("K of A by G") == Relation(("K", "A", "G"), "of")
