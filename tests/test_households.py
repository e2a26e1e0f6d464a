import itertools
import re

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT, codebook_of, shared

from modp.__main__ import main
from modp.base.errors import InputError
from modp.crosstabs.members import Parts, blocks_of, counts, parts, zeros_of
from modp.draws import households as draws
from modp.draws.exchange import Links
from modp.draws.households import Laid
from modp.measures import households as measures
from modp.models.households import drawing, matching, rules
from modp.models.households.model import HouseholdWeights
from modp.models.households.recipe import HouseholdsRecipe
from modp.survey import households as survey
from modp.survey.households import CHILD, HOUSEHOLDER, NOWHERE, OTHER, SPOUSE, Households
from modp.survey.records import Records

PERSON, HOME = codebook_of(2, 3), codebook_of(2)
AGREEING = np.array([-1, 0])
BLOCKS = PERSON.block_starts, HOME.block_starts


def households_of(compositions, rng, person=PERSON, home=HOME):
    """Households with the given roles and random answers."""
    sizes = [len(roles) for roles in compositions]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    draw = lambda book, n: np.column_stack([rng.integers(s, size=n) for s in book.sizes])  # noqa: E731
    persons, homes = draw(person, starts[-1]), draw(home, len(sizes))
    roles = np.concatenate(compositions).astype(np.int8)
    return Households(
        Records(persons.astype(np.int16), person), Records(homes.astype(np.int16), home), starts, roles
    )


def random_weights(rng, most=3, scale=0.7):
    """Weights with the symmetries that a model's have."""
    w = Parts(*(rng.normal(scale=scale, size=part.shape) for part in parts(5, 2, 1, most)))
    pair, person = w.pair.copy(), np.triu(w.person, 1)
    for a, b in itertools.product(range(4), repeat=2):
        pair[b, a] = pair[a, b].T if a != b else (pair[a, a] + pair[a, a].T) / 2
    person[:2, :2] = person[2:, 2:] = 0
    return w._replace(person=person + person.T, between=np.zeros((2, 2)), pair=pair)


def energy(w, roles, persons, home, agreeing=AGREEING, person=PERSON):
    """The log probability of one household but for a constant, term by term."""
    columns = persons + person.block_starts[:-1]
    n, total = len(roles), w.home[home]
    for i in range(n):
        total += w.members[roles[i], home]
        for q, x in enumerate(columns[i]):
            total += w.single[roles[i], x] + w.own[roles[i], x, home]
            total += sum(w.partner[roles[i], roles[j], x] for j in range(n) if j != i)
            total += sum(w.person[x, y] for y in columns[i, q + 1 :])
        for j in range(i + 1, n):
            total += sum(
                w.pair[roles[i], roles[j], x, y] for x, y in itertools.product(columns[i], columns[j])
            )
    for q, place in enumerate(agreeing):
        if place >= 0 and n > 1 and len(set(persons[:, q])) == 1:
            total += w.agree[place, n]
    return total


def every(roles):
    """All households of these roles: persons (S, n, 2), homes (S,)."""
    one = list(itertools.product(range(2), range(3)))
    found = [(*persons, home) for *persons, home in itertools.product(*[one] * len(roles), range(2))]
    return np.array([f[:-1] for f in found]), np.array([f[-1] for f in found])


def exact(w, roles):
    persons, homes = every(roles)
    odds = np.array([energy(w, roles, p, h) for p, h in zip(persons, homes, strict=True)])
    odds = np.exp(odds - odds.max())
    return persons, homes, odds / odds.sum()


def numbered(persons, homes):
    """The number of each household of one composition among all."""
    answers = np.column_stack([persons.reshape(len(homes), -1), homes])
    sizes = [2, 3] * (persons.shape[1]) + [2]
    return np.ravel_multi_index(answers.T, sizes)


ROLES = [[HOUSEHOLDER, SPOUSE, CHILD], [HOUSEHOLDER, CHILD, CHILD], [HOUSEHOLDER, OTHER], [HOUSEHOLDER]]


@pytest.mark.parametrize("roles", ROLES)
@pytest.mark.parametrize("exchanges", [0, 2])
def test_chains_have_the_distribution_that_enumeration_finds(roles, exchanges):
    rng = np.random.default_rng(3)
    w = random_weights(rng)
    persons, homes, odds = exact(w, roles)
    n = 30_000
    chosen = rng.choice(len(odds), n, p=odds)
    start = households_of([roles], rng)[np.zeros(n, int)]
    start = start.of(persons[chosen].reshape(-1, 2).astype(np.int16), homes[chosen, None].astype(np.int16))
    model = HouseholdWeights(
        w, Parts(*(np.zeros(p.shape, bool) for p in w)), *BLOCKS, AGREEING, np.eye(3), exchanges
    )
    chains = start
    for number in range(4):
        chains, changed = model.step(chains, 7, number, 1)
        assert changed > 0
    swept = numbered(chains.persons.codes.reshape(n, len(roles), 2), chains.homes.codes[:, 0])
    expected = np.zeros(np.prod([2, 3] * len(roles) + [2]))
    np.add.at(expected, numbered(persons, homes), odds)
    found = np.bincount(swept, minlength=len(expected)) / n
    error = np.sqrt(expected * (1 - expected) / n)
    assert np.abs((found - expected) / np.maximum(error, 1e-4)).max() < 4.5


def test_exchanges_alone_keep_the_distribution_of_a_composition():
    rng, roles = np.random.default_rng(4), [HOUSEHOLDER, SPOUSE, CHILD]
    w = random_weights(rng)
    persons, homes, odds = exact(w, roles)
    n = 40_000
    chosen = rng.choice(len(odds), n, p=odds)
    start = households_of([roles], rng)[np.zeros(n, int)]
    start = start.of(persons[chosen].reshape(-1, 2).astype(np.int16), homes[chosen, None].astype(np.int16))
    laid = Laid.of(w, AGREEING, *BLOCKS)
    after, accepted = draws.exchange(start, laid, Links(np.eye(3)), 12, rng, 1)
    assert 0.1 < accepted < 1
    before_, after_ = (
        np.bincount(numbered(h.persons.codes.reshape(n, 3, 2), h.homes.codes[:, 0]), minlength=432) / n
        for h in (start, after)
    )
    expected = np.zeros(432)
    np.add.at(expected, numbered(persons, homes), odds)
    assert not np.array_equal(before_, after_)
    common = expected * n > 20
    assert np.abs((after_ - expected) / np.sqrt(expected / n))[common].max() < 4


def test_exchanges_never_give_a_household_a_structural_zero():
    rng = np.random.default_rng(5)
    true = households_of([[HOUSEHOLDER, SPOUSE]] * 300 + [[HOUSEHOLDER, CHILD, CHILD]] * 300, rng)
    counted = counts(true[np.arange(0, 600, 30)], AGREEING, 3)
    true = true[np.resize(np.arange(0, 600, 30), 600)]
    excluded = zeros_of(counted, *BLOCKS, "sample")
    model = HouseholdWeights(random_weights(rng), excluded, *BLOCKS, AGREEING, np.eye(3), 3)
    for number in range(5):
        true, _ = model.step(true, 1, number, 2)
        for part, no in zip(counts(true, AGREEING, 3), excluded, strict=True):
            assert not part[no].any()


def test_threads_change_nothing():
    rng = np.random.default_rng(6)
    true = households_of([ROLES[i % 4] for i in range(3000)], rng)
    w = random_weights(rng)
    model = HouseholdWeights(w, Parts(*(np.zeros(p.shape, bool) for p in w)), *BLOCKS, AGREEING, np.eye(3), 2)
    one, two = (model.step(true, 3, 1, threads)[0] for threads in (1, 2))
    assert np.array_equal(one.persons.codes, two.persons.codes)
    assert np.array_equal(one.homes.codes, two.homes.codes)
    for a, b in zip(counts(true, AGREEING, 3, 1), counts(true, AGREEING, 3, 2), strict=True):
        assert np.array_equal(a, b)


def test_counts_are_those_of_a_slow_reference():
    rng = np.random.default_rng(7)
    true = households_of([ROLES[i % 4] for i in range(40)], rng)
    found, slow = counts(true, AGREEING, 3), parts(5, 2, 1, 3, int)
    columns, homes = true.persons.columns, true.homes.columns[:, 0]
    for h in range(len(true)):
        rows = range(true.starts[h], true.starts[h + 1])
        slow.home[homes[h]] += 1
        for i in rows:
            a = true.roles[i]
            slow.members[a, homes[h]] += 1
            for q, x in enumerate(columns[i]):
                slow.single[a, x] += 1
                slow.own[a, x, homes[h]] += 1
                for j in rows:
                    slow.partner[a, true.roles[j], x] += i != j
                for r, y in enumerate(columns[i]):
                    slow.person[x, y] += q != r
            for j in rows:
                if j != i:
                    b = true.roles[j]
                    for x, y in itertools.product(columns[i], columns[j]):
                        slow.pair[a, b, x, y] += a != b or x != y or i < j
        if len(rows) > 1 and len(set(columns[rows, 1])) == 1:
            slow.agree[0, len(rows)] += 1
    for name in Parts._fields:
        assert np.array_equal(getattr(found, name), getattr(slow, name)), name


@pytest.mark.pipeline
@pytest.mark.parametrize(("most", "within"), [(matching.MOST, 1.0), (1500, 2.0)])
def test_the_fit_recovers_the_counts_that_enumeration_expects(monkeypatch, most, within):
    monkeypatch.setattr(matching, "MOST", most)
    rng = np.random.default_rng(8)
    w = random_weights(rng, scale=0.5)
    drawn = []
    for roles in ROLES:
        persons, homes, odds = exact(w, roles)
        chosen = rng.choice(len(odds), 1000, p=odds)
        some = households_of([roles], rng)[np.zeros(1000, int)]
        codes = persons[chosen].reshape(-1, 2).astype(np.int16)
        drawn.append(some.of(codes, homes[chosen, None].astype(np.int16)))
    starts = np.concatenate([[0], np.cumsum(np.concatenate([d.sizes for d in drawn]))])
    true = Households(
        Records(np.concatenate([d.persons.codes for d in drawn]), PERSON),
        Records(np.concatenate([d.homes.codes for d in drawn]), HOME),
        starts,
        np.concatenate([d.roles for d in drawn]),
    )
    recipe = HouseholdsRecipe(prior="none", most_windows=2)
    model, history = matching.fit(true, recipe, AGREEING, 3, 1, 2, lambda _: None)
    assert history[-1].discrepancy < 2
    expected = parts(5, 2, 1, 3)
    for roles in ROLES:
        persons, homes, odds = exact(model.weights, roles)
        for p, h, odd in zip(persons, homes, odds, strict=True):
            one = Households(
                Records(p.astype(np.int16), PERSON),
                Records(np.array([[h]], np.int16), HOME),
                np.array([0, len(roles)]),
                np.array(roles, np.int8),
            )
            for part, more in zip(expected, counts(one, AGREEING, 3), strict=True):
                part += 1000 * odd * more
    for name in Parts._fields:
        own, of_model = getattr(counts(true, AGREEING, 3), name), getattr(expected, name)
        assert np.abs((own - of_model) / np.sqrt(own + 1)).max() < within, name


def test_blocks_are_numbered_alike_in_both_orders():
    blocks = blocks_of(*BLOCKS)
    for a, b in itertools.product(range(4), repeat=2):
        assert np.array_equal(blocks.pair[a, b], blocks.pair[b, a].T)
    assert blocks.pair[0, 0, 0, 2] == blocks.pair[0, 0, 2, 0] != blocks.pair[0, 0, 0, 1]
    assert (blocks.person[:2, :2] == -1).all() and blocks.person[0, 2] == blocks.person[4, 1] == 0


def test_likely_zeros_are_empty_cells_that_chance_does_not_explain():
    rng = np.random.default_rng(9)
    true = households_of([[HOUSEHOLDER, SPOUSE]] * 400, rng)
    codes = true.persons.codes.copy()
    codes[:, 1] = np.where(codes[:, 0] == 0, 0, codes[:, 1])  # who says 1 to A says 1 to B
    codes[1::2, 0] = codes[::2, 0]  # couples agree on A
    codes[:, 1] = np.where(codes[:, 0] == 0, 0, codes[:, 1])
    true = true.of(codes, true.homes.codes)
    few = true[np.arange(12)]
    for some, sure in ((true, True), (few, False)):
        found = zeros_of(counts(some, AGREEING, 2), *BLOCKS, "likely")
        assert found.person[0, 3] == sure
        assert found.pair[0, 1, 0, 1] == sure
        assert not found.pair[2, 2].any()
        assert not found.pair[0, 1, 0, 0]


def test_roles_are_told_by_age_and_marital_status():
    keys = np.array(["b", "b", "b", "a", "b", "c", "c"])
    age = np.array([40, 12, 38, 70, 39, 30, 28])
    married = np.array([1, 5, 1, 2, 1, 5, 1])
    roles = survey.told(keys, age, married)
    assert roles.tolist() == [HOUSEHOLDER, CHILD, SPOUSE, HOUSEHOLDER, OTHER, HOUSEHOLDER, OTHER]


def test_roles_are_read_from_both_lists_of_relationships():
    newer = survey.roles_of(np.array([20, 21, 22, 23, 25, 27, 30, 35, 38]))
    assert newer.tolist() == [0, 1, 3, 1, 2, 2, 3, 3, NOWHERE]
    assert survey.roles_of(np.array([0, 1, 3, 13, 16])).tolist() == [0, 1, 2, 3, NOWHERE]
    with pytest.raises(InputError, match=r"RELSHIPP holds \[19\]"):
        survey.roles_of(np.array([20, 19]))


@pytest.mark.pipeline
def test_the_rule_tells_the_roles_of_wyoming():
    frame = pd.read_csv(shared("data/csv_pwy.zip"), usecols=["SERIALNO", "AGEP", "MAR", "RELSHIPP"])
    true = survey.roles_of(frame["RELSHIPP"].to_numpy())
    inside = true != NOWHERE
    own = frame[inside]
    found = survey.told(own["SERIALNO"].to_numpy(), own["AGEP"].to_numpy(), own["MAR"].to_numpy())
    assert (found == true[inside]).mean() > 0.968


def a_frame():
    return pd.DataFrame(
        {
            "SERIALNO": ["x", "y", "x", "q", "y", "z"],
            "RELSHIPP": [20, 20, 25, 37, 36, 21],
            "SEX": ["1", "2", "2", "1", "1", "1"],
            "TEN": ["own", "rent", "own", "none", "rent", "own"],
        }
    )


def test_households_are_gathered_from_persons_who_carry_them():
    found, said = Households.from_frame(a_frame(), key="SERIALNO", household=["TEN"], relationship="RELSHIPP")
    assert found.starts.tolist() == [0, 2, 4] and found.roles.tolist() == [0, 2, 0, 3]
    assert found.persons.codes[:, 0].tolist() == [0, 1, 1, 0]
    assert "1 group quarters (1 persons)" in said and "1 households without one householder" in said
    persons, homes = found.to_frames()
    joined = persons.merge(homes, on="SERIALNO")
    assert joined["NP"].tolist() == [2] * 4 and joined["TEN"].tolist() == ["own", "own", "rent", "rent"]
    assert joined["SPORDER"].tolist() == [1, 2, 1, 2]
    assert joined["ROLE"].tolist() == ["householder", "child", "householder", "other"]


def test_households_of_too_many_are_left_out_and_said():
    found, said = Households.from_frame(
        a_frame().iloc[[0, 2, 3]].assign(RELSHIPP=[20, 25, 20]),
        key="SERIALNO", household=["TEN"], relationship="RELSHIPP", most=1,
    )  # fmt: skip
    assert len(found) == 1 and "1 households of more than 1 persons (2 persons)" in said


def test_persons_without_a_key_are_refused():
    frame = a_frame().assign(SERIALNO=["x", None, "x", "q", "y", "z"])
    with pytest.raises(InputError, match="SERIALNO is blank somewhere"):
        Households.from_frame(frame, key="SERIALNO", household=["TEN"], relationship="RELSHIPP")


def test_members_who_disagree_on_their_household_are_refused():
    frame = a_frame().assign(TEN=["own", "rent", "rent", "none", "rent", "own"])
    with pytest.raises(InputError, match="disagree on TEN"):
        Households.from_frame(frame, key="SERIALNO", household=["TEN"], relationship="RELSHIPP")


def test_rows_of_households_keep_their_members():
    rng = np.random.default_rng(10)
    true = households_of(ROLES, rng)
    again = true[np.array([2, 0, 2])]
    assert again.sizes.tolist() == [2, 3, 2]
    assert np.array_equal(again.persons.codes[2:5], true.persons.codes[:3])
    assert np.array_equal(again.numbers, true.numbers[[2, 0, 2]])


QUESTIONS = """
name: homes
title: made up
questions:
- name: MAR
  label: Marital status
  categories: {1: married, 5: never married}
- name: AGE
  column: AGEP
  label: Age
  categories:
    1: {label: below 20, values: ..19}
    2: {label: 20 or more, values: 20..}
- name: TEN
  label: Tenure
  level: household
  categories: {1: owned, 2: rented}
members:
- {spouse MAR: not 1}
- {householder AGE: 1}
- {householder AGE: 2, spouse AGE: 1}
"""


def a_file(path, n=300):
    """Couples, some with a child, and somebody in group quarters."""
    rng = np.random.default_rng(11)
    lines = ["SERIALNO,AGEP,MAR,TEN,TYPEHUGQ"]
    for h in range(n):
        ten, age = rng.integers(1, 3), rng.integers(25, 60)
        lines += [f"2024HU{h},{age + part},1,{ten},1" for part in range(2)]
        lines += [f"2024HU{h},{age - 22},5,{ten},1"] * int(rng.integers(2))
    path.write_text("\n".join([*lines, "2024GQ1,50,5,,2"]) + "\n")


@pytest.mark.pipeline
def test_the_command_writes_two_linked_tables_and_a_joined_one(tmp_path, capsys):
    a_file(tmp_path / "persons.csv")
    (tmp_path / "questions.yaml").write_text(QUESTIONS)
    asked = ["--questions", str(tmp_path / "questions.yaml"), "--out", str(tmp_path / "out")]
    assert main(["households", str(tmp_path / "persons.csv"), *asked]) == 0
    said = capsys.readouterr().err
    assert "told by order, AGEP and MAR" in said and "1 persons of group quarters" in said
    persons, homes, joined = (
        pd.read_parquet(tmp_path / f"out/{name}.parquet") for name in ("persons", "households", "joined")
    )
    assert len(homes) == 240 and homes["SERIALNO"].is_unique
    assert (persons.groupby("SERIALNO").size() == homes.set_index("SERIALNO")["NP"]).all()
    pd.testing.assert_frame_equal(joined, persons.merge(homes, on="SERIALNO"))
    assert (persons.query("ROLE == 'spouse'")["MAR"] == "1").all()
    assert set(persons["ROLE"]) == {"householder", "spouse", "child"}
    written = (tmp_path / "out/measured.md").read_text()
    assert "householder-spouse" in written and "| impossible | 0.00% | 0.00% |" in written
    again = ["--questions", asked[1], "--out", str(tmp_path / "again")]
    assert main(["households", str(tmp_path / "persons.csv"), *again]) == 0
    assert pd.read_parquet(tmp_path / "again/joined.parquet").equals(joined)


@pytest.mark.pipeline
def test_a_question_set_of_one_level_is_refused(tmp_path, capsys):
    a_file(tmp_path / "persons.csv", 3)
    (tmp_path / "questions.yaml").write_text(QUESTIONS.replace("  level: household\n", ""))
    asked = ["--questions", str(tmp_path / "questions.yaml"), "--out", str(tmp_path / "out")]
    assert main(["households", str(tmp_path / "persons.csv"), *asked]) == 1
    assert "questions of persons alone" in capsys.readouterr().err


@pytest.mark.pipeline
def test_the_page_on_households_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs/households.md").read_text(), re.DOTALL)
    said: dict = {}
    exec(block, said)
    assert len(said["joined"]) == len(said["synthetic"].persons)
    true, made = (measures.agreeing(said[name], "RACE").mean() for name in ("train", "synthetic"))
    assert abs(true - made) < 0.06
    near = said["compare_households"](said["train"], said["synthetic"]).set_index(["table", "cells"])
    assert near.loc[("synthetic", "householder-spouse"), "ratio_rms"] < 2
    said["model"].save("model.safetensors")
    again = said["HouseholdModel"].load("model.safetensors", said["train"])
    drawn = again.sample(said["train"], sweeps=20, seed=1)
    assert np.array_equal(drawn.persons.codes, said["synthetic"].persons.codes)
    with pytest.raises(InputError, match="other questions or categories"):
        again.sample(households_of(ROLES, np.random.default_rng(1)))
    kept = again.sample(said["train"], sweeps=1, composition="kept")
    assert np.array_equal(kept.roles, said["train"].roles)


def test_rare_compositions_are_replaced_by_the_most_similar_common_one():
    rng = np.random.default_rng(12)
    true = households_of([ROLES[0]] * 50 + [ROLES[3]] * 50 + [ROLES[1]], rng)
    rows = drawing.resampled(true, 10, rng)
    assert len(rows) == 101 and 100 not in rows
    assert (drawing.resampled(true, 1, rng) < 101).all()


def test_rules_name_members_and_their_household():
    true = households_of([ROLES[0], ROLES[1]], np.random.default_rng(13))
    true = true.of(np.zeros_like(true.persons.codes), np.zeros_like(true.homes.codes))
    entries = [{"spouse B": "3"}, {"householder A": 1, "child B": "not 1, 2"}, {"A": 2, "B": 2}]
    found = rules.stated([*entries, {"child A": 2, "child B": "2..3"}], true)
    assert np.argwhere(found.single).tolist() == [[SPOUSE, 4]]
    assert found.pair[HOUSEHOLDER, CHILD, 0, 4] and found.pair[CHILD, HOUSEHOLDER, 4, 0]
    assert found.person[1, 3] and found.person[3, 1]
    assert found.pair[CHILD, CHILD, 1, 3] and found.pair[CHILD, CHILD, 4, 1]
    assert sum(int(part.sum()) for part in found) == 1 + 2 + 2 + 4


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ({"wife A": 1}, "there is no role 'wife'"),
        ({"spouse X": 1}, "there is no question 'X'"),
        ({"spouse A": 7}, "A has no category 7"),
        ({"spouse A": 1, "spouse B": 1}, "two different members"),
        ({"spouse A": 1, "B": 1}, "two different members, or of neither"),
        ({"spouse A": "1, 2"}, "true households hold"),
    ],
)
def test_rules_that_cannot_be_held_are_refused(rule, said):
    true = households_of([ROLES[0]] * 20, np.random.default_rng(14))
    with pytest.raises(InputError, match=said):
        rules.stated([rule], true)


def test_members_who_agree_are_counted_by_household():
    true = households_of([ROLES[0], ROLES[2], ROLES[3]], np.random.default_rng(15))
    codes = np.array([[0, 0], [0, 1], [0, 2], [1, 2], [1, 2], [0, 0]], np.int16)
    true = true.of(codes, true.homes.codes)
    assert measures.agreeing(true, "A").tolist() == [True, True]
    assert measures.agreeing(true, "B").tolist() == [False, True]
    assert measures.apart(true, "B").tolist() == [1]


def couples_of(answers):
    """Couples whose two persons give these answers, (m, 2, 2), and live alike."""
    true = households_of([[HOUSEHOLDER, SPOUSE]] * len(answers), np.random.default_rng(1))
    return true.of(np.array(answers, np.int16).reshape(-1, 2), np.zeros((len(answers), 1), np.int16))


def test_members_are_suspected_by_the_answers_they_share_with_a_synthetic_household_by_hand():
    train = couples_of([[[0, 0], [0, 0]], [[1, 1], [0, 0]]])
    holdout = couples_of([[[1, 2], [1, 1]], [[1, 2], [1, 2]]])
    synthetic = couples_of([[[0, 0], [0, 1]], [[1, 2], [1, 0]]])
    # Of four answers and the household's own the nearest share 4 and 3, and, of those held out, 4 and 4.
    found = measures.suspected(train, holdout, synthetic, np.random.default_rng(2))
    assert found["2"].value == found["all"].value == (2 * 0.5 + 2 * 0) / 4
    assert np.isnan(found["1"].value) and found["2"].low < found["2"].value < found["2"].high
    away = measures.suspected(train, holdout, synthetic[np.arange(0)], np.random.default_rng(2))
    assert np.isnan(away["all"].value)


def test_the_rarest_composition_is_told_by_size():
    rng = np.random.default_rng(3)
    couple, alone = [HOUSEHOLDER, SPOUSE], [HOUSEHOLDER]
    true = households_of([couple] * 5 + [[HOUSEHOLDER, CHILD]] * 2 + [alone] * 3, rng)
    synthetic = households_of([couple, [HOUSEHOLDER, CHILD], alone, alone], rng)
    assert measures.fewest(true, synthetic) == {"all": 2, "1": 3, "2": 2, "3": 0, "4+": 0}
    assert measures.fewest(true, households_of([[HOUSEHOLDER, OTHER]], rng))["2"] == 0


@pytest.mark.pipeline
def test_true_households_are_found_again_and_a_copy_is_closer():
    rng = np.random.default_rng(16)
    true, others = (households_of([ROLES[i % 4] for i in range(400)], rng) for _ in range(2))
    within = measures.found(true, true, np.arange(400))
    assert within["3"][1] == pytest.approx(0.1) and within["3"][0] > 0.9
    near = measures.closer(true, others, true, rng)
    assert near["3"] > 0.8 > 0.6 > near["1"] > 0.4 and np.isnan(near["4+"])
    assert measures.suspected(true, others, true, rng)["3"].low > 0.8
    fresh = measures.suspected(true, others, households_of([ROLES[i % 4] for i in range(400)], rng), rng)
    assert fresh["all"].low < 0.5 < fresh["all"].high
    assert measures.identical(true, true)["all"] == 1
    assert measures.identical(others, true)["3"] < 0.5
    d = measures.log_ratios(true, true)
    assert all(not part.any() for part in d.values()) and len(d["all role pairs"]) > 50
    doubled = measures.log_ratios(true, true[np.repeat(np.arange(400), 2)])
    assert not any(part.any() for part in doubled.values())
