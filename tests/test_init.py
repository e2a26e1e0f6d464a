import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyreadstat
import pytest
import yaml
from conftest import shared

from modp.__main__ import main
from modp.base.config import load
from modp.cli.init import name_of
from modp.pums.where import Dataset
from modp.survey.codebook import Codebook
from modp.survey.questions import QuestionSet
from modp.survey.records import Records

pytestmark = pytest.mark.pipeline  # they run whole steps

Table = dict[str, Sequence[object]]
RNG = np.random.default_rng(16)
INCOMES = (RNG.lognormal(10, 1, 700) // 10 * 10).astype(int)


@dataclass(frozen=True)
class Coded:
    dataset: Dataset
    recipe: Path
    records: Records
    holdout: Records
    said: str
    logged: str

    @property
    def codebook(self) -> Codebook:
        return self.records.codebook

    @property
    def questions(self) -> QuestionSet:
        return load(self.recipe, QuestionSet)

    @property
    def names(self) -> list[str]:
        return self.codebook.names

    def codes_of(self, name: str, holdout: bool = False) -> list[str]:
        """Each record's category of a question, by its code."""
        at = self.names.index(name)
        codes = [category.code for category in self.codebook.questions[at].categories]
        return [codes[k] for k in (self.holdout if holdout else self.records).codes[:, at]]

    def labels(self, name: str) -> list[str]:
        return list(self.codebook.questions[self.names.index(name)].labels)


def as_csv(folder: Path, table: Table, name: str = "own.csv", delimiter: str = ",", **more: str) -> Path:
    """A CSV of these columns; None is a blank."""
    with (folder / name).open("w", newline="", **more) as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(table)
        writer.writerows(zip(*table.values(), strict=True))
    return folder / name


@pytest.fixture
def coded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Coded]:
    """Writes both YAML files of a table, and codes it by them."""

    def run(table: Table | Path, share: float = 0.0) -> Coded:
        file = table if isinstance(table, Path) else as_csv(tmp_path, table)
        out = tmp_path / "out"
        if main(["init", str(file), "--folder", str(out)]):
            pytest.fail(capsys.readouterr().err)
        said = capsys.readouterr().out
        name = name_of(file)
        dataset, questions = out / f"{name}.dataset.yaml", out / f"{name}.questions.yaml"
        records, holdout, codebook = (out / part for part in ("records", "holdout", "codebook.json"))
        arguments = ["--files", file, "--dataset", dataset, "--questions", questions, "--records", records]
        arguments += ["--holdout", holdout, "--codebook", codebook, "--share", share, "--seed", 1]
        if main(["code", *map(str, arguments)]):
            pytest.fail(capsys.readouterr().err)
        made = Codebook.from_json(codebook.read_text())
        both = (Records.read(path, made) for path in (records, holdout))
        return Coded(load(dataset, Dataset), questions, *both, said, capsys.readouterr().err)

    return run


@pytest.fixture
def refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[[Table], str]:
    """What is said of a table of which no data set can be made; nothing is written."""

    def run(table: Table) -> str:
        assert main(["init", str(as_csv(tmp_path, table)), "--folder", str(tmp_path / "out")]) == 1
        assert not (tmp_path / "out").exists()
        return capsys.readouterr().err

    return run


def answers_come_back(found: Coded, table: Table) -> None:
    """Every record has the category whose values hold its answer."""
    for question in found.questions.questions:
        if question.in_words and question.numbers is None:
            place = question.words()
            wanted = ["-1" if a in (None, "") else place[str(a)] for a in table[question.source]]
            assert found.codes_of(question.name) == wanted


SEXES = ["f", "m", "f", "m", "m"] * 8

ODD = {
    "all blank": {"a": SEXES, "b": [1, 2] * 20, "empty": [None] * 40},
    "seen once": {"a": SEXES, "b": ["yes"] * 39 + ["no"]},
    "300 categories": {"a": SEXES * 15, "b": [f"w{k % 300}" for k in range(600)]},
    "texts for nothing": {"a": SEXES, "b": ["NA", "None", "null", "nan", None, "N/A", "", "0"] * 5},
    "odd names": {"a b": SEXES, "a_b": SEXES[::-1], "x, y": SEXES, 'a "b"\nc': SEXES, "ü": SEXES},
    "names of our own": {"record": SEXES, "entropy_bits": SEXES[::-1], "STATE": SEXES},
    "words with a meaning": {"a": ["blank", "-1", "value 1", "=1"] * 10, "b": ["No", "off", "~", "on"] * 10},
    "one row": {"a": ["x"], "b": ["y"]},
    "two rows": {"a": ["x", "x"], "b": ["y", "z"], "c": ["v", "w"]},
    "nine rows": {"a": list("abcabcabc"), "b": list("xyxyxyxyx"), "age": [33, 54, 21, 78, 5, 62, 41, 19, 90]},
    "two questions": {"a": SEXES, "b": SEXES[::-1]},
    "three questions": {"a": SEXES, "b": SEXES[::-1], "c": [1, 2] * 20},
    "non-Latin": {"性别": ["男", "女"] * 20, "пол": ["муж", "жен"] * 20},
}  # fmt: skip


@pytest.mark.parametrize("case", ODD)
def test_odd_tables_are_coded_answer_by_answer(coded, case: str):
    table = ODD[case]
    found = coded(table)
    rows = len(next(iter(table.values())))
    assert found.records.codes.shape == (rows, len(found.names))
    assert found.records.codes.min() >= 0
    answers_come_back(found, table)


def test_columns_of_odd_tables_are_left_out_by_name_with_the_reason(coded):
    words = [f"w{k}" for k in range(5000)]
    found = coded({"a": SEXES * 250, "many": words * 2, "empty": [None] * 10_000, "land": ["NO"] * 10_000,
                   "said": [f"I think that number {k} is by far the best of them" for k in range(10_000)],
                   "b": [1, 2] * 5000})  # fmt: skip
    assert found.names == ["a", "b"]
    assert found.dataset.other_columns == {
        "many": "many words", "empty": "all blank", "land": "constant", "said": "free text",
    }  # fmt: skip
    assert "many (many words): 5,000 different words or codes, more than 1,000" in found.said


def test_300_categories_and_one_seen_once_are_all_there(coded):
    found = coded({"a": SEXES * 15, "b": [f"w{k % 299}" for k in range(599)] + ["seldom"]})
    assert found.codebook.sizes.tolist() == [2, 300]
    assert found.codes_of("b").count("seldom") == 1


def test_500_questions_of_200_rows_are_coded(coded):
    answers = RNG.integers(0, 4, (500, 200))
    found = coded({f"q{k}": answers[k].tolist() for k in range(500)})
    assert (found.records.codes == answers.T).all()


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"a": [], "b": []}, "has no rows: there is nothing to learn from"),
        ({"a": SEXES}, "only a can be a question, and synthetic records need two at least"),
        ({"a": SEXES, "b": ["x"] * 40}, "only a can be a question.*b (constant): the same answer"),
        ({"a": ["x"] * 9, "b": ["y"] * 9}, "no column can be a question.*a (constant)"),
        ({"a": [None] * 9, "b": [None] * 9}, "no column can be a question.*b (all blank): no row has"),
        ({"a": SEXES, "b": range(1000, 1040)}, "only a can be a question.*b (identifier): an identifier"),
    ],
)  # fmt: skip
def test_what_no_data_set_can_be_made_of_is_refused_with_the_reason(refused, table: Table, said: str):
    told = refused(table)
    for part in said.split(".*"):
        assert part in told


def test_decimal_commas_are_numbers(coded, tmp_path: Path):
    numbers = [f"{value / 10:.1f}".replace(".", ",") for value in RNG.integers(0, 2000, 400)]
    found = coded(as_csv(tmp_path, {"km": numbers, "sex": SEXES * 10}, delimiter=";"))
    recipe = found.questions.questions[0].numbers
    assert recipe is not None and 5 <= len(recipe.cuts) < 10 and max(recipe.cuts) < 200


def test_columns_of_one_name_are_told_apart(coded, tmp_path: Path):
    file = tmp_path / "own.csv"
    file.write_text("Q,Q,sex\n" + "1,3,f\n2,4,m\n" * 20)
    found = coded(file)
    assert len(set(found.questions.columns)) == 3
    assert [q.codes for q in found.questions.questions[:2]] == [["1", "2"], ["3", "4"]]


def test_a_file_that_is_not_written_over(tmp_path: Path, capsys):
    file = as_csv(tmp_path, ODD["two questions"])
    assert main(["init", str(file), "--folder", str(tmp_path)]) == 0
    before = (tmp_path / "own.questions.yaml").read_bytes()
    assert main(["init", str(file), "--folder", str(tmp_path)]) == 1
    assert "are there already and would be overwritten" in capsys.readouterr().err
    assert (tmp_path / "own.questions.yaml").read_bytes() == before


def test_what_is_edited_in_the_files_is_what_is_coded(tmp_path: Path, coded, capsys):
    coded({"a": ["x", "y", "z", "z"] * 10, "b": SEXES})
    path = tmp_path / "out/own.questions.yaml"
    content = yaml.safe_load(path.read_text())
    content["questions"][0]["categories"] = {"x": "x", "rest": {"label": "others", "values": ["y", "z"]}}
    path.write_text(yaml.safe_dump(content, sort_keys=False))
    out = tmp_path / "out"
    arguments = ["--files", tmp_path / "own.csv", "--dataset", out / "own.dataset.yaml", "--questions", path]
    arguments += ["--records", out / "r", "--holdout", out / "h", "--codebook", out / "c", "--seed", 1]
    assert main(["code", *map(str, arguments)]) == 0
    records = Records.read(out / "r", Codebook.from_json((out / "c").read_text()))
    assert np.bincount(records.codes[:, 0]).tolist() == [10, 30]


def labelled(folder: Path) -> dict[str, Path]:
    """One survey in SPSS's and in Stata's form: 97 is refused, 98 is do not know, as each program says so."""
    answer = [1, 2, 3, 97, 98, None] * 20
    age = [float(k % 60 + 18) for k in range(117)] + [97.0, 98.0, np.nan]
    labels = {"happy": {1: "да", 2: "нет", 3: "нет"}, "age": {97: "refused", 98: "do not know"}}
    frame = pd.DataFrame({"happy": answer, "age": age})
    refused = {97: "refused", 98: "do not know"}
    told = {"happy": {**labels["happy"], **refused}, "age": refused}
    codes = [{"lo": 97, "hi": 97}, {"lo": 98, "hi": 98}]
    pyreadstat.write_sav(
        frame, folder / "own.sav", column_labels=["Happy?", "Age"], variable_value_labels=told,
        missing_ranges={"happy": codes, "age": codes},
    )  # fmt: skip
    letters = frame.astype(object).replace({97: "a", 98: "b"}).where(frame.notna(), None)
    letters["age"] = [
        value if isinstance(value, str) else float(value) for value in letters["age"].fillna(np.nan)
    ]
    told = {
        "happy": {**labels["happy"], "a": "refused", "b": "do not know"},
        "age": {"a": "refused", "b": "do not know"},
    }
    pyreadstat.write_dta(
        letters, folder / "own.dta", column_labels=["Happy?", "Age"], variable_value_labels=told,
        missing_user_values={"happy": ["a", "b"], "age": ["a", "b"]}, version=15,
    )  # fmt: skip
    return {"spss": folder / "own.sav", "stata": folder / "own.dta"}


@pytest.mark.parametrize("program", ["spss", "stata"])
def test_kinds_of_missing_answers_and_labels_stay_distinct(coded, tmp_path: Path, program: str):
    found = coded(labelled(tmp_path)[program])
    first, second = ("97", "98") if program == "spss" else (".a", ".b")
    happy, age = found.codebook.questions
    assert (happy.label, age.label) == ("Happy?", "Age")
    assert set(happy.labels) == {"да", "нет (2)", "нет (3)", "refused", "do not know", "blank"}
    codes = found.codes_of("happy")
    assert [codes.count(code) for code in ("1", "2", "3", first, second, "-1")] == [20] * 6
    labels = [found.labels("age")[k] for k in found.records.codes[:, 1]]
    assert [labels.count(label) for label in ("refused", "do not know", "blank")] == [1, 1, 1]


def test_dates_and_truth_values_of_a_parquet_file(coded, tmp_path: Path):
    days = pd.date_range("2012-01-15", "2019-11-20", 400)
    frame = pd.DataFrame(
        {"born": days.date, "seen": days, "owns": [True, None] * 200, "is": [True, False] * 200}
    )
    frame.to_parquet(tmp_path / "own.parquet")
    found = coded(tmp_path / "own.parquet")
    years = [str(year) for year in range(2013, 2019)]
    assert found.labels("born") == ["before 2013-01-01", *years, "2019-01-01 or later"]
    assert found.labels("seen") == found.labels("born")
    assert found.codes_of("owns")[:2] == ["True", "-1"]
    assert found.codes_of("is")[:2] == ["True", "False"]
    in_2015 = [found.labels("born")[k] for k in found.records.codes[:, 0]].count("2015")
    assert in_2015 == (days.year == 2015).sum()


def test_weights_and_their_replicates_are_no_questions_and_flags_are(coded):
    weights = {f"PWGTP{k}": RNG.integers(1, 300, 200) for k in range(1, 81)}
    main_weight = RNG.integers(1, 300, 200)
    found = coded(
        {
            "PWGTP": main_weight,
            "SEX": [1, 2] * 100,
            "PWGTPFLAG": [0, 1] * 100,
            "FPWGTP": [0, 1] * 100,
            **weights,
        }
    )
    assert found.names == ["SEX", "PWGTPFLAG", "FPWGTP"]
    assert (found.dataset.weight, found.dataset.replicate_columns) == ("PWGTP", list(weights))
    assert "1 of weights, 3 of categories, 80 of replicate weights" in found.said


ONE_LARGE = [1] * 45 + [k // 2 for k in range(4, 59)]


@pytest.mark.parametrize("name", ["SERIAL", "hh_id", "Haushalts-Nr", "idmenage", "householdId", "SERIALNO"])
def test_households_under_whatever_name_are_held_out_whole(coded, name: str):
    found = coded({name: ONE_LARGE, "large": ["yes"] * 45 + ["no"] * 55, "sex": ["f", "m"] * 50}, share=0.2)
    assert found.dataset.household == name
    assert found.codes_of("large").count("yes") in (0, 45)
    assert len(found.holdout.codes) in (19, 20)


def test_that_persons_are_held_out_singly_is_said(coded):
    found = coded({"a": SEXES, "b": SEXES[::-1]}, share=0.2)
    assert len(found.holdout.codes) == 8
    assert "no key of households was found: records are held out singly" in found.said
    assert "no key of households is known" in found.logged


def test_a_code_in_30_percent_of_an_income_is_pointed_out_and_apart(coded):
    found = coded({"income": [*INCOMES, *[9999999] * 300], "sex": ["f", "m"] * 500})
    line = "income: 9,999,999 (30 % of the numbers, at the end of all numbers: perhaps a code for no answer)"
    assert line in found.said
    assert found.codes_of("income").count("=9999999") == 300
    assert len(set(found.labels("income"))) == len(found.labels("income")) == 11


def test_an_income_mostly_of_zeros_has_no_second_category_of_zero(coded):
    found = coded({"income": [0] * 95 + [120, 3000, 25_000, 700, 12], "sex": ["f", "m"] * 50})
    assert found.labels("income") == ["any other number", "0"]
    assert found.codes_of("income").count("=0") == 95
    assert "income 0 (95 % of the numbers)" in found.said


def test_three_different_amounts_are_three_categories(coded):
    found = coded({"income": [1200, 3000, 25_000] * 30, "sex": ["f", "m"] * 45})
    assert found.labels("income") == ["1200", "3000", "25000"]


def test_wyoming_as_census_serves_it(coded):
    found = coded(shared("data", "csv_pwy.zip"), share=0.2)
    assert (found.dataset.household, found.dataset.weight) == ("SERIALNO", "PWGTP")
    assert found.dataset.replicate_columns == [f"PWGTP{k}" for k in range(1, 81)]
    assert set(found.dataset.other_columns.values()) == {"constant"}
    assert len(found.names) == 287 - 1 - 1 - 80 - 6
    assert len(found.records.codes) + len(found.holdout.codes) == 5861
    by_name = {question.name: question for question in found.codebook.questions}
    numbers = "AGEP CITWP INTP JWMNP MARHYP OIP PAP PERNP PINCP POVPIP RETP SEMP SSIP SSP WAGP WKHP WKWN YOEP"
    assert sorted(name for name, question in by_name.items() if question.made == "numbers") == numbers.split()
    codes = {name: [c.code for c in by_name[name].categories] for name in ("PUMA", "SEX", "FAGEP")}
    assert codes == {
        "PUMA": ["00100", "00200", "00300", "00400", "00500"], "SEX": ["1", "2"], "FAGEP": ["0", "1"],
    }  # fmt: skip


def test_a_table_with_not_asked_among_its_numbers(coded):
    found = coded(shared("data", "nist_national2019_raw.csv"), share=0.2)
    income = found.codebook.questions[found.names.index("PINCP")]
    assert (income.made, income.categories[0].code) == ("numbers", "N")
    frame = pd.read_csv(shared("data", "nist_national2019_raw.csv"), dtype=str, keep_default_na=False)
    both = found.codes_of("SEX") + found.codes_of("SEX", holdout=True)
    assert both.count("1") == (frame["SEX"] == "1").sum()
