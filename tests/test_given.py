"""Given answers: they stay, all else follows the distribution given them, by enumeration."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
import torch
from conftest import codebook_of, codes_of, records_of
from test_sweep import chi_square, probabilities, random_model, states, violations

from modp.base.config import check
from modp.base.errors import InputError
from modp.draws import exchange, fresh, possible, sweeps
from modp.face import Private, Stationary
from modp.models.family import Work
from modp.models.stationary import drawing
from modp.models.stationary.model import Stationary as Pairs
from modp.models.stationary.recipe import StationaryRow
from modp.survey import where
from modp.survey.codebook import Category, Codebook, Question
from modp.survey.records import Records

SIZES, TRIPLES = (3, 2, 3, 2), ((0, 1, 2), (1, 2, 3))
STARTS = np.concatenate([[0], np.cumsum(SIZES)])


def small(seed: int = 4) -> Pairs:
    """A model of four questions with triples, structural zeros, and linked answers that exchanges move."""
    rng = np.random.default_rng(seed)
    laid_out = random_model(STARTS, rng, triples=TRIPLES, never=((0, 3), (4, 6)))
    values = rng.normal(0, 0.7, 30)
    return Pairs(
        laid_out.weights,
        laid_out.bias,
        laid_out.excluded.astype(bool),
        STARTS,
        exchanges=2,
        strength=rng.random((4, 4)),
        triples=np.array(TRIPLES),
        values=values.astype(np.float32),
    )


def expected(model: Pairs, allowed: np.ndarray) -> np.ndarray:
    """The distribution over all states of records of allowed answers."""
    p = probabilities(model.tables) * allowed[states(STARTS) + STARTS[:-1]].all(axis=1)
    return p / p.sum()


def total_variation(codes: np.ndarray, p: np.ndarray) -> tuple[float, float, float]:
    """The distance of drawn records from a distribution; its mean and standard error by sampling alone."""
    n = len(codes)
    seen = np.bincount(np.ravel_multi_index(codes.T.astype(int), SIZES), minlength=len(p)) / n
    rng = np.random.default_rng(0)
    by_chance = np.abs(rng.multinomial(n, p, 200) / n - p).sum(axis=1) / 2
    return float(np.abs(seen - p).sum() / 2), float(by_chance.mean()), float(by_chance.std())


def close(codes: np.ndarray, p: np.ndarray) -> bool:
    found, mean, error = total_variation(codes, p)
    return found < mean + 5 * error


ALLOWED = {
    "one answer": ({0: [1]}),
    "two questions": ({1: [1], 2: [0]}),
    "several answers": ({0: [0, 2], 2: [1, 2]}),
}


def mask(given: dict[int, list[int]]) -> np.ndarray:
    allowed = np.ones(STARTS[-1], bool)
    for q, places in given.items():
        allowed[STARTS[q] : STARTS[q + 1]] = False
        allowed[STARTS[q] + np.array(places)] = True
    return allowed


@pytest.mark.parametrize("given", ALLOWED.values(), ids=ALLOWED)
def test_a_conditions_records_follow_the_distribution_given_it(given):
    model, allowed = small(), mask(given)
    conditioned = model.given(allowed, codebook_of(*SIZES))
    codes = fresh.fresh(conditioned.tables, 40_000, np.random.default_rng(1))
    assert allowed[codes + STARTS[:-1]].all()
    assert not close(codes, expected(model, allowed))  # fresh records are not yet the model's
    for number in range(12):
        codes = conditioned.step(codes, 3, number, 1).codes
    assert close(codes, expected(model, allowed))
    assert not close(codes, expected(small(5), allowed))


@pytest.mark.pipeline
@pytest.mark.parametrize("gpu", [False, True], ids=["kernel", "torch"])
def test_answers_of_single_records_stay_and_the_others_follow_given_them(gpu):
    model, n = small(), 40_000
    patterns = np.array([[1, -1, -1, 0], [-1, 1, 2, -1], [2, 0, -1, -1], [-1, -1, -1, -1]], np.int16)
    given = np.tile(patterns, (n, 1))
    codes, lost = fresh.begun(model.tables, given, np.random.default_rng(2))
    assert not len(lost)
    held = given >= 0
    for number in range(12):
        codes = model.step(codes, 5, number, 2, gpu=torch.device("cpu") if gpu else None, held=held).codes
    assert np.array_equal(codes[held], given[held])
    for at, pattern in enumerate(patterns):
        fixed = mask({q: [k] for q, k in enumerate(pattern.tolist()) if k >= 0})
        assert close(codes[at :: len(patterns)], expected(model, fixed))


def test_exchanges_move_no_held_answer_and_leave_the_distribution():
    model, rng = small(), np.random.default_rng(3)
    p = probabilities(model.tables)
    codes = states(STARTS)[rng.choice(len(p), 100_000, p=p)]
    held = rng.random(codes.shape) < 0.3
    linked = exchange.Links(model.strength)
    moved, accepted = exchange.exchange(codes, model.tables, linked, 20, rng, 2, held)
    assert accepted > 0.01 and np.array_equal(moved[held], codes[held])
    statistic, freedom = chi_square(moved, model.tables)
    assert statistic < freedom + 5 * np.sqrt(2 * freedom)


def test_held_answers_do_not_count_in_the_entropy():
    model = sweeps.tables(np.zeros((5, 5)), np.zeros(5), np.zeros((5, 5), bool), np.array([0, 3, 5]))
    held = np.array([[True, False]])
    swept = sweeps.sweep(np.zeros((1, 2), np.int16), model, 1, 1, 1, True, held)
    assert swept.entropy_bits == pytest.approx(1)


def chain() -> np.ndarray:
    """Zeros of three questions of two answers: A's and B's first exclude together what C may be."""
    excluded = np.zeros((6, 6), bool)
    for one, other in ((0, 4), (2, 5)):
        excluded[one, other] = excluded[other, one] = True
    return excluded


def test_what_only_becomes_impossible_together_is_found():
    starts, excluded = np.array([0, 2, 4, 6]), chain()
    assert possible.completed(excluded, starts, possible.allowing(np.array([0, 0, -1]), starts)) is None
    assert possible.clash(excluded, starts, possible.allowing(np.array([0, 0, -1]), starts)) == [0, 1]
    assert possible.clash(excluded, starts, possible.allowing(np.array([0, 1, -1]), starts)) == []
    found = possible.completed(excluded, starts, possible.allowing(np.array([0, -1, -1]), starts))
    assert found is not None and found.tolist() == [0, 1, 1]


@pytest.mark.pipeline
def test_completion_agrees_with_enumeration():
    for seed in range(60):
        rng = np.random.default_rng(seed)
        model = random_model(STARTS, rng, zeros=0.45)
        excluded, given = model.excluded.astype(bool), rng.integers(-1, np.array(SIZES), 4).astype(np.int16)
        fits = (~violations(states(STARTS), model)) & ((states(STARTS) == given) | (given < 0)).all(axis=1)
        found = possible.completed(excluded, STARTS, possible.allowing(given, STARTS))
        assert (found is not None) == fits.any()
        assert found is None or fits[(states(STARTS) == found).all(axis=1)].all()
        codes, lost = fresh.begun(model, np.tile(given, (3, 1)), rng)
        assert len(lost) == (0 if fits.any() else 3)
        assert all(
            fits[(states(STARTS) == code).all(axis=1)].all() for code in np.delete(codes, lost, axis=0)
        )


PEOPLE = Codebook(
    "people",
    (
        Question(
            "AGEP",
            "Age",
            "AGEP",
            "merged",
            (
                Category("0", "under 1", "0"),
                Category("1", "1 to 19 years", "1..19"),
                Category("2", "20 to 59 years", "20..59"),
                Category("3", "60 to 69 years", "60..69"),
                Category("4", "70 or older", "70.."),
            ),
        ),
        Question("SEX", "Sex", "SEX", "as coded", (Category("1", "male", "1"), Category("2", "female", "2"))),
        Question(
            "PAY",
            "Pay",
            "PAY",
            "numbers",
            (
                Category("DK", "do not know", "DK"),
                Category("1", "under 1,000", "[-inf, 1000.0)"),
                Category("=0", "none", "=0"),
                Category("2", "1,000 to 4,999", "[1000.0, 5000.0)"),
                Category("3", "5,000 or more", "[5000.0, inf)"),
            ),
        ),
    ),
)


@pytest.mark.parametrize(
    ("asked", "columns"),
    [
        ({"AGEP": ["60-69"], "SEX": 2}, "AGEP=3 SEX=2"),
        ({"AGEP": "60..69", "SEX": "Female"}, "AGEP=3 SEX=2"),
        ({"AGEP": [3, "70 or older"]}, "AGEP=3 AGEP=4"),
        ({"AGEP": "..19"}, "AGEP=0 AGEP=1"),
        ({"AGEP": "1..", "SEX": [1, 2]}, "AGEP=1 AGEP=2 AGEP=3 AGEP=4 SEX=1 SEX=2"),
        ({"PAY": "1000-4999"}, "PAY=2"),
        ({"PAY": ["DK", "=0"]}, "PAY=DK PAY==0"),
    ],
)
def test_conditions_are_codes_labels_and_ranges(asked, columns):
    left = {name for name, own in zip(PEOPLE.columns, where.allowed(asked, PEOPLE), strict=True) if own}
    asked_of = {name for name in left if name.partition("=")[0] in asked}
    assert asked_of == set(columns.split())
    assert left >= {name for name in PEOPLE.columns if name.partition("=")[0] not in asked}


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"AGE": 3}, "no question 'AGE'; did you mean 'AGEP'"),
        ({"SEX": "femal"}, "SEX has no category 'femal'; did you mean 'female'"),
        ({"AGEP": "60-75"}, r"60-75 cuts through 4 \(70 or older\)"),
        ({"AGEP": 65}, r"65 cuts through 3 \(60 to 69 years\)"),
        ({"SEX": []}, "SEX is left no category"),
        ({"PAY": "0-4999"}, r"cuts through 1 \(under 1,000\)"),
    ],
)
def test_unknown_conditions_are_refused_with_the_nearest_name(asked, said):
    with pytest.raises(InputError, match=said):
        where.allowed(asked, PEOPLE)


def people(n: int = 3000) -> Records:
    """Three questions; nobody of the first answer to A has the last to B."""
    rng = np.random.default_rng(1)
    codes = codes_of((3, 3, 4), n, rng)
    codes[:, 1] = np.where(rng.random(n) < 0.8, codes[:, 0], codes[:, 1])
    codes[(codes[:, 0] == 0) & (codes[:, 1] == 2), 1] = 0
    return records_of(codes, (3, 3, 4))


@pytest.fixture(scope="module")
def fitted() -> Stationary:
    return Stationary.fit(people(), seed=1, tolerance=0.5, most_windows=1, triples=0)


@pytest.mark.parametrize("balanced", [False, True])
@pytest.mark.parametrize("n", [None, 100, 5000])
def test_a_rows_condition_holds_in_every_record(fitted, balanced, n):
    true = people()
    drawn = fitted.sample(true, given={"A": [1, 3], "B": 3}, sweeps=5, balanced=balanced, n=n)
    meets = np.isin(true.codes[:, 0], [0, 2]) & (true.codes[:, 1] == 2)
    assert len(drawn) == (meets.sum() if n is None else n)
    assert set(drawn.codes[:, 1].tolist()) == {2} and set(drawn.codes[:, 0].tolist()) <= {0, 2}
    assert not drawn.record.mask.any() and meets[drawn.record].all()


def test_a_condition_without_true_records_begins_fresh(fitted):
    drawn = fitted.sample(given={"B": 3}, n=500, sweeps=10)
    assert len(drawn) == 500 and (drawn.codes[:, 1] == 2).all() and drawn.record.mask.all()


def test_a_frames_answers_stay_in_its_order(fitted):
    frame = pd.DataFrame({"B": [3.0, None, 1.0], "A": ["3", "1", None]})
    drawn = fitted.sample(given=frame, n=300, sweeps=10)
    table = drawn.to_frame()
    assert (table["B"][::3] == "3").all() and (table["A"][::3] == "3").all()
    assert (table["A"][1::3] == "1").all() and set(table["B"][1::3]) > {"1"}
    assert (table["B"][2::3] == "1").all() and drawn.record.mask.all()


def test_what_structural_zeros_forbid_is_refused_by_name(fitted):
    for given in ({"A": 1, "B": [3]}, pd.DataFrame({"A": [2, 1], "B": [3, 3]})):
        with pytest.raises(InputError, match=r"together: A 1 \(answer 1\); B 3 \(answer 3\)") as refused:
            fitted.sample(given=given, n=10)
    assert "record 2 of those given" in str(refused.value)
    with pytest.raises(InputError, match="leave\n? ?'records'"):
        fitted.sample(people(), given=pd.DataFrame({"A": [1]}))


def test_a_condition_that_no_true_record_meets_is_refused_where_chains_begin_there(fitted):
    true = people()
    without = true[true.codes[:, 2] != 3]
    row = check({"model": "m", "name": "r", "sweeps": 2, "where": {"C": 4}}, StationaryRow, "row")
    with pytest.raises(InputError, match=r"m/r: no true record is C 4 \(answer 4\)"):
        drawing.draw(fitted.model, without, row, Work("m/r", 1))


@pytest.mark.parametrize("n", [200, 1500])
def test_a_private_model_draws_any_number_from_what_it_released(n):
    true = people(600)
    private = Private.fit(true, epsilon=50.0, noise="seeded", pairs=1)
    drawn = private.sample(n)
    assert len(drawn) == n and drawn.record.mask.all()
    counted = (Counter(map(tuple, some.codes.tolist())) for some in (drawn, private.sample()))
    assert (next(counted) <= next(counted)) == (n == 200), "fewer are some of those, more are not"
    only = private.sample(n, given={"B": 1})
    assert len(only) == n and (only.codes[:, 1] == 0).all()
    share = np.bincount(drawn.codes[:, 0], minlength=3) / n
    true_share = np.bincount(private.sample().codes[:, 0], minlength=3) / len(private.sample())
    assert np.abs(share - true_share).max() < 0.12
