"""A data set of whole households: read from one file or two, computed, released, run by both engines."""

import json
import re

import numpy as np
import pandas as pd
import pytest
import yaml
from conftest import shared
from test_pipeline import (
    SMALL,
    graphs,
    nothing_to_do_for_dvc,
    nothing_to_do_for_snakemake,
    require_one_graph,
    run,
    workspace,
)

from modp.base.config import check
from modp.base.errors import InputError
from modp.cli.gathered import gathered
from modp.cli.release_households import as_stated, coded, sources
from modp.crosstabs.members import parts
from modp.measures.households import ages, couples, three_generations
from modp.pipeline import stages
from modp.pipeline.params import Params
from modp.pums.where import Dataset
from modp.release.households import released
from modp.report import holdings
from modp.summaries import households as summaries
from modp.survey import derived
from modp.survey import households as survey
from modp.survey.households import CHILD, HOUSEHOLDER, OTHER, SPOUSE, Households
from modp.survey.questions import QuestionSet

QUESTIONS = {
    "name": "homes",
    "title": "made up",
    "questions": [
        {
            "name": "AGEP",
            "label": "Age",
            "categories": {
                0: {"label": "child", "values": "0..17"},
                1: {"label": "adult", "values": "18..99"},
            },
        },
        {"name": "SEX", "label": "Sex", "categories": {1: "Male", 2: "Female"}},
        {
            "name": "PINCP",
            "label": "Income",
            "missing": "child",
            "categories": {
                1: {"label": "low", "values": "0..20000"},
                2: {"label": "high", "values": "20001..99999"},
            },
        },
        {"name": "TEN", "label": "Tenure", "level": "household", "categories": {1: "owned", 2: "rented"}},
    ],
    "members": [{"householder AGEP": 0}],
    "derived": [
        {"name": "NP", "label": "Persons", "number": "persons"},
        {"name": "NOC", "label": "Number of children", "number": "child"},
        {"name": "R18", "label": "Anybody under 18", "present": {"AGEP": 0}},
        {"name": "HINCP", "label": "Household income", "sum": "PINCP"},
    ],
}


def two_files(folder, n=240):
    """Couples, most with a child, somebody in group quarters, a vacant unit, and one whose unit is lost."""
    rng = np.random.default_rng(1)
    persons, homes = ["SERIALNO,SPORDER,PWGTP,RELSHIPP,AGEP,SEX,PINCP"], ["SERIALNO,WGTP,TYPEHUGQ,NP,TEN"]
    for h in range(n):
        key, sex, child = f"2024HU{h:05d}", rng.integers(1, 3), int(rng.random() < 0.6)
        for line, code in enumerate((20, 21), start=1):
            income = int(rng.integers(1, 50)) * 1000
            persons.append(f"{key},{line},9,{code},{rng.integers(30, 60)},{(sex + line) % 2 + 1},{income}")
        persons += [f"{key},3,9,25,{rng.integers(1, 10)},{rng.integers(1, 3)},"] * child
        homes.append(f"{key},9,1,{2 + child},{rng.integers(1, 3)}")
    persons += ["2024GQ1,1,9,37,50,1,100", "2024HU99999,1,9,20,50,1,100"]
    homes += ["2024GQ1,0,2,1,", "2024HU77777,9,1,0,"]
    (folder / "persons.csv").write_text("\n".join(persons) + "\n")
    (folder / "homes.csv").write_text("\n".join(homes) + "\n")
    return [folder / "persons.csv", folder / "homes.csv"]


def one_file(folder):
    """The same persons with their household's answers beside them."""
    persons, homes = (pd.read_csv(path, dtype=str) for path in two_files(folder))
    persons.merge(homes[homes["NP"] != "0"], on="SERIALNO").to_csv(folder / "both.csv", index=False)
    return [folder / "both.csv"]


def dataset(files, **more):
    content = {"title": "homes", "questions": "homes", "files": [str(f) for f in files]}
    return check(content | {"records": "households"} | more, Dataset, "d.yaml")


def questions(**more):
    return check(QUESTIONS | more, QuestionSet, "homes.yaml")


def found_in(files, said=None, share=0.25, **more):
    say = said.append if said is not None else lambda _: None
    return gathered(files, dataset(files, **more), questions(), share, 1, say)


def test_two_files_are_joined_by_the_households_key_and_give_what_one_file_gives(tmp_path):
    said: list[str] = []
    one, two = found_in(one_file(tmp_path)), found_in(two_files(tmp_path), said)
    assert len(two.train) == 180 and len(two.holdout) == 60
    for side in ("train", "holdout"):
        ours, theirs = getattr(one, side), getattr(two, side)
        assert np.array_equal(ours.persons.codes, theirs.persons.codes)
        assert np.array_equal(ours.homes.codes, theirs.homes.codes) and np.array_equal(
            ours.roles, theirs.roles
        )
    text = "\n".join(said)
    assert "1 persons are left out, of whose household there is no record" in text
    assert "1 records of households are left out that no person belongs to" in text
    assert "1 persons of group quarters" in text


def test_households_are_held_out_whole_and_rows_lead_back_to_the_files(tmp_path):
    files = two_files(tmp_path)
    found, raw = found_in(files), [pd.read_csv(path) for path in files]
    keys = raw[0]["SERIALNO"].to_numpy()[found.rows]
    assert np.array_equal(keys[found.train.starts[:-1]], raw[1]["SERIALNO"].to_numpy()[found.home_rows])
    assert (keys == keys[found.train.starts[:-1]][found.train.household]).all()
    held = set(raw[0]["SERIALNO"].to_numpy()[found.every_row]) - set(keys)
    assert len(held) == len(found.holdout)
    tens = found.train.homes.codebook.questions[0].categories
    written = np.array([int(category.code) for category in tens])[found.train.homes.codes[:, 0]]
    assert np.array_equal(written, raw[1]["TEN"].to_numpy()[found.home_rows])


def test_anybodys_two_tables_are_taken_with_a_key_of_their_own(tmp_path):
    files = two_files(tmp_path)
    for path in files:
        path.write_text(path.read_text().replace("SERIALNO", "hid"))
    own = found_in(files, household="hid", table={"delimiter": ","})
    assert len(own.train) == 180 and own.train.roles.max() == 2


def test_what_is_too_large_is_left_out_and_said(tmp_path):
    said: list[str] = []
    assert (found_in(two_files(tmp_path), said, most=2).train.sizes == 2).all()
    assert re.search(r"\d+ households of more than 2 persons", "\n".join(said))


def test_households_that_break_a_rule_are_left_out_and_too_many_say_that_the_rule_is_wrong(tmp_path):
    files = two_files(tmp_path)
    lines = files[0].read_text().splitlines()
    lines[1] = re.sub(r",20,\d+,", ",20,12,", lines[1])  # a householder of twelve years
    files[0].write_text("\n".join(lines) + "\n")
    said: list[str] = []
    found = found_in(files, said)
    assert len(found.train) + len(found.holdout) == 239
    assert "1 households are left out that hold what is called impossible: householder AGEP: 0" in said
    files[0].write_text("\n".join(re.sub(r",20,\d+,", ",20,12,", line) for line in lines) + "\n")
    with pytest.raises(InputError, match="hold what the question set calls impossible"):
        found_in(files)


def test_a_household_that_stands_twice_in_its_file_is_refused(tmp_path):
    files = two_files(tmp_path)
    files[1].write_text(files[1].read_text() + "2024HU00003,9,1,2,1\n")
    with pytest.raises(InputError, match="SERIALNO 2024HU00003 stands in 2 records of households"):
        found_in(files)


def test_members_who_disagree_on_their_household_are_refused(tmp_path):
    files = one_file(tmp_path)
    frame = pd.read_csv(files[0])
    frame.loc[0, "TEN"] = 3 - frame.loc[0, "TEN"]
    frame.to_csv(files[0], index=False)
    with pytest.raises(InputError, match="disagree on TEN"):
        found_in(files)


def test_a_file_that_is_of_neither_is_refused(tmp_path):
    files = two_files(tmp_path)
    files[1].write_text(files[1].read_text().replace("TEN", "TENURE"))
    with pytest.raises(InputError, match=r"homes\.csv is neither of persons nor of households"):
        found_in(files)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"keep": ["household_persons"]}, "cannot be made with 'keep'"),
        ({"weight": "WGTP"}, "cannot be made with 'weight'"),
        ({"scatter": "ST"}, "cannot be made with 'scatter'"),
        ({"records": None, "most": 4}, "it needs 'records: households'"),
    ],
)
def test_what_does_not_go_with_households_is_refused(more, said):
    with pytest.raises(InputError, match=said):
        dataset(["p.csv"], **more)


def test_census_has_two_files_of_each_state():
    census = {"year": 2021, "records": "households", "states": ["wy", "ak"]}
    content = {"title": "c", "questions": "q", "census": census}
    found = check(content | {"records": "households"}, Dataset, "d.yaml")
    assert found.names == ["csv_pwy.zip", "csv_pak.zip", "csv_hwy.zip", "csv_hak.zip"]
    assert found.census.members_of("csv_hak.zip") == ["psam_h02.csv"]
    with pytest.raises(InputError, match="both into 'census' and beside it"):
        check(content, Dataset, "d.yaml")


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ({"number": "child", "sum": "PINCP"}, "give one of"),
        ({"sum": "PINCPP"}, "no question 'PINCPP' of persons; did you mean 'PINCP'"),
        ({"present": {"TEN": 1}}, "no question 'TEN' of persons"),
    ],
)
def test_faulty_computed_questions_are_refused(question, said):
    with pytest.raises(InputError, match=said):
        questions(derived=[{"name": "X", "label": "x", **question}])


def test_what_is_computed_of_members_is_what_counting_by_hand_gives(tmp_path):
    some = found_in(two_files(tmp_path)).train[np.arange(20)]
    asked = {question.name: question for question in questions().derived}
    for h in range(20):
        rows = slice(some.starts[h], some.starts[h + 1])
        children = int((some.roles[rows] == 2).sum())
        young = int((some.persons.codes[rows, 0] == 0).any())
        for name, wanted in (("NP", rows.stop - rows.start), ("NOC", children), ("R18", young)):
            assert derived.computed(asked[name], some)[h] == wanted
    amounts = np.arange(len(some.persons), dtype=float)
    amounts[some.starts[3] : some.starts[4]] = np.nan
    sums = derived.summed(amounts, some)
    assert np.isnan(sums[3]) and sums[0] == amounts[: some.starts[1]].sum()
    odd = asked["NOC"].model_copy(update={"number": "childs"})
    with pytest.raises(InputError, match="no role 'childs'; did you mean 'child'"):
        derived.computed(odd, some)


def test_couples_are_one_record_each(tmp_path):
    true = found_in(two_files(tmp_path)).train
    found = couples(true)
    assert found.codebook.names[:4] == [
        "householder AGEP",
        "householder SEX",
        "householder PINCP",
        "spouse AGEP",
    ]
    assert len(found) == 180 and found.codebook.names[-1] == "TEN"
    first = [*true.persons.codes[0], *true.persons.codes[1], *true.homes.codes[0]]
    assert found.codes[0].tolist() == first


def test_tables_of_households_come_back_as_they_were_and_only_with_their_own(tmp_path):
    true = found_in(two_files(tmp_path)).train
    persons, homes = tmp_path / "p.parquet", tmp_path / "h.parquet"
    true.write(persons, homes, {"record": np.arange(180)})
    again, more = Households.read(persons, homes, true.codebook, ["record"])
    assert np.array_equal(again.starts, true.starts) and np.array_equal(again.roles, true.roles)
    assert np.array_equal(again.homes.codes, true.homes.codes) and more["record"][-1] == 179
    true[np.arange(9)].write(tmp_path / "few.parquet", homes)
    with pytest.raises(InputError, match="do not belong together"):
        Households.read(persons, homes, true.codebook)


def test_the_release_is_two_tables_of_new_numbers_with_computed_columns(tmp_path):
    files = two_files(tmp_path)
    found = found_in(files)
    persons, homes = sources(found, dataset(files), questions())
    made = released(found.train, persons, homes, questions().derived, 1)
    again = released(found.train, persons, homes, questions().derived, 1)
    own, theirs, both = (
        pd.DataFrame({c.name: c.words.filled("") for c in table.columns})
        for table in (made.persons, made.homes, made.joined)
    )
    assert again.homes.columns[1].words.tolist() == made.homes.columns[1].words.tolist()
    true = set(pd.read_csv(files[1])["SERIALNO"])
    assert theirs["SERIALNO"].is_unique and not set(theirs["SERIALNO"]) & true
    assert theirs["SERIALNO"].str.match(r"2024SY\d{7}$").all()
    pd.testing.assert_frame_equal(both, own.merge(theirs, on="SERIALNO", how="left"))
    groups = own.groupby("SERIALNO", sort=False)
    assert groups.size().tolist() == theirs["NP"].astype(int).tolist()
    assert (
        groups["SPORDER"].apply(lambda lines: lines.tolist() == [str(k + 1) for k in range(len(lines))]).all()
    )
    income = own["PINCP"].replace("", "0").astype(int).groupby(own["SERIALNO"], sort=False).sum()
    assert income.tolist() == theirs["HINCP"].astype(int).tolist()
    assert set(own["ROLE"]) == {"householder", "spouse", "child"} and (own["PWGTP"] != "").all()
    # In random order: the first that were held are not the first that are released.
    order = [category.code for category in found.train.homes.codebook.questions[0].categories]
    held = [order[k] for k in found.train.homes.codes[:, 0]]
    assert theirs["TEN"].tolist() != held and sorted(theirs["TEN"]) == sorted(held)


def test_under_a_guarantee_households_get_answers_that_the_question_set_states(tmp_path):
    files = two_files(tmp_path)
    drawn, data = found_in(files).train, dataset(files)
    found, _, said = as_stated(drawn, data, questions(), 1, "g/released")
    persons, homes, joined = (found[name] for name in ("persons", "households", "joined"))
    assert not said and len(joined) == len(persons) == len(drawn.persons)
    assert persons.columns.tolist() == ["SERIALNO", "SPORDER", "ROLE", "AGEP", "SEX", "PINCP"]
    incomes = pd.to_numeric(persons["PINCP"]).dropna()
    assert incomes.between(0, 99999).all() and (incomes % 1000 != 0).mean() > 0.9  # true ones are thousands
    assert (incomes > 50_000).any()
    sums = incomes.groupby(persons["SERIALNO"]).sum()
    assert sums.reindex(homes["SERIALNO"]).tolist() == homes["HINCP"].astype(float).tolist()
    moved = [tmp_path / "moved" / path.name for path in files]
    moved[0].parent.mkdir()
    for old, new in zip(files, moved, strict=True):  # true ages and incomes elsewhere in their categories
        frame = pd.read_csv(old, dtype=str)
        if "AGEP" in frame:
            frame["AGEP"] = np.where(frame["AGEP"].astype(int) < 18, "17", "99")
            frame["PINCP"] = (frame["PINCP"].astype(float) - 1).astype("Int64")
        frame.to_csv(new, index=False)
    again = found_in(moved).train
    assert np.array_equal(again.persons.codes, drawn.persons.codes)
    others, _, _ = as_stated(again, data, questions(), 1, "g/released")
    assert all(others[name].equals(found[name]) for name in found)
    endless = questions()
    raw = endless.model_dump(exclude_unset=True)
    raw["questions"][2]["categories"][2] = {"label": "high", "values": "20001.."}
    with pytest.raises(InputError, match="PINCP: 'high' has an open end; state 'bounds"):
        as_stated(drawn, data, check(raw, QuestionSet, "homes.yaml"), 1, "g/released")


def test_labels_that_records_made_are_not_told_under_a_guarantee(tmp_path):
    raw = questions().model_dump(exclude_unset=True)
    raw["questions"][0] |= {"numbers": {"cuts": [18, 45]}, "categories": {}}
    del raw["questions"][0]["categories"]
    raw["questions"][2] |= {"deciles": {"of": "known"}, "unit": "$"}
    del raw["questions"][2]["categories"]
    said = []
    for least in ("0", "0.5"):  # ages with decimals make other labels, incomes other ranges of deciles
        files = two_files(tmp_path)
        frame = pd.read_csv(files[0], dtype=str)
        frame.loc[frame["AGEP"].astype(int) == 40, "AGEP"] = str(40 + float(least))
        if least == "0.5":
            frame.loc[frame["PINCP"] == "49000", "PINCP"] = "49999"
        frame.to_csv(files[0], index=False)
        asked = check({**raw, "members": [], "derived": []}, QuestionSet, "homes.yaml")
        found = gathered(files, dataset(files), asked, 0.25, 1, lambda _: None).train
        said.append((coded(found, asked)[1], found.persons.codebook))
    assert said[0][1].questions[0].labels != said[1][1].questions[0].labels
    assert said[0][0]["AGEP"] == said[1][0]["AGEP"] and "18 to 44" in said[0][0]["AGEP"]
    assert "49" not in said[1][0]["PINCP"] and "decile 1: under $" in said[1][0]["PINCP"]


def test_shares_count_households_by_who_lives_there(tmp_path):
    true = found_in(two_files(tmp_path)).train
    none = parts(true.persons.block_starts[-1], true.homes.block_starts[-1], 0, 3, bool)
    found = summaries.shares({"true": true}, ["SEX"], none, questions().derived).set_index("share")["true"]
    children = (true.sizes == 3).mean()
    assert found["Number of children: 1"] == pytest.approx(children)
    assert found["Number of children: 0"] == pytest.approx(1 - children)
    assert (
        found["Anybody under 18"] == pytest.approx(children) and found["Number of children: 3 or more"] == 0
    )
    assert not [name for name in found.index if "income" in name]


def test_three_generations_are_told_by_roles_and_ages_by_hand():
    households = [
        ([HOUSEHOLDER, SPOUSE, CHILD], [40, 38, 10], False),
        ([HOUSEHOLDER, CHILD, OTHER], [40, 10, 70], True),  # a parent, householder, child
        ([HOUSEHOLDER, CHILD, OTHER], [60, 35, 5], True),  # householder, child, grandchild
        ([HOUSEHOLDER, CHILD, OTHER], [60, 35, 21], False),  # too near to be the child's child
        ([HOUSEHOLDER, CHILD, OTHER], [40, 10, 95], False),  # too old to be a parent
        ([HOUSEHOLDER, OTHER, OTHER], [40, 70, 10], False),  # no child of the householder
        ([HOUSEHOLDER, SPOUSE, CHILD, OTHER], [30, 50, 14, 66], True),
        ([HOUSEHOLDER], [40], False),
    ]
    starts = np.concatenate([[0], np.cumsum([len(roles) for roles, _, _ in households])])
    roles, age = (np.concatenate([of[k] for of in households]) for k in (0, 1))
    found = three_generations(starts, roles, age)
    assert found.tolist() == [three for _, _, three in households]


def test_ages_are_the_lowest_of_their_categories_and_the_share_is_told(tmp_path):
    true = found_in(two_files(tmp_path)).train
    assert set(ages(true, "AGEP")) == {0, 18} and ages(true, "AGE") is None and ages(true, "PINCP") is None
    assert not three_generations(true.starts, true.roles, ages(true, "AGEP")).any()
    none = parts(true.persons.block_starts[-1], true.homes.block_starts[-1], 0, 3, bool)
    told = summaries.shares({"true": true}, [], none).set_index("share")
    assert told.loc["three generations, 15 to 50 years apart", "true"] == 0


@pytest.mark.pipeline
def test_the_rule_finds_the_three_generations_of_wyoming():
    frame = pd.read_csv(shared("data/csv_pwy.zip"), usecols=["SERIALNO", "AGEP", "RELSHIPP"])
    relation = frame["RELSHIPP"].to_numpy()
    rows, starts, _ = survey.placed(frame["SERIALNO"].to_numpy(), survey.roles_of(relation))
    relation, age = relation[rows], frame["AGEP"].to_numpy()[rows]
    found = three_generations(starts, survey.roles_of(relation), age)
    of = np.repeat(np.arange(len(found)), np.diff(starts))
    holds = lambda *codes: np.bincount(of, np.isin(relation, codes)) > 0  # noqa: E731
    true = (holds(29, 31) & holds(25, 26, 27)) | (holds(30) & holds(25, 26, 27, 32))
    assert (true == found).mean() > 0.99 and found.sum() == pytest.approx(true.sum(), rel=0.1)
    # Of ages of which only the lowest of a class is known, nearly the same.
    classes = np.array([0, 5, 12, 18, 25, 35, 45, 55, 65, 75, 85])
    of_classes = classes[np.searchsorted(classes, age, side="right") - 1]
    told = three_generations(starts, survey.roles_of(relation), of_classes)
    assert (told == true).mean() > 0.99


def test_copies_of_large_households_are_warned_of():
    line = {"households": 100, "closer_to_train": 0.6, "chance": 0.1, "identical_holdout": 0.0}
    lines = [
        {"table": "m/a", "persons": "4+", "within_10": 0.9, "identical": 0.2, **line},
        {"table": "m/a", "persons": "1", "within_10": 0.9, "identical": 0.9, **line},
        {"table": "m/b", "persons": "4+", "within_10": 0.2, "identical": 0.0, **line},
    ]
    found = summaries.copies(pd.DataFrame(lines))
    assert list(found) == ["m/a"] and len(found["m/a"]) == 2 and "four or more" in found["m/a"][0]


HOMES = SMALL | {
    "dataset": "homes",
    "models": {
        "homes": {"family": "households", "most_windows": 1, "agree": ["SEX"]},
        "pairs": SMALL["models"]["pairs"],
        "guarded": {
            "family": "private_households",
            "epsilon": 20.0,
            "delta": 1e-5,
            "tables": 1,
            "noise": "seeded",
            "agree": ["SEX"],
        },
    },
    "rows": [
        {"model": "pairs", "name": "sweeps-2", "sweeps": 2},
        {"model": "homes", "name": "drawn", "sweeps": 30},
        {"model": "homes", "name": "kept", "sweeps": 5, "composition": "kept"},
        {"model": "guarded", "name": "released"},
    ],
    "figures": {},
    "release": {
        "rows": ["homes/drawn", "guarded/released", "pairs/sweeps-2"],
        "despite_warnings": ["homes/drawn", "guarded/released"],
    },
}
HOMES.pop("answers_by_blade")


def test_parameters_are_told_apart_by_what_the_data_set_is_of(tmp_path):
    params = check(HOMES, Params, "params.yaml")
    whole, single = params.of(True), params.of(False)
    assert list(whole.models) == ["homes", "guarded"] and list(single.models) == ["pairs"]
    assert [row.row for row in single.rows] == single.release.rows == ["pairs/sweeps-2"]
    with pytest.raises(InputError, match="'models' has none that is of whole households"):
        single.of(True)
    with pytest.raises(InputError, match="'rows' has none that is of single records"):
        check(HOMES | {"rows": HOMES["rows"][1:], "release": {}}, Params, "params.yaml").of(False)
    (tmp_path / "d.yaml").write_text(yaml.safe_dump({**dataset(["p.csv"]).model_dump(exclude_unset=True)}))
    made = stages.stages(params.model_copy(update={"dataset": str(tmp_path / "d.yaml")}))
    both = [f"{what}_{name}" for name in ("households", "private_households") for what in ("fit", "row")]
    assert list(made) == ["acquire", "code", *both, "report", "page"]
    rows = made["row_households"]["foreach"]
    assert [row["at"] for row in rows.values()] == [1, 2], "rows are counted as params.yaml has them"
    named = holdings.markdown(holdings.OF_HOUSEHOLDS)
    for stage in made.values():
        for out in stage.get("outs") or stage["do"]["outs"]:
            path = out if isinstance(out, str) else next(iter(out))
            first, _, rest = path.removeprefix(f"{stages.RESULTS}/").partition("/")
            wanted = f"<model>/{rest}" if first == "${item}" else first
            wanted = f"<model>/<variant>/{rest.partition('/')[2]}" if first == "${item.model}" else wanted
            assert wanted in named or path == stages.RAW, path
    figure = {"x": {"kind": "crosstabs", "of": ["homes/drawn"]}}
    with pytest.raises(InputError, match="homes/drawn is of whole households"):
        check(HOMES | {"figures": figure}, Params, "params.yaml")


@pytest.mark.pipeline
def test_a_data_set_of_households_runs_to_the_end_by_both_engines_and_is_released(tmp_path):
    folder = workspace(tmp_path / "project", HOMES)
    for path in two_files(folder):
        path.rename(folder / "data/sample" / path.name)
    content = {"title": "Homes", "questions": "homes", "records": "households"}
    content["files"] = ["data/sample/persons.csv", "data/sample/homes.csv"]
    (folder / "workflow/datasets/homes.yaml").write_text(yaml.safe_dump(content))
    (folder / "workflow/questions/homes.yaml").write_text(yaml.safe_dump(QUESTIONS, sort_keys=False))
    printed = run(folder, "snakemake", "--cores", "2")
    results = folder / "results/homes"
    assert "homes/drawn" in printed and "closer, 4+" in printed
    assert nothing_to_do_for_dvc(folder)
    inputs, found = graphs(folder)
    require_one_graph(inputs, found)
    (results / "homes/drawn/synthetic_households.parquet").rename(folder / "aside.parquet")
    assert not nothing_to_do_for_snakemake(folder), "a table of homes that somebody has deleted is missed"
    (folder / "aside.parquet").rename(results / "homes/drawn/synthetic_households.parquet")
    metrics = json.loads((results / "metrics.json").read_text())
    assert metrics["shares"]["homes"]["drawn"]["impossible"] == 0
    assert metrics["accuracy"]["homes"]["kept"]["householder_spouse"]["ratio_rms"] < 3
    assert "homes/drawn" in (results / "tables/households.md").read_text()
    page = (results / "report.html").read_text()
    assert "192 true households" in page and "spouse SEX" in page
    assert "spouse SEX" not in (results / "report_public.html").read_text()
    assert (results / "figures/households.png").exists()

    assert "release: 192 households" in run(folder, "snakemake", "--cores", "2", "release")
    persons, homes = (
        pd.read_csv(results / f"homes/drawn/release/{name}.csv") for name in ("persons", "households")
    )
    assert len(homes) == 192 and len(persons.merge(homes, on="SERIALNO")) == len(persons)
    assert (persons.loc[persons["ROLE"] == "householder", "AGEP"] >= 18).all()
    assert "192 true households" in (results / "homes/drawn/release/README.md").read_text()

    # With a guarantee nothing true is told: neither values, nor how many households there were.
    told = (results / "guarded/released/release/README.md").read_text()
    assert (
        "neighbours if one has one whole household more" in told
        and "192" not in told.partition("made them")[2]
    )
    assert "neighbours if one has one whole household more" in (results / "report_public.html").read_text()
    joined = pd.read_csv(results / "guarded/released/release/joined.csv")
    assert set(joined["PINCP"].astype(str)) <= {"0", "1", "2"} | {"child", "-1"} and len(joined) > 100
    assert (joined.loc[joined["ROLE"] == "householder", "AGEP"] == 1).all()
    drawn = pd.read_parquet(results / "guarded/released/synthetic_households.parquet")
    assert drawn["record"].isna().all()
