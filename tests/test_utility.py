"""What tables are worth to learners and analysts: planted differences are found, and none where none is."""

import json

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from conftest import ROOT, question_set
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from threadpoolctl import threadpool_limits

from modp.base.config import check, load
from modp.base.errors import InputError
from modp.base.output import Log
from modp.cli import alone
from modp.figures import analyses as figure
from modp.figures.given import Given
from modp.files.read import read
from modp.files.table import BLANK, Column, Table
from modp.measures import analyses, learners, numbers
from modp.measures.ends import HELD_OUT, SAMPLE
from modp.measures.formulas import Analysis, wanted
from modp.measures.frames import MOST_CATEGORIES, at_rows, frames, frames_of_codes, matrices
from modp.pipeline.params import Params
from modp.release import stored
from modp.release.assembled import Released
from modp.summaries import metrics, utility
from modp.survey.codebook import Category, Codebook, Question
from modp.survey.questions import QuestionSet

FIRST = "1..9"


def people(n: int, rng: np.random.Generator) -> np.ndarray:
    """A number, two columns that follow from it and noise, the second of them nominal, and one of chance."""
    x = rng.normal(size=n)
    of_x = (x + rng.normal(size=n) / 2 > 0).astype(float)
    return np.column_stack([x, x + rng.normal(size=n), of_x, rng.normal(size=n)])


NOMINAL = np.array([False, False, True, False])


# Raw answers as data frames


def table(**columns: list[str | None]) -> Table:
    made = []
    for name, answers in columns.items():
        kinds = sorted({a for a in answers if a is not None})
        places = [BLANK if a is None else kinds.index(a) for a in answers]
        made.append(Column(name, np.array(kinds, object), np.array(places, np.int32)))
    return Table(tuple(made))


QUESTIONS = question_set(
    {"name": "AGE", "label": "age", "missing": "b", "categories": {1: {"label": "x", "values": FIRST}}},
    {"name": "CODE", "label": "code", "missing": "b", "categories": {10: "x", 900: "y", 7000: "z"}},
    {"name": "PAY", "label": "pay", "numbers": {"cuts": [10], "words": {"none": "none"}}},
    {"name": "WORD", "label": "word", "categories": {"a": "x", "b": "y", "c": "z"}},
    {"name": "SEX", "label": "sex", "categories": {1: "m", 2: "f"}},
)
RECIPES = {recipe.name: recipe for recipe in QUESTIONS.questions}
COLUMNS = {name: name for name in RECIPES}


def test_numbers_are_numbers_and_codes_are_categories_coded_alike():
    ages = [str(age) for age in range(1, 10)]
    true = table(
        AGE=ages,
        CODE=["10", "900", "7000"] * 3,
        PAY=["12.5", "none", None] * 3,
        WORD=["a", "b", None] * 3,
        SEX=["1", "2", "1"] * 3,
    )
    other = table(AGE=["3"], CODE=["900"], PAY=["none"], WORD=["c"], SEX=["2"])
    first, second = frames([true, other], COLUMNS, RECIPES)
    assert first["AGE"].tolist() == list(range(1, 10)) and second["AGE"].tolist() == [3]
    assert first["PAY"][:2].tolist()[0] == 12.5 and np.isnan(first["PAY"][1:3]).all()
    assert first["SEX"].dtype == float, "an answer from a list of whole numbers without gaps is a number too"
    assert first["CODE"].tolist()[:3] == ["10", "900", "7000"] and second["CODE"].tolist() == ["900"]
    assert list(first["WORD"].cat.categories) == list(second["WORD"].cat.categories) == ["a", "b", "c"]
    (x, y), nominal = matrices([first, second])
    assert nominal.tolist() == [False, True, False, True, False]
    assert x[1, 1] == y[0, 1] and np.isnan(x[2, 3]) and np.isnan(y[0, 2])


def test_rows_of_a_table_may_come_twice():
    found = at_rows(table(A=["x", None, "y"]), np.array([2, 2, 1]))
    assert found["A"].words.filled("-").tolist() == ["y", "y", "-"]


def test_the_rarest_of_many_categories_are_one_for_learners():
    kinds = [f"k{k:03d}" for k in range(MOST_CATEGORIES + 5)]
    often = kinds + kinds[:MOST_CATEGORIES]
    frame = pd.DataFrame({"A": pd.Categorical(often, categories=kinds)})
    (x,), _ = matrices([frame])
    assert np.unique(x).size == MOST_CATEGORIES + 1
    assert (x[MOST_CATEGORIES : MOST_CATEGORIES + 5] == MOST_CATEGORIES).all()


def test_codes_of_classes_of_numbers_are_in_order_and_others_are_not():
    categories = (Category("1", "low", ""), Category("2", "high", ""))
    questions = tuple(Question(name, name, name, "", categories) for name in ("PAY", "WORD"))
    codes = np.array([[0, 1], [1, 0]], np.int16)
    (frame,) = frames_of_codes([codes], Codebook("t", questions), QUESTIONS)
    assert frame["PAY"].tolist() == [0.0, 1.0] and frame["WORD"].tolist() == ["2", "1"]


# Learners


def test_tables_of_one_population_cannot_be_told_apart():
    rng = np.random.default_rng(1)
    found = learners.detection(people(3000, rng), people(2000, rng), NOMINAL, rng)
    assert abs(found.auc - 0.5) < 3 * found.error and 0.007 < found.error < 0.011


def test_a_planted_difference_is_found_and_its_column_named():
    rng = np.random.default_rng(2)
    made, others = people(2000, rng), people(2000, rng)
    made[:, 1] = rng.permutation(made[:, 1])  # each column alone is as it was
    found = learners.detection(made, others, NOMINAL, rng)
    assert found.auc > 0.6 + 5 * found.error and np.argmax(found.drops) in (0, 1)
    made = people(2000, rng)
    made[:, 3] = np.abs(made[:, 3])
    found = learners.detection(made, others, NOMINAL, rng)
    assert found.auc > 0.7 and np.argmax(found.drops) == 3 and found.drops[3] > 0.2


def test_a_table_of_the_very_people_it_is_compared_with_is_not_cut_at_a_half():
    rng = np.random.default_rng(3)
    same = people(1000, rng)
    assert learners.detection(same, same, NOMINAL, rng).auc < 0.45


def test_too_few_records_tell_nothing():
    rng = np.random.default_rng(4)
    found = learners.detection(people(50, rng), people(2000, rng), NOMINAL, rng)
    assert np.isnan([found.auc, found.error, *found.drops]).all()
    (some, none) = learners.taught([people(300, rng), people(50, rng)], people(300, rng), NOMINAL, 0, rng)
    assert some.share == 1 and np.isnan(none.share)


def test_learners_do_not_depend_on_the_number_of_threads():
    def found(threads: int) -> learners.Detection:
        rng = np.random.default_rng(5)
        with threadpool_limits(threads):
            return learners.detection(people(200, rng), people(200, rng), NOMINAL, rng)

    one, two = found(1), found(2)
    assert one.auc == two.auc and one.drops.tolist() == two.drops.tolist()


@pytest.mark.parametrize("column", [1, 2])
def test_true_records_teach_all_that_they_teach_and_shuffled_ones_nothing(column):
    rng = np.random.default_rng(6)
    true, others = people(2000, rng), people(1500, rng)
    half, none = true.copy(), true.copy()
    half[:1000, column] = rng.permutation(half[:1000, column])
    none[:, column] = rng.permutation(none[:, column])
    whole, less, nothing = learners.taught([true, half, none], others, NOMINAL, column, rng)
    assert whole.share == 1 and whole.error == pytest.approx(0, abs=1e-12) and whole.skill > 0.3
    assert 0.3 < less.share < 0.95 and abs(nothing.share) < 0.25 and nothing.error > 0


def test_shares_are_ratios_of_what_the_mean_guess_loses():
    found = learners._taught(np.array([1.0, 2, 3]), np.array([2.0, 4, 6]), 5.0)
    assert (found.skill, found.share) == (0.4, 0.5) and found.error == pytest.approx(0, abs=1e-12)
    found = learners._taught(np.array([1.0, 3, 2]), np.array([2.0, 4, 6]), 5.0)
    by_hand = np.std([1 - 1, 3 - 2, 2 - 3], ddof=1) / (np.sqrt(3) * 4)
    assert found.error == pytest.approx(by_hand)


def test_answers_of_few_kinds_are_classes_and_the_rest_one_class():
    values = np.repeat(np.arange(10.0), np.arange(1, 11))
    made = learners.Target.of(values[:, None], np.array([False]), 0)
    assert made.classes.tolist() == [3, 4, 5, 6, 7, 8, 9]
    x, y = made.parted(np.column_stack([np.array([9.0, 0, np.nan])]))
    assert x.shape == (2, 0) and y.argmax(axis=1).tolist() == [6, 7]
    assert learners.Target.of(np.arange(13.0)[:, None], np.array([False]), 0).classes is None


def test_what_can_be_predicted_is_found_without_functions_and_chance():
    rng = np.random.default_rng(7)
    true = people(4000, rng)
    true = np.column_stack([true, true[:, 3]])
    found = learners.predictable(true, np.append(NOMINAL, False), rng)
    assert sorted(found) == [0, 1, 2], "the last two are one column twice"


# Numbers


def test_rank_correlations_are_spearmans():
    rng = np.random.default_rng(8)
    x = rng.normal(size=(400, 3)).round(1)
    x[:, 1] += x[:, 0]
    assert numbers.rank_correlations(x) == pytest.approx(pd.DataFrame(x).corr("spearman").to_numpy())
    x[:, 2] = 7
    assert np.isnan(numbers.rank_correlations(x)[2]).all()
    x[:350, 1] = np.nan
    assert np.isnan(numbers.rank_correlations(x)[0, 1])


@given(arrays(float, (120, 3), elements=st.sampled_from([0.0, 1, 2, 3, np.nan])))
def test_rank_correlations_are_symmetric_and_within_their_bounds(x):
    found = numbers.rank_correlations(x)
    assert found == pytest.approx(found.T, nan_ok=True)
    assert np.nanmax(np.abs(found), initial=0) <= 1 + 1e-9


def test_zeros_and_round_numbers_are_compared_by_hand():
    group = np.tile([1.0, 2], 200)
    amounts = np.tile(np.arange(20, 40), 20).astype(float) * 7
    amounts[group == 1] = np.where(np.arange(200) < 50, 0, amounts[group == 1])
    others = pd.DataFrame({"PAY": amounts, "SEX": group})
    made = others.copy()
    made.loc[(group == 1) & (np.cumsum(group == 1) <= 80), "PAY"] = 0
    found = numbers.compared(made, others)
    assert found.zero_shares == pytest.approx((80 - 50) / 200 / 2), "of the two groups one has more zeros"
    rounded = made.assign(PAY=np.where(made["PAY"] == 0, 0, 100.0))
    known = others["PAY"][others["PAY"] > 0]
    fifth = 1 - np.mean(known % 5 == 0)
    assert numbers.compared(rounded, others).rounded == pytest.approx(fifth), "273 is no ten times 100"
    assert numbers.compared(others, others) == numbers.Numbers(0, 0, 1, 0, 0, 0)


def test_quantiles_are_compared_by_the_share_of_people_below():
    others = pd.DataFrame({"PAY": np.arange(1, 101.0), "SEX": np.ones(100)})
    moved = others.assign(PAY=others["PAY"] + 10)
    assert numbers.compared(moved, others).quantiles == pytest.approx(0.1, abs=0.01)


def test_a_share_of_correlation_kept_is_the_slopes_ratio():
    rng = np.random.default_rng(9)
    z = rng.normal(size=(20_000, 1))
    strong, weak = (pd.DataFrame(z * a + rng.normal(size=(20_000, 4))) for a in (1.0, 0.7))
    other = pd.DataFrame(rng.normal(size=(20_000, 1)) + rng.normal(size=(20_000, 4)))
    slopes = [numbers.compared(frame, other).spearman_slope for frame in (strong, weak)]
    assert slopes[0] == pytest.approx(1, abs=0.03)
    assert slopes[1] / slopes[0] == pytest.approx(0.49 / 1.49 / 0.5, abs=0.04)


def test_a_table_without_numbers_has_nothing_to_compare():
    words = pd.DataFrame({"WORD": pd.Categorical(["a", "b"] * 50)})
    assert np.isnan(list(vars(numbers.compared(words, words)).values())).all()


# Analyses


def asked(formula: str, model: str = "ols", **more: object) -> Analysis:
    return Analysis.model_validate({"name": "t", "formula": formula, "model": model, **more})


def survey(n: int = 400, seed: int = 10) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age, sex = rng.integers(20, 60, n).astype(float), rng.integers(1, 3, n).astype(float)
    pay = np.round(np.exp(8 + age / 50 - 0.3 * (sex == 2) + rng.normal(size=n) / 3))
    insured = (rng.random(n) < 1 / (1 + np.exp(-(age - 30) / 10))).astype(float)
    return pd.DataFrame(
        {"AGE": age, "SEX": sex, "PAY": pay, "INSURED": insured, "WORD": list("abcd") * (n // 4)}
    )


def test_least_squares_are_those_worked_out_by_hand():
    frame = survey()
    found = analyses.estimated(asked("np.log(PAY) ~ AGE + C(SEX)"), {"a": frame, "b": frame[:200]})
    assert found["term"].tolist()[:3] == ["Intercept", "AGE", "C(SEX)[T.2]"]
    assert found["records"].tolist() == [400] * 3 + [200] * 3 and not found["said"].any()
    x = np.column_stack([np.ones(400), frame["AGE"], frame["SEX"] == 2])
    y = np.log(frame["PAY"].to_numpy())
    inverse = np.linalg.inv(x.T @ x)
    beta = inverse @ x.T @ y
    squares = np.square(y - x @ beta) * 400 / 397
    errors = np.sqrt(np.diag(inverse @ (x.T * squares) @ x @ inverse))
    own = found[found["row"] == "a"]
    assert own["estimate"].to_numpy() == pytest.approx(beta) and own["error"].to_numpy() == pytest.approx(
        errors
    )


def test_other_models_are_those_of_statsmodels():
    frame = survey()
    x = sm.add_constant(frame[["AGE"]])
    wanted_ = {
        "logit": sm.Logit(frame["INSURED"], x).fit(disp=False, cov_type="HC1"),
        "poisson": sm.Poisson(frame["INSURED"], x).fit(disp=False, cov_type="HC1"),
    }
    for model, result in wanted_.items():
        found = analyses.estimated(asked("INSURED ~ AGE", model), {"a": frame})
        assert found["estimate"].to_numpy() == pytest.approx(result.params.to_numpy(), rel=1e-4)
        assert found["error"].to_numpy() == pytest.approx(result.bse.to_numpy(), rel=1e-2)
    found = analyses.estimated(asked("PAY ~ AGE", "quantile", quantiles=[0.5, 0.9]), {"a": frame})
    assert found["model"].unique().tolist() == ["quantile 0.5", "quantile 0.9"]
    for share, part in zip((0.5, 0.9), (found[:2], found[2:]), strict=True):
        result = sm.QuantReg(frame["PAY"], x).fit(q=share)
        assert part["estimate"].to_numpy() == pytest.approx(result.params.to_numpy(), rel=1e-6)


def test_means_of_groups_are_means_and_subsets_are_taken():
    frame = survey()
    found = analyses.estimated(asked("PAY ~ 0 + C(SEX)", subset="AGE >= 40 and WORD == 'a'"), {"a": frame})
    part = frame[(frame["AGE"] >= 40) & (frame["WORD"] == "a")].groupby("SEX")["PAY"]
    assert found["estimate"].to_numpy() == pytest.approx(part.mean().to_numpy())
    assert found["error"].to_numpy() == pytest.approx(part.sem().to_numpy(), rel=0.05)


def test_terms_without_an_estimate_say_why_and_cost_no_other_table_its_own():
    frame = survey()
    without = frame[frame["WORD"] != "d"]
    found = analyses.estimated(asked("PAY ~ WORD"), {"a": frame, "b": without})
    assert found["said"].tolist() == ["", "", "", "", "", "", "", analyses.NOBODY]
    assert found["estimate"].notna().tolist() == [True] * 7 + [False]
    twice = analyses.estimated(asked("PAY ~ AGE + I(2 * AGE)"), {"a": frame})
    assert set(twice["said"]) == {analyses.SINGULAR} and twice["estimate"].isna().all()
    parted = analyses.estimated(asked("{AGE > 40} ~ AGE", "logit"), {"a": frame})
    assert set(parted["said"]) == {analyses.NOT_FOUND}
    few = analyses.estimated(asked("PAY ~ AGE"), {"a": frame, "b": frame[:8]})
    assert few["said"].tolist() == ["", "", analyses.FEW, analyses.FEW]


def test_records_without_an_answer_or_a_logarithm_are_left_out():
    frame = survey()
    frame.loc[:9, "AGE"], frame.loc[10:29, "PAY"] = np.nan, 0
    assert analyses.estimated(asked("np.log(PAY) ~ AGE"), {"a": frame})["records"].tolist() == [370, 370]


@pytest.mark.parametrize(
    ("analysis", "said"),
    [
        (asked("PAY AGE ~ SEX"), "Missing operator"),
        (asked("nolog(PAY) ~ SEX"), "nolog"),
        (asked("PAY ~ SEX", subset="AGE >"), "subset 'AGE >'"),
        (asked("WORD ~ AGE"), "categories"),
        (asked("PAY ~ AGE", "logit"), "0 and 1"),
        (asked("I(0 - PAY) ~ AGE", "poisson"), "below zero"),
    ],
)
def test_what_cannot_be_computed_is_refused_by_name(analysis, said):
    with pytest.raises(InputError, match=f"analyses: t: .*{said}"):
        analyses.estimated(analysis, {"a": survey()})


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"formula": "PAY"}, "two sides"),
        ({"formula": "PAY ~ "}, "two sides"),
        ({"formula": "np.log(PAY ~ AGE"}, "not closed"),
        ({"formula": "PAY) ~ AGE"}, "closes none"),
        ({"model": "OLS"}, "ols"),
        ({"model": "quantile", "quantiles": [1.5]}, "shares"),
    ],
)
def test_analyses_that_cannot_be_read_are_refused(wrong, said):
    with pytest.raises(InputError, match=said):
        check({"name": "t", "formula": "PAY ~ AGE", "model": "ols"} | wrong, Analysis, "params.yaml")


def test_the_questions_of_a_formula_are_its_names_but_for_functions():
    formula = (
        "np.log(PAY) ~ bs(AGE, df=4) + C(SEX, contr.treatment(2)):WORD - 1 + I(AGE**2) + {CODE == 'AGE x'}"
    )
    assert asked(formula, subset="not MAR in [1, 2]").questions == [
        "PAY",
        "AGE",
        "SEX",
        "WORD",
        "CODE",
        "MAR",
    ]


def test_an_unknown_question_is_refused_with_the_nearest_name_before_anything_runs():
    with pytest.raises(InputError, match="no question 'PAYY' in 't'; did you mean 'PAY'"):
        wanted([asked("PAYY ~ AGE")], QUESTIONS, QUESTIONS)
    others = asked("ANYTHING ~ AGE", question_set="stums")
    without = question_set(*(q.model_dump(exclude_none=True) for q in QUESTIONS.questions[:2]))
    assert wanted([others, asked("PAY ~ AGE")], QUESTIONS, without) == []


def test_the_analyses_of_params_yaml_are_of_the_samples_questions():
    stums = load(ROOT / "workflow/questions/stums.yaml", QuestionSet)
    params = load(ROOT / "params.yaml", Params)
    assert wanted(params.analyses, stums, stums) == params.analyses and params.analyses


def test_two_analyses_of_one_name_and_utility_of_a_row_that_is_not_there():
    content = load(ROOT / "params.yaml", Params).model_dump()
    twice = content | {"analyses": content["analyses"] * 2}
    with pytest.raises(InputError, match="two analyses are called 'log income'"):
        check(twice, Params, "params.yaml")
    other = content | {"utility": {"rows": ["population/balanced", "nobody/plain"]}}
    assert check(other, Params, "params.yaml").useful == ["population/balanced"]


# Tables and figure

LINES = {
    SAMPLE: [(1.0, 0.1), (0.0, 0.2), (-3.0, 1.0)],
    HELD_OUT: [(1.2, 0.2), (0.1, 0.4), (-2.0, 2.0)],
    "m/r": [(1.1, 0.1), (0.5, 0.2), (np.nan, np.nan)],
}
ESTIMATED = pd.DataFrame(
    [
        ("t", "ols", term, row, 50, estimate, error, "" if estimate == estimate else "why")
        for row, lines in LINES.items()
        for term, (estimate, error) in zip("abc", lines, strict=True)
    ],
    columns=list(analyses.COLUMNS),
)


def test_estimates_stand_beside_the_true_ones_by_hand():
    found = utility.analyses_table(ESTIMATED)
    own = found[found["row"] == "m/r"]
    assert own["off"].to_numpy() == pytest.approx([1, 2.5, np.nan], nan_ok=True)
    assert own["off_held"].to_numpy() == pytest.approx(
        [-0.1 / np.hypot(0.1, 0.2), 0.4 / np.hypot(0.2, 0.4), np.nan], nan_ok=True
    )
    width = 2 * 1.959964
    shared = (width * 0.1 - 0.1) / (width * 0.1), (width * 0.2 - 0.5) / (width * 0.2)
    assert own["overlap"].to_numpy()[:2] == pytest.approx(shared)
    assert own["agrees"].tolist() == [True, False, False] and own["said"].tolist()[2] == "why"
    assert HELD_OUT not in set(found["row"])


MEASURED = pd.DataFrame(
    [
        (row, *line)
        for row, by in ((SAMPLE, 1.0), ("m/r", 2.0))
        for line in (
            ("auc_raw", "", 0.5 + by / 100, 0.01),
            ("auc_classes", "", 0.5, 0.01),
            (utility.DROP, "A", 0.01, np.nan),
            (utility.DROP, "B", 0.02, np.nan),
            (utility.SKILL, "A", 0.6, np.nan),
            (utility.TAUGHT, "A", 1.0 / by, 0.02),
            (utility.SKILL, "B", 0.7, np.nan),
            (utility.TAUGHT, "B", 0.8 / by, 0.03),
            *((key, "", 0.1 * by, np.nan) for key in vars(numbers.Numbers(0, 0, 0, 0, 0, 0))),
        )
    ],
    columns=["row", "measure", "of", "value", "error"],
)


def test_the_table_of_utility_has_a_line_a_row_and_metrics_follow():
    found = utility.utility_table(MEASURED, utility.analyses_table(ESTIMATED))
    own = found.set_index("model").loc["m"]
    assert own["auc_raw"] == pytest.approx(0.52) and own["auc_raw_error"] == 0.01
    assert (own["tstr_median"], own["tstr_worst"]) == (pytest.approx(0.45), pytest.approx(0.4))
    assert own["ratio_quantiles"] == pytest.approx(2)
    assert own["analyses_off"] == pytest.approx(1.75) and own["analyses_agree"] == pytest.approx(1 / 3)
    tree = metrics._utility(found)
    assert tree["m"]["r"]["auc_raw_error"] == 0.01 and tree[SAMPLE]["analyses_off"] == 0
    texts = "\n".join(part.markdown() for part in utility.printed_utility(found, MEASURED))
    assert "| m/r | 0.520 ± 0.010 |" in texts and "| m/r | B 0.020 | A 0.010 |" in texts
    assert "| A | 0.600 | 0.500 ± 0.020 |" in texts
    printed = "\n".join(p.markdown() for p in utility.printed_analyses(utility.analyses_table(ESTIMATED)))
    assert (
        "| a | 1 ± 0.1 | 1.2 ± 0.2 | 1.1 ± 0.1 | +1.0 |" in printed
        and "| c | -3 ± 1 | -2 ± 2 |  |  |" in printed
    )


def test_without_analyses_the_table_of_utility_is_without_their_part():
    none = utility.analyses_table(ESTIMATED[:0])
    found = utility.utility_table(MEASURED, none)
    assert not len(none) and found["analyses_off"].isna().all()
    assert "Analyses" not in [part.caption for part in utility.printed_utility(found, MEASURED)]


def test_the_figure_of_analyses_is_titled_with_what_it_finds():
    found = utility.analyses_table(ESTIMATED)
    made = figure.analyses_figure(Given("People", ["m/r"], [found], Codebook("t", ()), 1))
    assert "m, r: 33%" in made.get_suptitle()
    (axis,) = made.axes
    assert [label.get_text() for label in axis.get_yticklabels()] == ["a", "b", "c"]
    assert figure._called("C(SEX)[T.2]:AGE") == "SEX 2:AGE"
    figure.style.close(made)
    empty = figure.analyses_figure(Given("People", ["m/r"], [found[:0]], Codebook("t", ()), 1))
    assert "no estimates" in empty.get_suptitle()
    figure.style.close(empty)


# The step

DATASET = """\
title: People
questions: people
files: [people.csv]
table: {}
household: HOME
"""
QUESTION_SET = """\
name: people
title: People
records: persons
questions:
  - {name: PAY, label: pay, unit: $, numbers: {cuts: [3000, 6000, 9000]}}
  - {name: SEX, label: sex, categories: {1: m, 2: f}}
  - {name: WORD, label: word, categories: {a: A, b: B, c: C, d: D}}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """People in a file, and in two, those to hold out in the other; coded, and a resample of them."""
    made = tmp_path_factory.mktemp("utility")
    people_ = survey(2400)[["PAY", "SEX", "WORD"]].astype({"PAY": int, "SEX": int})
    people_.insert(0, "HOME", np.arange(2400) // 2)
    people_.to_csv(made / "people.csv", index=False)
    people_[:1600].to_csv(made / "known.csv", index=False)
    people_[1600:].to_csv(made / "held.csv", index=False)
    (made / "people.yaml").write_text(DATASET)
    (made / "two.yaml").write_text(
        DATASET.replace("people.csv", "known.csv") + "holdout: {files: [held.csv]}\n"
    )
    (made / "questions.yaml").write_text(QUESTION_SET)
    return made


def tried(folder, dataset: str, files: list[str], held: list[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """What the step says of true records that a release would repeat, by a mean and by learners."""
    at = folder / dataset
    given = {"files": [folder / f for f in files], "held_files": [folder / f for f in held], "share": 0.25}
    given |= {"dataset": folder / f"{dataset}.yaml", "questions": folder / "questions.yaml", "seed": 1}
    coded = {name: at / f"{name}.parquet" for name in ("records", "holdout")} | {"codebook": at / "book.json"}
    alone.step("code", {**given, **coded}, Log(quiet=True))
    table, _ = read(folder / files[0])
    rows = pd.read_csv(folder / files[0]).index[: len(pd.read_parquet(coded["records"]))].to_numpy()
    stored.write(at / "values.parquet", Released(at_rows(table, rows), {}))
    mean = {"name": "mean", "formula": "PAY ~ 1", "model": "ols"}
    words = {"rows": "m/r", "synthetic": coded["records"], "raw": at / "values.parquet", "resample": []}
    out = {"out": at / "measured.parquet", "estimates": at / "estimated.parquet"}
    words |= {"analyses": json.dumps([mean]), **out}
    alone.step("utility", {**given, **coded, **words}, Log(quiet=True))
    return tuple(pd.read_parquet(path) for path in out.values())


@pytest.mark.pipeline
def test_the_step_compares_with_people_held_out_of_the_same_file(folder):
    measured, estimated = tried(folder, "people", ["people.csv"], [])
    assert estimated["row"].tolist() == [SAMPLE, HELD_OUT, "bootstrap", "m/r"]
    known, held = estimated["records"][:2]
    assert (known, held) == (1800, 600)
    pay = pd.read_csv(folder / "people.csv")["PAY"]
    means = estimated["estimate"].to_numpy()
    assert (means[0] * known + means[1] * held) / 2400 == pytest.approx(pay.mean())
    found = measured[measured["of"] == ""].set_index(["measure", "row"])
    for measure in ("auc_raw", "auc_classes"):
        line = found.loc[(measure, SAMPLE)]
        assert abs(line["value"] - 0.5) < 3.5 * line["error"]
    assert set(measured.loc[measured["measure"] == utility.DROP, "of"]) == {"PAY", "SEX", "WORD"}


@pytest.mark.pipeline
def test_the_step_compares_with_people_of_another_file_and_gives_the_same_bytes_again(folder):
    _, estimated = tried(folder, "two", ["known.csv"], ["held.csv"])
    for name, file in ((SAMPLE, "known.csv"), (HELD_OUT, "held.csv"), ("m/r", "known.csv")):
        own = estimated[estimated["row"] == name]
        assert own["estimate"].item() == pytest.approx(pd.read_csv(folder / file)["PAY"].mean())
    first = [(folder / "two" / f"{n}.parquet").read_bytes() for n in ("measured", "estimated")]
    with threadpool_limits(2):
        tried(folder, "two", ["known.csv"], ["held.csv"])
    assert first == [(folder / "two" / f"{n}.parquet").read_bytes() for n in ("measured", "estimated")]
