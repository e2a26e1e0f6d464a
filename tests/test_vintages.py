"""What Census changes from place to place and vintage to vintage, on files of a few rows."""

import csv
from collections import defaultdict
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from conftest import ROOT, shared
from test_pums import csv_file, zip_file

from modp.__main__ import main
from modp.base.config import check, load
from modp.base.errors import InputError
from modp.crosstabs.pairs import crosstab
from modp.pums import filters, places, vintages
from modp.pums.fetch import require_members
from modp.pums.read import read
from modp.pums.where import Dataset, question_set_path
from modp.survey import coding
from modp.survey.codebook import Codebook
from modp.survey.questions import QuestionSet
from modp.survey.records import Records

DICTIONARIES = ("acs1-2021", "acs1-2022", "acs1-2023", "acs5-2022")


def census(**source) -> Dataset:
    content = {"year": 2022, "records": "persons", "states": ["tx"], **source}
    return check({"title": "t", "questions": "stums", "census": content}, Dataset, "d.yaml")


def dictionary(name: str) -> dict[str, list[tuple[str, str, str]]]:
    """Census's data dictionary: column -> (lowest code, highest code, meaning)."""
    listed = defaultdict(list)
    for row in csv.reader(shared("reference", "dictionary", f"{name}.csv").open(encoding="utf-8")):
        if row[0] == "VAL":
            listed[row[1]].append((row[4], row[5], row[6]))
    return listed


@pytest.mark.parametrize(
    ("source", "folder", "file", "members"),
    [
        ({}, "data/pums/2022/1-Year", "csv_ptx.zip", ["psam_p48.csv"]),
        ({"year": 2017, "states": ["wy"]}, "data/pums/2017/1-Year", "csv_pwy.zip", ["psam_p56.csv"]),
        (
            {"year": 2024, "span": "5-Year", "records": "housing", "states": ["dc"]},
            "data/pums/2024/5-Year",
            "csv_hdc.zip",
            ["psam_h11.csv"],
        ),
        ({"states": ["pr"]}, "data/pums/2022/1-Year", "csv_ppr.zip", ["psam_p72.csv"]),
        ({"states": ["us"]}, "data/pums/2022/1-Year", "csv_pus.zip", ["psam_pusa.csv", "psam_pusb.csv"]),
        (
            {"span": "5-Year", "records": "housing", "states": ["us"]},
            "data/pums/2022/5-Year",
            "csv_hus.zip",
            ["psam_husa.csv", "psam_husb.csv", "psam_husc.csv", "psam_husd.csv"],
        ),
        (
            {"year": 2020, "states": ["al"]},
            "experimental/2020/data/pums/1-Year",
            "csv_pal.zip",
            ["psam_p01.csv"],
        ),
        (
            {"year": 2020, "span": "5-Year", "states": ["pr"]},
            "data/pums/2020/5-Year",
            "csv_ppr.zip",
            ["psam_p72.csv"],
        ),
    ],
)
def test_files_are_where_census_has_them(source, folder, file, members):
    dataset = census(**source)
    assert dataset.names == [file]
    assert dataset.url(file, "https://mirror.example/acs/") == f"https://mirror.example/acs/{folder}/{file}"
    assert dataset.census.members_of(file) == members


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"states": ["TX"]}, "'tx'"),
        ({"states": ["texas"]}, "did you mean 'tx'"),
        ({"states": ["gu"]}, "there is no state 'gu'"),
        ({"states": ["tx", "tx"]}, "listed twice"),
        ({"states": ["us", "tx"]}, "holds tx already"),
        ({"year": 2020, "states": ["pr"]}, "no Puerto Rico"),
        ({"year": 2016}, "greater than or equal to 2017"),
    ],
)
def test_places_that_have_no_file_are_refused(source, message):
    with pytest.raises(InputError) as failure:
        census(**source)
    assert message in str(failure.value)


def test_the_nation_is_fifty_states_and_the_district():
    assert len(places.fips(["us"])) == 51 and 72 not in places.fips(["us"])
    assert len(places.fips(["us", "pr"])) == len(places.STATES) == 52
    codes = [code for code, _ in places.STATES.values()]
    assert codes == sorted(codes) and set(range(1, 57)) - set(codes) == {3, 7, 14, 43, 52}


def test_states_and_their_codes_are_those_of_the_data_dictionary():
    listed = {int(low): text for low, _, text in dictionary("acs1-2022")["ST"]}
    for code, name in places.STATES.values():
        assert listed[code].startswith(name)
    assert set(listed) == {code for code, _ in places.STATES.values()}


def test_a_zip_that_lacks_half_of_the_country_is_refused(tmp_path):
    half = zip_file(tmp_path / "csv_pus.zip", psam_pusa_csv="A\n1\n", README_pdf="")
    with pytest.raises(
        InputError, match=r"should hold psam_pusa.csv, psam_pusb.csv, but holds psam_pusa.csv"
    ):
        require_members(half, ["psam_pusa.csv", "psam_pusb.csv"])
    whole = zip_file(tmp_path / "w.zip", folder__PSAM_PUSA_csv="A\n1\n", psam_pusb_csv="A\n2\n")
    require_members(whole, ["psam_pusa.csv", "psam_pusb.csv"])
    assert read([whole], ["A"])["A"].tolist() == [1, 2]


def test_another_states_file_is_refused(tmp_path):
    with pytest.raises(InputError, match="should hold psam_p56.csv, but holds psam_p48.csv"):
        require_members(zip_file(tmp_path / "csv_pwy.zip", psam_p48_csv="A\n1\n"), ["psam_p56.csv"])
    two = zip_file(tmp_path / "two.zip", psam_p48_csv="A\n1\n", psam_p56_csv="A\n1\n")
    with pytest.raises(InputError, match="but holds psam_p48.csv, psam_p56.csv"):
        require_members(two, ["psam_p56.csv"])


@pytest.mark.parametrize(
    ("header", "row", "asked", "expected"),
    [
        ("ST", "48", "STATE", 48),
        ("STATE", "48", "ST", 48),
        ("TYPE", "2", "TYPEHUGQ", 2),
        ("ACCESS", "3", "ACCESSINET", 3),
        ("JWTR", "03", "JWTRNS", 5),
        ("JWTR", "04", "JWTRNS", 3),
        ("JWTR", "05", "JWTRNS", 4),
        ("JWTR", "10", "JWTRNS", 10),
        ("JWTRNS", "5", "JWTR", 3),
        ("YBL", "01", "YRBLT", 1939),
        ("YBL", "07", "YRBLT", 1990),
        ("YBL", "12", "YRBLT", 2000),
        ("YBL", "13", "YRBLT", 2000),
        ("YBL", "14", "YRBLT", 2010),
        ("YBL", "23", "YRBLT", 2010),
        ("YBL", "24", "YRBLT", 2020),
        ("YBL", "", "YRBLT", None),
    ],
)
def test_a_question_is_found_under_another_vintages_name(tmp_path, header, row, asked, expected):
    file = csv_file(tmp_path / "a.csv", f"{header},SEX\n{row},1\n")
    assert read([file], [asked, "SEX"])[asked].tolist() == [expected]


@pytest.mark.parametrize(
    ("header", "asked", "message"),
    [
        ("WKW", "WKWN", "the file has WKW, which is not the same"),
        ("TAXP", "TAXAMT", "68 classes of dollars"),
        ("RELP", "RELSHIPP", "the file has RELP, which is not the same"),
        ("RELSHIPP", "RELP", "the file has RELSHIPP, which is not the same"),
        ("SSMC", "CPLT", "the file has SSMC"),
        ("CPLT,HHT2", "SSMC", "the file has CPLT and HHT2"),
        ("YRBLT", "YBL", "the file has YRBLT"),
        ("PUMA10,PUMA20", "PUMA", "areas of the censuses of 2010 and of 2020"),
        ("VPSP", "VPS", "the file has VPSP"),
        ("RAC2P19,RAC2P23", "RAC2P", "two lists of races"),
        ("MIGPUMA10,MIGPUMA20", "MIGPUMA", "the file has MIGPUMA10 and MIGPUMA20"),
        ("AGEP", "STATE", "nor has it ST, its name in other vintages"),
        ("AGEP", "HHLDRAGEP", "since 2021"),
        ("AGEP", "BUS", "no longer asked since 2020"),
        ("AGEP", "AGE", "did you mean 'AGEP'"),
    ],
)
def test_a_question_that_means_something_else_is_refused_with_its_successor(tmp_path, header, asked, message):
    file = csv_file(tmp_path / "a.csv", f"{header},SEX\n{'1,' * (header.count(',') + 1)}1\n")
    with pytest.raises(InputError) as failure:
        read([file], ["SEX", asked])
    assert f"  {asked}" in str(failure.value) and message in str(failure.value)
    assert "'leave_out' in the dataset YAML" in str(failure.value)


def test_every_code_that_the_dictionaries_call_suppressed_is_known():
    for name in DICTIONARIES:
        for column, codes in dictionary(name).items():
            for low, _, text in codes:
                if "uppressed" in text:
                    assert vintages.NO_ANSWER[column][int(low)] == vintages.HIDDEN, f"{name} {column}"


def test_no_code_that_counts_as_blank_is_a_real_answer():
    for name in DICTIONARIES:
        for column, codes in dictionary(name).items():
            for low, high, text in codes:
                if "b" in low or any(word in text for word in ("uppressed", "Not ", "not appl", "N/A")):
                    continue
                for code in vintages.NO_ANSWER.get(column, {}):
                    assert not int(low) <= code <= int(high), f"{name} {column} {low} {text}"


def test_dollars_that_need_a_factor_are_those_of_the_dictionary():
    labels = {}
    for row in csv.reader(shared("reference", "dictionary", "acs5-2022.csv").open(encoding="utf-8")):
        if row[0] == "NAME":
            labels[row[1]] = row[4]
    named = {c: f for f in ("ADJINC", "ADJHSG") for c, label in labels.items() if f"use {f}" in label}
    assert {c: vintages.FACTORS.get(c) for c in named} == named
    assert set(vintages.FACTORS) - set(named) <= {"TAXAMT", "VALP"}


def code(tmp_path: Path, text: str, *recipes: dict, **dataset) -> tuple[list[list[str]], Codebook, str]:
    """Run the code step on a CSV; return each record's category codes, the codebook, what was said."""
    spare = {"name": "SEX", "label": "sex", "categories": {1: "m", 2: "f"}}
    kind = dataset.pop("records", "persons")
    questions = {"name": "t", "title": "t", "records": kind, "questions": [*recipes, spare]}
    content = {"title": "tiny", "questions": "t", "files": ["a.csv"], **dataset}
    (tmp_path / "q.yaml").write_text(yaml.safe_dump(questions, sort_keys=False))
    (tmp_path / "d.yaml").write_text(yaml.safe_dump(content))
    (tmp_path / "records.parquet").unlink(missing_ok=True)
    options = {
        "--files": csv_file(tmp_path / "a.csv", text),
        "--dataset": tmp_path / "d.yaml",
        "--questions": tmp_path / "q.yaml",
        "--seed": 1,
        "--records": tmp_path / "records.parquet",
        "--holdout": tmp_path / "holdout.parquet",
        "--codebook": tmp_path / "codebook.json",
        "--log": tmp_path / "log.txt",
    }
    status = main(["code", *(str(part) for pair in options.items() for part in pair)])
    said = (tmp_path / "log.txt").read_text()
    if status:
        assert not (tmp_path / "records.parquet").exists()
        raise InputError(said)
    codebook = Codebook.from_json((tmp_path / "codebook.json").read_text())
    codes = Records.read(tmp_path / "records.parquet", codebook).codes
    named = [
        [q.categories[c].code for q, c in zip(codebook.questions, row, strict=True)] for row in codes.tolist()
    ]
    return named, codebook, said


TEL = {"name": "TEL", "label": "phone", "missing": "n/a", "categories": {1: "yes", 2: "no"}}


def test_suppressed_answers_count_as_blank_and_are_reported(tmp_path):
    rows, _, said = code(tmp_path, "TEL,SEX\n1,1\n8,1\n8,2\n,2\n", TEL)
    assert [r[0] for r in rows] == ["1", "-1", "-1", "-1"]
    assert "TEL: 2 records with 8 (suppressed by Census) count as blank" in said


def test_a_question_set_may_keep_suppressed_answers_apart(tmp_path):
    recipe = {**TEL, "categories": {1: "yes", 2: "no", 8: "suppressed"}}
    rows, _, said = code(tmp_path, "TEL,SEX\n1,1\n8,1\n", recipe)
    assert [r[0] for r in rows] == ["1", "8"] and "suppressed" not in said


def test_suppressed_minutes_do_not_enter_the_top_decile(tmp_path):
    recipe = {"name": "JWMNP", "label": "m", "missing": "n/a", "deciles": {"of": "positive"}}
    text = "JWMNP,SEX\n" + "".join(f"{m},1\n" for m in range(1, 21)) + "888,1\n"
    rows, codebook, _ = code(tmp_path, text, recipe)
    assert rows[-1][0] == "-1" and codebook.questions[0].categories[-1].label == "decile 10: 19–20"


def test_bills_of_none_among_dollars_count_as_blank(tmp_path):
    recipe = {"name": "GASP", "label": "gas", "missing": "n/a", "deciles": {"of": "positive"}}
    rows, _, said = code(tmp_path, "GASP,SEX\n3,1\n2,1\n1,1\n4,1\n", recipe, records="housing")
    assert [r[0] for r in rows][:3] == ["-1"] * 3 and rows[3][0] != "-1"
    assert "GASP: 1 records with 3 (no separate bill)" in said


def test_unknown_answers_become_categories_where_the_dataset_says_so(tmp_path):
    recipe = {"name": "A", "label": "a", "categories": {1: "one", 2: {"label": "two", "values": "2..3"}}}
    text = "A,SEX\n1,1\n3,1\n9,1\n7,1\n9,1\n,1\n"
    with pytest.raises(InputError, match=r"A: 7 \(1 records\), 9 \(2 records\), blank \(1 records\)"):
        code(tmp_path, text, recipe)
    rows, codebook, said = code(tmp_path, text, recipe, unknown="category")
    assert [r[0] for r in rows] == ["1", "2", "value 9", "value 7", "value 9", "blank"]
    assert [c.code for c in codebook.questions[0].categories] == ["1", "2", "value 7", "value 9", "blank"]
    assert "9 (2 records)" in said


def test_an_identifier_is_refused_even_where_unknown_answers_are_welcome(tmp_path):
    recipe = {"name": "SERIAL", "label": "serial", "categories": {1: "one"}}
    text = "SERIAL,SEX\n" + "".join(f"{i},1\n" for i in range(5000))
    with pytest.raises(InputError, match="SERIAL would have 5,000 categories"):
        code(tmp_path, text, recipe, unknown="category")


def test_three_hundred_categories_pass(tmp_path):
    recipe = {"name": "JOB", "label": "job", "categories": {i: f"job {i}" for i in range(300)}}
    rows, codebook, _ = code(tmp_path, "JOB,SEX\n" + "".join(f"{i},1\n" for i in range(300)), recipe)
    assert len(codebook.questions[0].categories) == 300 and rows[299][0] == "299"


def test_answers_may_be_words(tmp_path):
    words = {"v30-39": "30s", "v40-49": "40s", "older": {"label": "50+", "values": ["v50-59", "v60+"]}}
    recipe = {"name": "AGE", "label": "age", "missing": "n/a", "categories": words}
    rows, codebook, _ = code(tmp_path, "AGE,SEX\nv40-49,1\nv60+,1\n,2\nv30-39,1\nv50-59,1\n", recipe)
    assert [r[0] for r in rows] == ["v40-49", "older", "-1", "v30-39", "older"]
    assert [c.code for c in codebook.questions[0].categories] == ["-1", "v30-39", "v40-49", "older"]
    with pytest.raises(InputError, match=r"AGE: v70 \(1 records\)"):
        code(tmp_path, "AGE,SEX\nv70,1\n", recipe)


def test_serial_numbers_of_housing_units_and_group_quarters_stay_apart(tmp_path):
    text = "SERIALNO,A\n2018HU0000001,1\n2018GQ0000001,1\n2017000000001,1\n"
    serials = read([csv_file(tmp_path / "a.csv", text)], ["SERIALNO", "A"], {"SERIALNO"})["SERIALNO"]
    assert serials.tolist() == ["2018HU0000001", "2018GQ0000001", "2017000000001"]


HOUSING = "SERIALNO,TYPEHUGQ,NP,WGTP,TEN,SEX\n2022HU1,1,2,80,1,1\n2022HU2,1,0,70,,1\n2022GQ3,3,1,0,,2\n"
TEN = {"name": "TEN", "label": "tenure", "missing": "n/a", "categories": {1: "owned"}}


@pytest.mark.parametrize(
    ("keep", "left", "said"),
    [
        ([], 3, ""),
        (["housing_units"], 2, "housing_units (no group quarters): 3 records in, 2 out"),
        (["occupied"], 1, "occupied (neither vacant nor group quarters): 3 records in, 1 out"),
        (["housing_units", "occupied"], 1, "2 records in, 1 out"),
    ],
)
def test_filters_of_housing_records_say_what_they_did(tmp_path, keep, left, said):
    rows, _, told = code(tmp_path, HOUSING, TEN, records="housing", keep=keep)
    assert len(rows) == left and said in told


@pytest.mark.parametrize(
    ("text", "left"),
    [("RELSHIPP,SEX\n20,1\n36,1\n37,1\n38,2\n", 2), ("RELP,SEX\n00,1\n15,1\n16,1\n17,1\n,1\n", 2)],
)
def test_household_persons_are_told_by_their_relationship(tmp_path, text, left):
    spare = {"name": "S", "label": "s", "column": "SEX", "categories": {1: "a", 2: "b"}}
    rows, _, said = code(tmp_path, text, spare, keep=["household_persons"])
    assert len(rows) == left and f"{left} out" in said


def test_old_type_column_serves_the_filter_too(tmp_path):
    rows, _, _ = code(
        tmp_path, HOUSING.replace("TYPEHUGQ", "TYPE"), TEN, records="housing", keep=["housing_units"]
    )
    assert len(rows) == 2


@pytest.mark.parametrize(
    ("text", "dataset", "message"),
    [
        ("TEN,SEX\n1,1\n", {"records": "housing", "keep": ["occupied"]}, "needs TYPEHUGQ and NP"),
        ("TEN,SEX,TYPEHUGQ\n1,1,3\n", {"records": "housing", "keep": ["housing_units"]}, "leaves no record"),
        ("TEN,SEX\n1,1\n", {"keep": ["occupid"]}, "'housing_units', 'occupied' or 'household_persons'"),
        ("TEN,SEX\n1,1\n", {"leave_out": ["TENN"]}, "did you mean 'TEN'"),
        ("TEN,SEX\n1,1\n", {"state_question": ["texas"]}, "did you mean 'tx'"),
    ],
)
def test_faulty_wishes_are_refused(tmp_path, text, dataset, message):
    with pytest.raises(InputError) as failure:
        code(tmp_path, text, TEN, **dataset)
    assert message in str(failure.value)


def test_a_filter_for_other_records_is_refused():
    content = {"title": "t", "questions": "q", "files": ["a.csv"], "keep": ["occupied"]}
    with pytest.raises(InputError, match="'occupied' is for housing"):
        check(content, Dataset, "d.yaml").agrees_with("persons")


def test_every_filter_has_a_name_in_the_schema():
    assert set(filters.FILTERS) == set(filters.FilterName.__args__)


def test_the_state_can_be_a_question(tmp_path):
    third = {"name": "S", "label": "s", "column": "SEX", "categories": {1: "a", 2: "b"}}
    text = "ST,SEX\n56,1\n02,2\n"
    rows, codebook, _ = code(tmp_path, text, third, state_question=["wy", "ak"])
    assert [r[-1] for r in rows] == ["56", "2"]
    assert [c.label for c in codebook.questions[-1].categories] == ["Alaska", "Wyoming"]
    assert code(tmp_path, text, third)[1].names == ["S", "SEX"]
    with pytest.raises(InputError, match=r"STATE: 56 \(1 records\)"):
        code(tmp_path, text, third, state_question=["ak"])


MONEY = {"name": "PINCP", "label": "income", "missing": "n/a", "unit": "$", "deciles": {"of": "known"}}


FIVE = {"year": 2022, "span": "5-Year"}


def test_dollars_of_several_years_are_adjusted_before_deciles(tmp_path):
    rows = [(100 * k, 1_200_000 if k % 2 else 1_000_000) for k in range(1, 11)]
    text = "PINCP,ADJINC,SEX\n" + "".join(f"{v},{f},1\n" for v, f in rows)
    named, codebook, said = code(tmp_path, text, MONEY, **FIVE)
    adjusted = [v * f / 1e6 for v, f in rows]
    assert [int(r[0]) for r in named] == (np.argsort(np.argsort(adjusted)) + 1).tolist()
    assert codebook.questions[0].categories[-1].label == "decile 10: $1,080"
    assert "PINCP: adjusted by ADJINC" in said


def test_adjusted_dollars_are_rounded(tmp_path):
    text = "PINCP,ADJINC,SEX\n199,1.007,1\n1,1.0,1\n"
    _, codebook, _ = code(tmp_path, text, MONEY, **FIVE)
    assert codebook.questions[0].categories[-1].label == "decile 10: $200"


def test_dollars_of_one_year_are_shown_as_reported(tmp_path):
    text = "PINCP,ADJINC,SEX\n" + "".join(f"{100 * k},1042311,1\n" for k in range(1, 11))
    _, codebook, said = code(tmp_path, text, MONEY)
    assert codebook.questions[0].categories[-1].label == "decile 10: $1,000" and "adjusted" not in said


@pytest.mark.parametrize(
    ("text", "dataset", "message"),
    [
        ("PINCP,SEX\n1,1\n", FIVE, "PINCP is in dollars of five years; the files lack ADJINC"),
        ("PINCP,ADJINC,SEX\n1,1042311,1\n2,1042311,1\n", FIVE, "these are not 5-Year files"),
        ("PINCP,ADJINC,SEX\n1,1042311,1\n2,1019518,1\n", {}, "ADJINC differs between records"),
        ("PINCP,ADJINC,SEX\n1,1042311,1\n2,,1\n3,1019518,1\n", FIVE, "ADJINC is blank or not positive"),
        ("PINCP,ADJINC,SEX\n1,0,1\n2,1019518,1\n", FIVE, "ADJINC is blank or not positive"),
        ("PINCP,SEX\n1,1\n", {"year": 2022}, "'year' and 'span' go together"),
    ],
)
def test_dollars_that_cannot_be_made_comparable_are_refused(tmp_path, text, dataset, message):
    with pytest.raises(InputError) as failure:
        code(tmp_path, text, MONEY, **dataset)
    assert message in str(failure.value)


@pytest.mark.parametrize(("year", "top"), [(2021, "$10"), (2022, "$20")])
def test_house_values_are_adjusted_only_since_2022(tmp_path, year, top):
    recipe = {**MONEY, "name": "VALP"}
    text = "VALP,ADJHSG,SEX\n10,2000000,1\n10,1000000,1\n"
    _, book, _ = code(tmp_path, text, recipe, records="housing", year=year, span="5-Year")
    assert book.questions[0].categories[-1].label.partition(" (")[0] == f"decile 10: {top}"


def test_the_vintage_of_census_files_is_known():
    assert census(span="5-Year").vintage == vintages.Vintage(2022, 5)
    assert census().vintage == vintages.Vintage(2022, 1)


@pytest.mark.parametrize("column", ["PLM", "RWAT"])
def test_puerto_ricos_own_plumbing_code_counts_as_blank(tmp_path, column):
    recipe = {"name": column, "label": "p", "missing": "n/a", "categories": {1: "yes", 2: "no"}}
    rows, _, said = code(tmp_path, f"{column},SEX\n1,1\n9,1\n", recipe, records="housing")
    assert [r[0] for r in rows] == ["1", "-1"] and "not applicable there" in said


def test_a_column_that_no_question_needs_may_hold_anything(tmp_path):
    rows, _, _ = code(tmp_path, "TEL,WKW,ADJINC,SEX\n1,N,x,1\n", TEL)
    assert rows == [["1", "1"]]


def test_only_census_tables_of_a_zip_are_read_where_there_are_such(tmp_path):
    file = zip_file(tmp_path / "z.zip", psam_p56_csv="A\n1\n", Data_Dictionary_csv="NAME,RT\n")
    assert read([file], ["A"])["A"].tolist() == [1]


def test_workers_who_were_asked_for_classes_of_weeks_stop_the_run(tmp_path):
    recipe = {"name": "WKWN", "label": "w", "missing": "n/a", "deciles": {"of": "positive"}}
    with pytest.raises(InputError, match="1 records have WKW but no WKWN"):
        code(tmp_path, "WKW,WKWN,SEX\n1,,1\n,52,1\n,,1\n", recipe)


def test_income_of_who_was_not_asked_is_a_category_of_its_own_when_corrected(tmp_path):
    recipe = {
        "name": "PINCP",
        "label": "income",
        "deciles": {"of": "all", "blank_as": -1},
        "corrected": {"missing": "child", "deciles": {"of": "known"}},
    }
    text = "PINCP,SEX\n" + ",1\n" * 10 + "".join(f"{k},1\n" for k in range(-5, 5))
    faithful, book, _ = code(tmp_path, text, recipe)
    assert {r[0] for r in faithful[:10]} <= {"3", "4", "5", "6", "7", "8"}
    assert len(book.questions[0].categories) == 10
    corrected, book, _ = code(tmp_path, text, recipe, faithful=False)
    assert {r[0] for r in corrected[:10]} == {"-1"}
    assert [r[0] for r in corrected[10:]] == [str(k) for k in range(1, 11)]
    assert book.questions[0].categories[1].label == "decile 1: −5"


@pytest.fixture(scope="module")
def stums_h() -> QuestionSet:
    return load(ROOT / "workflow/questions/stums-h.yaml", QuestionSet)


# Number of categories of each question in the paper's supplementary table, in its order.
PAPER_H = {
    **{"NP": 8, "NPF": 8, "ACR": 4, "NR": 3, "YRBLT": 6, "TEN": 5, "VALP": 11, "RMSP": 7, "HFL": 10},
    **{"WATP": 11, "BLD": 11, "RNTP": 11, "GRNTP": 11, "MHP": 12, "MRGP": 11, "SMP": 12, "SMOCP": 12},
    **{"INSP": 12, "TAXAMT": 12, "PLM": 3, "BATH": 3, "BDSP": 7, "KIT": 3, "VEH": 8, "TEL": 3},
    **{"ACCESSINET": 4, "SMARTPHONE": 3, "LAPTOP": 3, "BROADBND": 3, "COMPOTHX": 3, "HISPEED": 3},
    **{"HINCP": 10, "FINCP": 10, "FS": 3, "ELEP": 8, "HHT": 8, "WIF": 5, "PARTNER": 6, "HUPAC": 5},
    **{"HUGCL": 3, "CPLT": 5, "HHLDRAGEP": 9, "HHLDRRAC1P": 6, "HHL": 6, "LNGI": 3, "FPARC": 5},
}


def test_stums_h_has_the_papers_46_questions_and_315_categories(stums_h):
    sizes = {
        q.name: len(q.categories) + (q.missing is not None) + 10 * (q.deciles is not None)
        for q in stums_h.questions
    }
    assert sizes == PAPER_H and list(sizes) == list(PAPER_H) and sum(sizes.values()) == 315


@pytest.mark.pipeline
@pytest.mark.parametrize("name", DICTIONARIES)
@pytest.mark.parametrize("faithful", [True, False])
@pytest.mark.parametrize("question_set", ["stums", "stums-h"])
def test_every_answer_of_a_data_dictionary_falls_into_a_category(tmp_path, name, faithful, question_set):
    listed = dictionary(name)
    asked = load(ROOT / f"workflow/questions/{question_set}.yaml", QuestionSet).fitted(faithful, [], {})
    for recipe in asked.questions:
        values = []
        for low, high, _ in listed[recipe.source]:
            if "b" not in low and int(low) in vintages.NO_ANSWER.get(recipe.source, {}):
                continue
            values += [None] if "b" in low else [int(low), int(high)]
        content = recipe.model_dump(exclude_none=True)
        frame = pd.DataFrame({recipe.source: pd.array(values, "Int64"), "SPARE": 1})
        frame.to_csv(tmp_path / "x.csv", index=False)
        spare = {"name": "SPARE", "label": "s", "categories": {1: "x"}}
        two = check(
            {"name": "t", "title": "t", "records": "persons", "questions": [content, spare]}, QuestionSet, "t"
        )
        codes, _ = coding.code(read([tmp_path / "x.csv"], two.columns), two, np.random.default_rng(0))
        assert len(codes) == len(values)


@pytest.mark.parametrize(
    ("question_set", "name", "faithful", "raw", "expected"),
    [
        ("stums-h", "RMSP", True, [1, 3, 4, 5, 6, 9, 10, 99], "1 3 4 4 5 5 6 6"),
        ("stums-h", "RMSP", False, [1, 3, 4, 5, 6, 7, 10, 11], "1 3 4 4 4 5 5 6"),
        ("stums", "JWAP", True, [117, 118, 129, 130, 131, 178], "7 8 8 8 9 10"),
        ("stums", "JWAP", False, [117, 118, 129, 130, 131, 178], "7 8 8 9 9 10"),
        ("stums-h", "NP", True, [0, 1, 6, 7, 20], "0 1 6 7 7"),
        ("stums-h", "NPF", True, [2, 5, 6, 8, 9, 12, 13, 20], "2 5 6 6 7 7 8 8"),
        ("stums-h", "YRBLT", True, [1939, 1950, 1960, 1990, 2010, 2022], "1 1 2 3 4 5"),
        ("stums-h", "ELEP", True, [3, 19, 20, 999, 1000, 9999], "2 2 3 7 8 8"),
        ("stums-h", "HHLDRRAC1P", True, [1, 2, 3, 5, 7, 6, 8, 9], "1 2 3 3 3 4 5 5"),
        ("stums-h", "HHLDRAGEP", True, [15, 19, 20, 79, 80, 99], "1 1 2 7 8 8"),
    ],
)
def test_merges_are_the_papers_or_corrected(tmp_path, question_set, name, faithful, raw, expected):
    asked = load(ROOT / f"workflow/questions/{question_set}.yaml", QuestionSet)
    recipe = next(q for q in asked.questions if q.name == name).model_dump(exclude_none=True)
    text = f"{name},SEX\n" + "".join(f"{v},1\n" for v in raw)
    rows, _, _ = code(tmp_path, text, recipe, faithful=faithful)
    assert [r[0] for r in rows] == expected.split()


@pytest.mark.pipeline
@pytest.mark.parametrize(
    ("dataset", "n", "categories"),
    [
        ("wy-2021", 5861, 233),
        ("ak-wv-wy-2021", 29_700, 233),
        ("fl-2024", 213_167, 262),
        ("nist-2019", 21_802, 225),
        ("housing-2016", 50_000, 283),
        ("de-2013", 4449, 277),
    ],
)
def test_real_files_are_coded(tmp_path, monkeypatch, dataset, n, categories):
    monkeypatch.chdir(ROOT)
    wanted = load(f"tests/datasets/{dataset}.yaml", Dataset)
    shared("data", Path(wanted.files[0]).name)
    options = {
        "--files": wanted.files[0],
        "--dataset": f"tests/datasets/{dataset}.yaml",
        "--questions": question_set_path(wanted.questions),
        "--seed": 1,
        "--records": tmp_path / "records.parquet",
        "--holdout": tmp_path / "holdout.parquet",
        "--codebook": tmp_path / "codebook.json",
        "--log": tmp_path / "log.txt",
    }
    assert main(["code", *(str(part) for pair in options.items() for part in pair)]) == 0
    codebook = Codebook.from_json((tmp_path / "codebook.json").read_text())
    records = Records.read(tmp_path / "records.parquet", codebook)
    assert (len(records), codebook.block_starts[-1]) == (n, categories)
    assert codebook.broken(crosstab(records)) == []


def test_an_old_housing_file_is_refused_with_all_that_it_lacks(stums_h):
    with pytest.raises(InputError) as failure:
        read([shared("data", "csv_hde_2013.zip")], stums_h.columns)
    message = str(failure.value)
    assert "ss13hde.csv lacks 6 of the columns" in message
    for column in (
        "TAXAMT: the file has TAXP",
        "SMARTPHONE: since 2016",
        "CPLT: the file has SSMC",
        "HHLDRAGEP",
    ):
        assert column in message


def test_occupied_vacant_and_group_quarters_rows_are_all_coded(tmp_path, stums_h):
    columns = ["RT", "SERIALNO", *stums_h.columns]
    answers = dict.fromkeys(columns, "")
    occupied = dict.fromkeys(columns, "1") | {"NP": "2", "NPF": "2", "YRBLT": "1990", "HHLDRAGEP": "40"}
    occupied |= {"ELEP": "80", "WATP": "300", "FPARC": "4", "RMSP": "5"}
    vacant = answers | {"NP": "0", "BLD": "02", "YRBLT": "2010", "RMSP": "06", "BDSP": "3"}
    vacant |= {"PLM": "1", "BATH": "1", "KIT": "1", "ACR": "1"}
    quarters = answers | {"NP": "1", "FS": "1"}
    rows = "".join(",".join(r[c] for c in columns) + "\n" for r in (occupied, vacant, quarters))
    raw = read([csv_file(tmp_path / "h.csv", ",".join(columns) + "\n" + rows)], stums_h.columns)
    codes, codebook = coding.code(raw, stums_h, np.random.default_rng(0))
    named = [
        dict(
            zip(
                codebook.names,
                (q.categories[c].code for q, c in zip(codebook.questions, r, strict=True)),
                strict=True,
            )
        )
        for r in codes.tolist()
    ]
    assert [r["NP"] for r in named] == ["2", "0", "1"]
    assert [r["TEN"] for r in named] == ["1", "-1", "-1"]
    assert [r["RMSP"] for r in named] == ["4", "5", "-1"]
    assert [r["FS"] for r in named] == ["1", "-1", "1"]
