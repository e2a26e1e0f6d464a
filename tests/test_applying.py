import json
from pathlib import Path

import numpy as np
import pytest
import yaml
from conftest import question_set

from modp.__main__ import main
from modp.base.config import check
from modp.base.errors import InputError
from modp.pums import where
from modp.pums.where import Dataset
from modp.survey import coding
from modp.survey.codebook import Codebook
from modp.survey.records import Records

KIND = {"name": "KIND", "label": "kind", "categories": {1: "one", 2: "two"}}
MERGED = KIND | {"categories": {1: "one", 2: {"label": "two", "values": "2, 7..9"}}}
MONEY = {"name": "MONEY", "label": "money", "deciles": {"of": "known"}, "missing": "not asked"}
WORD = {"name": "WORD", "label": "word", "column": "said", "categories": {"yes": "yes", "no": "no"}}
CUT = {
    "name": "CUT",
    "label": "cut",
    "numbers": {"cuts": [10, 20], "apart": {99: "none"}, "words": {"N": "N"}},
}


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def whole(values: list[int | None]) -> np.ma.MaskedArray:
    return np.ma.array([v or 0 for v in values], np.int32, mask=[v is None for v in values])


def words(values: list[str | None]) -> np.ma.MaskedArray:
    return np.ma.array(np.array([v or "" for v in values], object), mask=[v is None for v in values])


OURS = {
    "KIND": whole([1, 2] * 50), "MONEY": whole(list(range(0, 1000, 10))), "said": words(["yes", "no"] * 50),
    "CUT": words(["5", "15", "25", "99", "N"] * 20),
}  # fmt: skip
SET = question_set(KIND, MONEY, WORD, CUT)
BOOK = coding.code(OURS, SET, rng())[1]


def theirs(**columns: np.ma.MaskedArray) -> dict[str, np.ma.MaskedArray]:
    n = len(next(iter(columns.values())))
    return {name: values[:n] for name, values in OURS.items()} | columns


def test_the_same_records_get_the_same_codes():
    codes, book = coding.code(OURS, SET, rng())
    applied = coding.apply(OURS, SET, book, rng(9))
    assert applied.dtype == np.int16 and (applied == codes).all()


def test_deciles_are_cut_at_the_codebooks_edges_not_at_those_of_these_records():
    rich = theirs(MONEY=whole([-5, 0, 95, 105, 985, 10**6, None]))
    codes = coding.apply(rich, SET, BOOK, rng())
    labels = [BOOK.questions[1].categories[k].code for k in codes[:, 1]]
    assert labels == ["1", "1", "1", "2", "10", "10", "-1"]


def test_ties_on_an_edge_are_split_as_the_codebooks_records_were():
    columns = {"MONEY": whole([1] * 2000), "KIND": whole([1, 2] * 1000)}
    two = question_set(KIND, MONEY)
    book = coding.code(columns, two, rng())[1]
    codes = coding.apply(columns, two, book, rng(5))
    assert np.bincount(codes[:, 1], minlength=11)[1:].min() > 130


def test_all_unknown_answers_of_all_questions_are_named_with_their_counts():
    odd = theirs(
        KIND=whole([1, 7, 7, None]), said=words(["yes", "maybe", None, "no"]), CUT=words(["R", "R", "5", "5"])
    )
    with pytest.raises(InputError) as refused:
        coding.apply(odd, SET, BOOK, rng())
    said = str(refused.value).splitlines()
    assert said[0] == "the data hold answers that the codebook of 't' does not know:"
    assert said[1:4] == [
        "  KIND: 7 (2 records), blank (1 records)",
        "  WORD (column said): maybe (1 records), blank (1 records)",
        "  CUT: R (2 records)",
    ]


def test_a_category_of_these_records_that_the_codebook_lacks_is_refused():
    wider = question_set(KIND | {"categories": {1: "one", 2: "two", 3: "three"}}, MONEY, WORD, CUT)
    with pytest.raises(InputError, match=r"KIND: 3 \(1 records\)"):
        coding.apply(theirs(KIND=whole([1, 3])), wider, BOOK, rng())


def test_an_unknown_answer_is_mapped_by_listing_it_in_a_category():
    codes = coding.apply(
        theirs(KIND=whole([1, 7, 9, 2])), question_set(MERGED, MONEY, WORD, CUT), BOOK, rng()
    )
    assert codes[:, 0].tolist() == [0, 1, 1, 1]


def test_answers_with_a_category_of_their_own_in_the_codebook_have_it_again():
    columns = {"KIND": whole([1, 2, 5, None]), "said": words(["yes", "no", "hm", "no"])}
    two = question_set(KIND, WORD)
    codes, book = coding.code(columns, two, rng(), say_unknown=lambda text: None)
    assert (coding.apply(columns, two, book, rng()) == codes).all()
    with pytest.raises(InputError, match=r"KIND: 6 \(1 records\)"):
        coding.apply({**columns, "KIND": whole([1, 2, 6, None])}, two, book, rng())


def test_numbers_where_the_codebook_saw_none_are_refused():
    nobody = {"KIND": whole([1, 2]), "MONEY": whole([None, None])}
    two = question_set(KIND, MONEY)
    book = coding.code(nobody, two, rng())[1]
    with pytest.raises(InputError, match=r"MONEY: 30 \(1 records\)"):
        coding.apply({**nobody, "MONEY": whole([None, 30])}, two, book, rng())


@pytest.mark.parametrize(
    "other",
    [
        CUT | {"numbers": {**CUT["numbers"], "cuts": [10, 21]}},
        CUT | {"numbers": {**CUT["numbers"], "apart": {98: "none"}}},
        {"name": "CUT", "label": "cut", "categories": {"1": "a", "2": "b", "N": "N"}},
    ],
)
def test_numbers_cut_elsewhere_are_refused(other: dict):
    with pytest.raises(InputError, match="other classes than the codebook has: CUT"):
        coding.apply(OURS, question_set(KIND, MONEY, WORD, other), BOOK, rng())


def test_a_question_that_the_set_lacks_is_refused_and_one_more_is_left_aside():
    with pytest.raises(InputError, match="has questions that the question set lacks: MONEY"):
        coding.apply(OURS, question_set(KIND, WORD, CUT), BOOK, rng())
    two = question_set(KIND, MONEY)
    assert coding.apply(OURS, SET, coding.code(OURS, two, rng())[1], rng()).shape == (100, 2)


def test_a_step_codes_a_table_under_anothers_codebook(tmp_path: Path, capsys):
    content = question_set(KIND, WORD).model_dump(exclude_defaults=True)
    (tmp_path / "q.yaml").write_text(yaml.safe_dump(content, sort_keys=False))
    (tmp_path / "ours.csv").write_text("KIND,said\n" + "1,yes\n2,no\n" * 5)
    (tmp_path / "theirs.csv").write_text("KIND,said\n" + "1,no\n" * 6)
    dataset = {"title": "t", "questions": "q.yaml", "files": ["x.csv"], "table": {}}
    (tmp_path / "d.yaml").write_text(json.dumps(dataset))

    def step(file: str, *more: object) -> int:
        arguments = ["--files", tmp_path / file, "--dataset", tmp_path / "d.yaml", "--seed", 1]
        arguments += ["--questions", tmp_path / "q.yaml", *more]
        arguments += ["--records", tmp_path / "r", "--holdout", tmp_path / "h", "--codebook", tmp_path / "c"]
        return main(["code", *map(str, arguments)])

    assert step("ours.csv", "--codebook-of") == 0
    other = (tmp_path / "c").rename(tmp_path / "other.json")
    assert step("theirs.csv", "--codebook-of", other) == 0
    assert (tmp_path / "c").read_bytes() == other.read_bytes()
    records = Records.read(tmp_path / "r", Codebook.from_json((tmp_path / "c").read_text()))
    assert records.codes.tolist() == [[0, 1]] * 6
    (tmp_path / "theirs.csv").write_text("KIND,said\n1,oh\n")
    assert step("theirs.csv", "--codebook-of", other) == 1
    assert "WORD (column said): oh (1 records)" in capsys.readouterr().err


def dataset(**more: object) -> Dataset:
    return check({"title": "t", "questions": "q", "files": ["x.csv"], **more}, Dataset, "d.yaml")


def test_a_data_set_names_the_codebook_it_is_coded_under(tmp_path: Path):
    results = str(tmp_path / "results/mine")
    assert where.codebook_path(dataset(), results) is None
    with pytest.raises(
        InputError, match=r"there is no .*results/other/codebook.json; code that data set first"
    ):
        where.codebook_path(dataset(codebook="other"), results)
    found = tmp_path / "results/other/codebook.json"
    found.parent.mkdir(parents=True)
    found.touch()
    assert where.codebook_path(dataset(codebook="other"), results) == found.as_posix()
    assert where.codebook_path(dataset(codebook=str(found)), results) == found.as_posix()
    with pytest.raises(InputError, match="what this data set makes itself"):
        where.codebook_path(dataset(codebook="mine"), results)
    with pytest.raises(InputError, match="those of 'codebook' are made already"):
        dataset(codebook="other", unknown="category")


def test_a_model_of_other_records_draws_from_these(tmp_path):
    rich = {"KIND": whole([2, 1, 1] * 40), "MONEY": whole(list(range(0, 1200, 10)))}
    two = question_set(KIND, MONEY)
    ours = {name: values for name, values in OURS.items() if name in rich}
    codes, book = coding.code(ours, two, rng())
    (tmp_path / "codebook.json").write_text(book.to_json())
    for name, part in {"ours": codes, "theirs": coding.apply(rich, two, book, rng())}.items():
        Records(part, book).write(tmp_path / f"{name}.parquet")

    def fit(records: str, folder: str, **keys: object) -> int:
        at = tmp_path / folder
        model = json.dumps({"family": "stationary", "triples": 0, "most_windows": 1, **keys})
        given = ["--records", tmp_path / records, "--codebook", tmp_path / "codebook.json", "--seed", "1"]
        made = ["--weights", at / "m/model.safetensors", "--history", at / "m/history.parquet"]
        made += ["--plot", at / "plots/history/m.csv", "--log", tmp_path / "log"]
        return main(list(map(str, ["fit", "--name", "m", "--model", model, *given, *made])))

    assert fit("ours.parquet", "a") == 0
    assert fit("theirs.parquet", "b", fitted=str(tmp_path / "a/m")) == 0
    weights = [(tmp_path / run / "m/model.safetensors").read_bytes() for run in "ab"]
    assert weights[0] == weights[1]
    assert fit("theirs.parquet", "c", fitted=str(tmp_path / "nowhere/m")) == 1
    assert "no folder of a fitted model" in (tmp_path / "log").read_text()
    row = json.dumps({"model": "m", "name": "r", "sweeps": 2})
    given = ["--records", tmp_path / "theirs.parquet", "--codebook", tmp_path / "codebook.json", "--row", row]
    given += ["--weights", tmp_path / "b/m/model.safetensors", "--family", "stationary", "--name", "m/r"]
    assert main(list(map(str, ["draw", *given, "--seed", "1", "--out", tmp_path / "s.parquet"]))) == 0
    assert len(Records.read(tmp_path / "s.parquet", book)) == 120
    (tmp_path / "codebook.json").write_text(
        coding.code(rich, question_set(MERGED, MONEY), rng())[1].to_json()
    )
    assert fit("theirs.parquet", "d", fitted=str(tmp_path / "a/m")) == 1
    assert "other questions or categories" in (tmp_path / "log").read_text()
