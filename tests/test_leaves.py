"""Numbers and codes are drawn given all else that a record answers, and no donor is known by them."""

import numpy as np
import pandas as pd
import pytest
from conftest import question_set
from hypothesis import given, settings
from hypothesis import strategies as st
from test_release import column, made_of, numbers_question, other, source_of, table_of, texts

from modp import Synthesizer
from modp.files.table import Table
from modp.release import drawing
from modp.release.drawing import Asked
from modp.release.leaves import LEAST, MOST, grow
from modp.release.values import RARITY

FEW = settings(max_examples=25, deadline=None)
N = 1200


def spearman(one: np.ndarray, other: np.ndarray) -> float:
    return float(pd.Series(one).corr(pd.Series(other), method="spearman"))


def of_numbers(made, name: str) -> np.ndarray:
    return np.array([float(text or "nan") for text in texts(made, name)])


@FEW
@given(st.integers(1, 400), st.integers(1, 30), st.integers(1, 4), st.integers(0, 99))
def test_each_leaf_holds_so_many_donors_and_recipients_have_donors_of_their_own(n, m, features, seed):
    rng = np.random.default_rng(seed)
    donors, recipients = rng.integers(0, 4, (n, features)), rng.integers(0, 4, (m, features))
    found = grow(donors, recipients, rng.integers(0, 50, n), rng)
    assert (found.size >= min(LEAST, n)).all()
    assert sorted(found.donors) == list(range(n))
    parts = {(int(first), int(size)) for first, size in zip(found.first, found.size, strict=True)}
    assert all(first + size <= n for first, size in parts)
    same = np.flatnonzero((donors[:, None] == recipients[None]).all(axis=2).any(axis=1))
    drawn = found.draw(np.arange(m), rng)
    assert ((drawn >= 0) & (drawn < n)).all()
    again = grow(donors, donors, rng.integers(0, 50, n), rng)
    for at in same:  # a donor is in its own leaf
        leaf = again.donors[again.first[at] : again.first[at] + again.size[at]]
        assert at in leaf


def test_of_many_donors_so_many_at_random_are_enough():
    rng = np.random.default_rng(2)
    known = rng.random((MOST + 500, 2))
    found = grow(known, known[:50], known[:, 0], rng)
    assert len(found.donors) == MOST and len(set(found.donors.tolist())) == MOST
    drawn = found.draw(np.arange(50), rng)
    assert spearman(known[drawn, 0], known[:50, 0]) > 0.98


def test_a_number_in_one_class_follows_the_other_answers():
    rng = np.random.default_rng(1)
    z = 1 + rng.integers(0, 2, N)
    amounts = np.where(z == 1, rng.integers(100, 200, N), rng.integers(800, 900, N))
    made, _ = made_of(table_of(A=amounts.tolist(), Z=z.tolist()), numbers_question("A"))
    drawn, of = of_numbers(made, "A"), np.array(texts(made, "Z"))
    assert (drawn[of == "1"] < 300).mean() > 0.98 and (drawn[of == "2"] > 700).mean() > 0.98
    blind, _ = made_of(table_of(A=amounts.tolist(), Z=z.tolist()), numbers_question("A"), how="uniform")
    assert abs(spearman(of_numbers(blind, "A"), np.array(texts(blind, "Z"), float))) < 0.1


def test_two_numbers_go_together_inside_their_classes():
    rng = np.random.default_rng(2)
    one = rng.normal(0, 1, N)
    two = 0.9 * one + np.sqrt(1 - 0.81) * rng.normal(0, 1, N)
    table = table_of(A=[f"{x:.3f}" for x in one], B=[f"{x:.3f}" for x in two])
    made, _ = made_of(table, numbers_question("A"), numbers_question("B"))
    assert spearman(of_numbers(made, "A"), of_numbers(made, "B")) == pytest.approx(0.89, abs=0.03)


def test_two_numbers_that_are_often_equal_are_so_as_often():
    rng = np.random.default_rng(3)
    wage = rng.integers(1000, 60_000, N)
    income = wage + np.where(rng.random(N) < 0.6, 0, rng.integers(100, 5000, N))
    questions = [numbers_question(name, 10_000, 30_000) for name in "AB"]
    made, _ = made_of(table_of(A=income.tolist(), B=wage.tolist()), *questions)
    a, b = of_numbers(made, "A"), of_numbers(made, "B")
    assert (a == b).mean() == pytest.approx(0.6, abs=0.05)
    assert (a < b).mean() < 0.1
    assert len(set(a.tolist()) & set(income.tolist())) < 0.2 * N, "values are not true records' own"


def test_numbers_that_are_equal_by_chance_are_not_set_equal():
    rng = np.random.default_rng(4)
    answers = {name: rng.integers(1, 30, N) for name in "AB"}
    table = table_of(**{name: own.tolist() for name, own in answers.items()})
    made, _ = made_of(table, *(numbers_question(name, 10) for name in "AB"))
    assert (of_numbers(made, "A") == of_numbers(made, "B")).mean() == pytest.approx(1 / 29, abs=0.02)


CODES = [f"{1000 + k % 400}" for k in range(400)] + ["7777"] * 100 + ["8888"] * 100


def test_rare_codes_come_back_as_codes_of_their_category_near_one_another():
    answers = [f"x{code}" for code in CODES]
    listed = {"x7777": "a", "x8888": "b", "other": {"label": "o", "values": sorted({*answers[:400]})}}
    z = [1 if code < "1200" else 2 for code in CODES]
    made, _ = made_of(table_of(A=answers, Z=z), {"name": "A", "label": "A", "categories": listed})
    drawn, of = np.array(texts(made, "A")), np.array(texts(made, "Z"))
    assert set(drawn) <= set(answers) and not made.said
    rare = np.char.startswith(drawn.astype(str), "x1")
    assert len(set(drawn[rare])) > 150
    assert (drawn[rare & (of == "1")] < "x1210").all()


@FEW
@given(st.dictionaries(st.text("ab1 ", min_size=1, max_size=5), st.integers(1, 25), min_size=1, max_size=12))
def test_every_answer_has_a_bin_and_no_bin_shows_few_where_there_are_more(given_by):
    answers = [text for text, times in given_by.items() for _ in range(times)]
    own = column("A", answers)
    question = {"name": "A", "label": "A", "categories": {"k": {"label": "k", "values": ["k", *given_by]}}}
    table = Table((own, column("Z", [1 + k % 2 for k in range(len(answers))])))
    source = source_of(table, question_set(question, other()))
    asked = Asked.of(source.records.codebook.questions[0], source.questions.questions[0], own, True)
    (pool,) = drawing.pools(source.records.codes[:, 0], 1, own, source.rows)
    found = drawing.bins(asked, [pool])(0)
    assert set(found.of) == set(pool.texts)
    rng = np.random.default_rng(1)
    for at, count in enumerate(found.counts):
        drawn = set(found.write(np.full(200, at), rng).tolist())
        assert not drawn & asked.hidden
        rare = [text for text in pool.texts if given_by[text] < RARITY and text not in asked.hidden]
        if count < RARITY and len(found.counts) > 1:  # there are no other rare codes to stand with
            assert drawn == set(rare) and sum(given_by[text] for text in rare) == count


def test_a_word_that_few_gave_becomes_the_commonest_of_its_category_or_a_blank_that_is_told():
    answers = ["plumber"] * 40 + ["teacher"] * 30 + ["astronaut"] * 3 + ["Lord Chancellor"] * 2
    merged = {
        "plumber": "p",
        "teacher": {"label": "t", "values": ["teacher", "astronaut"]},
        "Lord Chancellor": "l",
    }
    made, _ = made_of(table_of(A=answers), {"name": "A", "label": "A", "categories": merged})
    assert sorted(set(texts(made, "A"))) == ["", "plumber", "teacher"]
    assert texts(made, "A").count("teacher") == 33
    (line,) = made.said
    assert line.startswith("A: 2 of 75 records are blank though their answer is not")


@pytest.mark.pipeline
def test_filled_amounts_are_of_people_who_answer_alike():
    rng = np.random.default_rng(5)
    z = rng.integers(0, 2, N)
    amounts = np.where(z == 0, rng.integers(100, 200, N), rng.integers(800, 900, N)).astype(float)
    frame = pd.DataFrame({"A": np.where(rng.random(N) < 0.2, np.nan, amounts), "Z": np.where(z, "y", "x")})
    frame["W"] = rng.choice(["p", "q", "r"], N)
    (filled,) = Synthesizer(seed=1).impute(frame)
    gone = frame["A"].isna()
    assert filled["A"].notna().all()
    assert (filled["A"] > 500)[gone].eq(frame["Z"].eq("y")[gone]).mean() > 0.95


@pytest.mark.pipeline
def test_samples_of_a_synthesizer_have_numbers_that_go_together():
    rng = np.random.default_rng(6)
    one = rng.lognormal(8, 1, N).round()
    frame = pd.DataFrame(
        {"A": one, "B": (one * rng.uniform(0.9, 1.1, N)).round(), "Z": rng.choice(["x", "y"], N)}
    )
    fitted = Synthesizer(seed=1).fit(frame)
    for made in (fitted.sample(), fitted.sample(400, seed=2), fitted.sample(given={"Z": "y"})):
        true = spearman(frame["A"].to_numpy(), frame["B"].to_numpy())
        assert spearman(made["A"].to_numpy(), made["B"].to_numpy()) > true - 0.05
