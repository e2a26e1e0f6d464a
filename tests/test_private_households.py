"""The guarantee for whole households: what a household adds, what is paid, and that nothing else is seen."""

import contextlib
import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from conftest import codebook_of
from test_households import AGREEING, BLOCKS, HOME, PERSON, ROLES, energy, households_of, random_weights

from modp import PrivateHouseholds, household_privacy
from modp.__main__ import main
from modp.base.errors import InputError
from modp.crosstabs.members import UNIT, Parts, breaking, counts, parts, shares
from modp.draws import households as draws
from modp.measures import households as measures
from modp.models.family import Work
from modp.models.households import rules
from modp.models.households.model import HouseholdWeights
from modp.models.private import noise
from modp.models.private.budget import range_of
from modp.models.private_households import FAMILY, fitting, release, tables
from modp.models.private_households.gate import TWICE, HouseholdGate
from modp.models.private_households.recipe import PrivateHouseholdsRecipe
from modp.survey.households import CHILD, HOUSEHOLDER, OTHER, SPOUSE, Codebooks, Households
from modp.survey.records import Records

BOOKS = Codebooks(PERSON, HOME)
MOST = 5
COMPOSED = [
    *ROLES,
    [HOUSEHOLDER, SPOUSE],
    [HOUSEHOLDER, SPOUSE, CHILD, CHILD, CHILD],
    [HOUSEHOLDER, OTHER, OTHER],
]
RECIPE = {"epsilon": 2.0, "delta": 1e-5, "noise": "seeded", "tables": 1.0, "most": MOST}


class Noting:
    """Adds nothing, and notes what it was to be added to."""

    def __init__(self):
        self.asked = []

    def gaussian(self, counts, sigma, sensitivity, rho):
        assert sensitivity**2 / (2 * sigma**2) <= rho
        self.asked.append((counts, sensitivity))
        return counts

    def highest(self, scores, scale, sensitivity, rho):
        assert (2 * sensitivity / scale) ** 2 / 8 <= rho
        self.asked.append((scores, sensitivity))
        return int(np.argmax(scores))


def a_village(n=160, seed=1, person=PERSON, home=HOME):
    """Households whose members mostly agree on the second question, and whose home follows the first."""
    rng = np.random.default_rng(seed)
    true = households_of([COMPOSED[i % len(COMPOSED)] for i in rng.integers(100, size=n)], rng, person, home)
    codes, head = true.persons.codes.copy(), true.starts[:-1][true.household]
    alike = rng.random(len(codes)) < 0.8
    codes[alike, 1] = codes[head, 1][alike]
    homes = np.where(rng.random(n) < 0.9, codes[true.starts[:-1], 0], true.homes.codes[:, 0])
    return true.of(codes, homes[:, None].astype(np.int16))


def of(compositions, persons, homes):
    starts = np.concatenate([[0], np.cumsum([len(roles) for roles in compositions])])
    roles = np.concatenate(compositions).astype(np.int8)
    own = Records(np.asarray(persons, np.int16), PERSON), Records(np.asarray(homes, np.int16), HOME)
    return Households(*own, starts, roles)


def fit(true, seed=3, threads=1, **more):
    recipe = PrivateHouseholdsRecipe(**(RECIPE | more))
    return fitting.spent(true, recipe, Work("m", seed, threads))


def every_table(most=MOST):
    return [*tables.one_way(BOOKS), *tables.pairs(BOOKS, AGREEING, most)]


def test_shares_divide_what_is_counted_by_the_number_of_what_it_is_of():
    true = of(
        [[HOUSEHOLDER, SPOUSE, CHILD, CHILD, CHILD]],
        [[0, 0], [1, 1], [0, 1], [0, 2], [1, 1]],
        [[1]],
    )
    found = shares(true, AGREEING, MOST)
    part = {name: getattr(found, name) / UNIT for name in Parts._fields}
    assert part["single"][CHILD].tolist() == pytest.approx([2 / 3, 1 / 3, 0, 2 / 3, 1 / 3])
    assert part["person"][0, 2:].tolist() == pytest.approx([1 / 5, 1 / 5, 1 / 5])
    assert part["own"][CHILD, 0].tolist() == pytest.approx([0, 2 / 3])
    assert part["pair"][SPOUSE, CHILD, 1, 2:].tolist() == pytest.approx([0, 2 / 3, 1 / 3])
    # Children's pairs (0,0), (0,1), (0,1) on the first question; each pair of two questions in both orders.
    assert part["pair"][CHILD, CHILD, 0, :2].tolist() == pytest.approx([1 / 3, 2 / 3])
    assert part["pair"][CHILD, CHILD, :2, 2:].sum() == pytest.approx(2)
    assert part["members"][CHILD].tolist() == pytest.approx([0, 1])
    assert part["partner"][HOUSEHOLDER, CHILD].tolist() == pytest.approx([1, 0, 1, 0, 0])


def test_a_household_of_any_kind_adds_to_every_table_no_more_than_is_paid_for():
    listed, reached = every_table(), {}
    one = list(itertools.product(range(2), range(3)))
    some = []
    for numbers in tables.compositions(MOST):
        roles = np.repeat(np.arange(4), numbers).tolist()
        # All members alike, or all but one; and of two members everything that there is.
        kinds = [[x] * len(roles) for x in one] + [[x] + [one[0]] * (len(roles) - 1) for x in one]
        kinds += list(itertools.product(one, repeat=2)) if len(roles) == 2 else []
        some += [(roles, persons, k % 2) for k, persons in enumerate([*kinds, *kinds[::-1]])]
    for roles, persons, home in some:
        found = shares(of([roles], persons, [[home]]), AGREEING, MOST)
        for table in listed:
            added = getattr(found, table.part).ravel()[table.cells]
            assert added.min() >= 0 and added.sum() <= table.most * UNIT, (table.name, roles, persons)
            assert (added**2).sum() <= (table.most * UNIT) ** 2
            reached[table.name] = max(reached.get(table.name, 0), int((added**2).sum()))
    for table in listed:
        assert math.isqrt(reached[table.name]) == table.most * UNIT, f"{table.name} pays for too much"


def test_tables_are_all_pairs_of_questions_once_and_the_second_place_of_a_cell_holds_its_number():
    found = shares(a_village(80), AGREEING, MOST)
    pairs = tables.pairs(BOOKS, AGREEING, MOST)
    # 1 within a person, 2 of each of 4 roles with the household, 4 of each of 6 pairs of roles, 3 of two
    # children and of two others, 1 on agreement.
    assert len(pairs) == 1 + 8 + 6 * 4 + 2 * 3 + 1
    seen = {name: np.zeros(getattr(found, name).size, int) for name in Parts._fields}
    for table in pairs:
        part = getattr(found, table.part).ravel()
        assert len(np.unique(table.cells)) == len(table.cells)
        np.add.at(seen[table.part], table.cells, 1)
        if len(table.again):
            assert np.array_equal(part[table.cells], part[table.again])
    assert all(times.max() <= 1 for times in seen.values())


def test_where_nobody_lives_together_nothing_is_asked_of_two_members():
    true = households_of([[HOUSEHOLDER]] * 60, np.random.default_rng(7))
    asked = tables.pairs(BOOKS, AGREEING, 1)
    assert {table.part for table in asked} == {"person", "own"}
    found, gate = fit(true, most=1, epsilon=20.0)
    assert gate.left == 0 and (found.households.sizes == 1).all()
    assert len(found.households) == pytest.approx(60, abs=10)
    assert not any(table.roles == (CHILD, CHILD) for table in tables.pairs(BOOKS, AGREEING, 2))


def test_compositions_are_those_of_one_householder_and_at_most_so_many_persons():
    kinds = tables.compositions(8)
    assert len(kinds) == len(np.unique(kinds, axis=0)) == 64
    assert (kinds[:, HOUSEHOLDER] == 1).all() and kinds[:, SPOUSE].max() == 1
    assert kinds.sum(axis=1).max() == 8 and (tables.compositions(1) == [[1, 0, 0, 0]]).all()


def test_neighbours_differ_by_what_each_answer_is_paid_for():
    true, asked = a_village(60), []
    more = of([[HOUSEHOLDER, CHILD, CHILD, CHILD, CHILD]], [[1, 2]] * 5, [[0]])
    for data in (true, release.joined(true, more)):
        noted = Noting()
        gate = HouseholdGate(data, AGREEING, MOST, 1000, noted)
        gate.compositions(Fraction(1))
        for table in every_table():
            gate.table(table, Fraction(1))
        expected = Parts(*(part / (2 * UNIT) for part in shares(true, AGREEING, MOST)))
        pairs = tables.pairs(BOOKS, AGREEING, MOST)
        gate.worst(expected, pairs, np.linspace(0, 3, len(pairs)), Fraction(1))
        asked.append(noted.asked)
    for (one, sensitivity), (other, _) in list(zip(*asked, strict=True))[:-1]:
        assert ((one - other) ** 2).sum() <= sensitivity**2
    (one, sensitivity), (other, _) = (of_one[-1] for of_one in asked)
    assert sensitivity == TWICE * UNIT and np.abs(one - other).max() <= sensitivity


def test_the_ledger_adds_up_to_the_budget_and_the_history_says_on_what_it_was_spent():
    found, gate = fit(a_village())
    assert gate.left == 0 and sum(line.rho for line in gate.ledger) == gate.rho
    assert sum(line.rho for line in found.history) == pytest.approx(float(gate.rho))
    assert [line.table for line in found.history[:2]] == ["compositions", "one-way tables"]
    assert len(found.history) == 2 + 9  # 9 one-way tables, as many of two answers
    with pytest.raises(InputError, match="budget is spent"):
        gate.compositions(Fraction(1, 10**9))


def test_nothing_but_the_gate_sees_true_households(monkeypatch):
    own, others = a_village(seed=1), a_village(n=150, seed=2)
    first, _ = fit(own)
    real = fitting.HouseholdGate
    monkeypatch.setattr(fitting, "HouseholdGate", lambda true, *rest: real(own, *rest))
    second, _ = fit(others)
    assert np.array_equal(first.households.persons.codes, second.households.persons.codes)
    assert np.array_equal(first.households.homes.codes, second.households.homes.codes)
    assert np.array_equal(first.households.starts, second.households.starts)
    for a, b in zip(first.model.weights, second.model.weights, strict=True):
        assert np.array_equal(a, b)


class Repeating(HouseholdGate):
    """A gate to other households that gives the answers that the first one gave, and is paid for them."""

    def __init__(self, answers, *given):
        super().__init__(*given)
        self.answers = iter(answers)

    def _measured(self, asked, counts, squared, rho):
        self._pay(asked, rho)
        return next(self.answers)

    def _highest(self, asked, scores, sensitivity, rho):
        self._pay(asked, rho)
        return next(self.answers)


class Answering(HouseholdGate):
    """A gate that keeps its answers."""

    def __init__(self, *given):
        super().__init__(*given)
        self.answers = []

    def _measured(self, *asked):
        self.answers.append(super()._measured(*asked))
        return self.answers[-1]

    def _highest(self, *asked):
        self.answers.append(super()._highest(*asked))
        return self.answers[-1]


def steps(folder, true):
    """Write households, fit a model to them, draw its row by the pipeline's steps; return what is written."""
    folder.mkdir()
    true.write(folder / "records.parquet", folder / "households.parquet")
    (folder / "codebook.json").write_text(true.codebook.persons.to_json())
    (folder / "homes.json").write_text(true.codebook.homes.to_json())
    (folder / "said.json").write_text(json.dumps({"members": [{"spouse A": "1"}], "derived": []}))
    model = PrivateHouseholdsRecipe(**RECIPE).model_dump_json()
    common = {"records": "records.parquet", "codebook": "codebook.json", "homes": "households.parquet"}
    common |= {"home-codebook": "homes.json", "name": "m", "model": model, "seed": 1}
    common |= {"weights": "model.safetensors"}
    of_fit = {"said": "said.json", "history": "history.parquet", "plot": "plot.csv", "log": "fit.log"}
    row = json.dumps({"model": "m", "name": "released"})
    of_draw = {"row": row, "out": "synthetic.parquet", "home-out": "homes.parquet", "log": "draw.log"}
    with contextlib.chdir(folder):
        for name, own in (("fit", of_fit), ("draw_households", of_draw)):
            assert main([name, *(f"--{key}={value}" for key, value in (common | own).items())]) == 0
    names = ("model.safetensors", "history.parquet", "plot.csv", "synthetic.parquet", "homes.parquet")
    return [(folder / name).read_bytes() for name in names]


@pytest.mark.pipeline
def test_the_steps_write_the_same_bytes_for_neighbours_with_the_same_answers(tmp_path, monkeypatch):
    gates = []
    first, second = a_village(), a_village()[np.arange(159)]

    def answering(*given):
        gates.append(Answering(*given))
        return gates[-1]

    monkeypatch.setattr(fitting, "HouseholdGate", answering)
    one = steps(tmp_path / "one", first)
    repeating = lambda *given: Repeating(gates[0].answers, *given)  # noqa: E731
    monkeypatch.setattr(fitting, "HouseholdGate", repeating)
    assert one == steps(tmp_path / "two", second)
    drawn, more = Households.read(
        tmp_path / "one/synthetic.parquet", tmp_path / "one/homes.parquet", BOOKS, ["record"]
    )
    assert np.isnan(more["record"]).all() and len(gates[0].answers) == 1 + 9 + 2 * 9
    assert not (drawn.persons.codes[drawn.roles == SPOUSE, 0] == 0).any(), "the question set's rule holds"


@pytest.mark.pipeline
def test_same_seed_same_households_on_any_number_of_threads_and_another_seed_others():
    true = a_village()
    one, two, other = fit(true)[0], fit(true, threads=2)[0], fit(true, seed=4)[0]
    assert np.array_equal(one.households.persons.codes, two.households.persons.codes)
    assert one.history == two.history != other.history


@pytest.mark.pipeline
def test_with_a_large_budget_the_tables_are_the_true_ones_and_far_from_those_of_strangers():
    true = a_village(2000)
    found, _ = fit(true, epsilon=100.0, tables=20.0)
    drawn = found.households
    assert len(drawn) == pytest.approx(len(true), abs=5)
    own, other = (shares(of_, AGREEING, MOST) for of_ in (true, drawn))
    for name in ("person", "own", "pair", "agree"):
        a, b = getattr(own, name) / UNIT, getattr(other, name) / UNIT * len(true) / len(drawn)
        assert np.abs((a - b) / np.sqrt(a + 10)).mean() < 1.1, f"{name}: a resample would have 0.8"
    kinds = [np.unique(of_.numbers, axis=0).tolist() for of_ in (true, drawn)]
    assert kinds[0] == [kind for kind in kinds[1] if kind in kinds[0]]
    agree = [measures.agreeing(of_, "B").mean() for of_ in (true, drawn)]
    assert agree[0] == pytest.approx(agree[1], abs=0.03) and agree[0] > 0.4


def test_stated_rules_hold_and_what_no_true_household_holds_is_drawn():
    rule = [{"householder A": "2", "child A": "1"}, {"spouse B": "3"}]
    true = a_village(600)
    true = true[np.flatnonzero(~breaking(true, rules.excluded(rule, BOOKS)))]
    true = true[np.flatnonzero(true.persons.codes[true.starts[:-1], 1] != 1)]  # no true householder says so
    found, _ = fit(true, impossible=rule)
    assert not breaking(found.households, rules.excluded(rule, BOOKS)).any()
    heads = found.households.persons.codes[found.households.starts[:-1], 1]
    assert (heads == 1).any()


def test_rules_that_leave_no_household_are_told(monkeypatch):
    monkeypatch.setattr(release, "TRIES", 3)
    monkeypatch.setattr(release, "STARTS", 2)
    rule = [{"householder A": "1, 2", "child A": "1, 2"}]
    with pytest.raises(InputError, match="still break a rule"):
        fit(a_village(), impossible=rule)


def test_households_begin_at_independent_answers_that_keep_the_rules_however_rarely_these_do():
    # Four children who all must give an answer of one in twenty: one in 160,000 together, but not singly.
    rule = [{"householder B": "3", "child B": "1, 2"}, {"householder B": "1, 2"}]
    excluded = rules.excluded(rule, BOOKS)._replace(agree=np.zeros((1, MOST + 1), bool))
    weights = parts(5, 2, 1, MOST)
    weights.single[CHILD, 2:] = np.log([0.9, 0.05, 0.05])
    model = HouseholdWeights(weights, excluded, *BLOCKS, AGREEING, np.eye(3), 0)
    numbers = np.array([[1, 0, 4, 0], [1, 1, 0, 0]]).repeat(50, axis=0)
    found = release.begun(numbers, model, BOOKS, np.random.default_rng(1))
    assert np.array_equal(found.numbers, numbers) and not breaking(found, excluded).any()
    assert set(found.persons.codes[found.roles == CHILD, 1]) == {2}
    assert set(found.persons.codes[found.roles == SPOUSE, 1]) == {0, 1, 2}


def test_households_that_are_larger_than_said_are_refused():
    with pytest.raises(InputError, match="more than 3 persons"):
        fit(a_village(), most=3)


def test_a_question_to_agree_on_must_be_one():
    with pytest.raises(InputError, match="agree: there is no question 'Z'"):
        fit(a_village(), agree=["Z"])


def test_secret_noise_is_paid_for_as_opendp_counts():
    gate = HouseholdGate(a_village(40), AGREEING, MOST, Fraction(1), noise.Secret())
    found, sigma = gate.compositions(Fraction(1, 2))
    assert len(found) == len(tables.compositions(MOST)) and sigma == pytest.approx(1)
    table = tables.pairs(BOOKS, AGREEING, MOST)[-2]
    assert gate.table(table, Fraction(1, 4))[1] == pytest.approx(math.sqrt(2) * table.most)
    expected = Parts(*(np.zeros(part.shape) for part in shares(a_village(4), AGREEING, MOST)))
    assert gate.worst(expected, [table], np.zeros(1), Fraction(1, 4)) == 0


def test_gains_are_what_the_energy_of_a_household_changes_by():
    rng = np.random.default_rng(5)
    true = households_of([ROLES[i % 4] for i in range(40)], rng)
    weights = random_weights(rng)
    found = draws.gains(true, weights, AGREEING, 2)
    slow = [
        energy(
            weights,
            true.roles[first:last],
            true.persons.codes[first:last],
            int(true.homes.codes[h, 0]),
        )
        for h, (first, last) in enumerate(itertools.pairwise(true.starts))
    ]
    assert found == pytest.approx(slow)


def test_counts_of_shares_are_counts_where_there_is_one_of_each():
    true = households_of([[HOUSEHOLDER, SPOUSE]] * 20, np.random.default_rng(6))
    own, one = counts(true, AGREEING, 2), shares(true, AGREEING, 2)
    for name in ("single", "partner", "own", "home", "members", "between", "pair", "agree"):
        assert np.array_equal(getattr(own, name) * UNIT, getattr(one, name)), name
    assert np.array_equal(own.person * UNIT // 2, one.person)


def test_chains_are_kept_in_proportion_to_what_they_gain_within_their_kind():
    kind = np.array([1, 0, 1, 0, 1, 0, 1, 0])
    gains = np.log(np.array([1.0, 3, 1, 1, 1, 1, 1, 1]))
    rows = release.resampled(gains, kind, 0.5)
    # Odds 3, 1, 1, 1 of the first kind are shares of 2, 2/3, 2/3, 2/3 of the four places.
    assert (np.sort(kind[rows]) == kind[rows]).all() and sorted(rows[:4]) == [1, 1, 3, 7]
    assert sorted(rows[4:]) == [0, 2, 4, 6]


def test_compositions_are_brought_to_the_total_by_hand():
    assert release.projected(np.array([10, 4, -3, 1]), 12).tolist() == [9, 3, 0, 0]
    assert release.projected(np.array([3, -4]), 5).tolist() == [5, 0]
    assert release.rounded(np.array([0.5, 1.5, 0.4, 2.6])).tolist() == [0, 2, 0, 3]


def test_the_total_is_that_of_all_sums_by_inverse_variance():
    listed = tables.one_way(BOOKS)
    noisy = [(np.full(len(table.cells), 12.0), 2.0) for table in listed]
    # Sums 20 of variance 2·1, and of variance 4 a cell: 24 and 36 of householders, 24 of households.
    found = release.total_of(np.array([8, 12]), 1.0, listed, noisy)
    assert found == pytest.approx((20 / 2 + 24 / 8 + 36 / 12 + 24 / 8) / (1 / 2 + 1 / 8 + 1 / 12 + 1 / 8))


def test_what_is_released_comes_back_from_its_file_and_has_no_true_partner(tmp_path):
    true, work = a_village(), Work("m", 3)
    fitted = FAMILY.fit(true, PrivateHouseholdsRecipe(**RECIPE), work)
    fitted.model.save(tmp_path / "m.safetensors", true.codebook)
    model = FAMILY.load(tmp_path / "m.safetensors", true.codebook)
    drawn, record = FAMILY.draw_whole(model, true[:0], FAMILY.row(model="m", name="r"), work)
    assert np.array_equal(drawn.persons.codes, fitted.model.households.persons.codes)
    assert record.mask.all() and len(record) == len(drawn)
    assert "differentially private for each household" in fitted.said
    hits = measures.found(true, drawn, record)
    assert all(math.isnan(share) for pair in hits.values() for share in pair)
    with pytest.raises(InputError, match="other questions"):
        FAMILY.load(tmp_path / "m.safetensors", Codebooks(codebook_of(2, 2), HOME))


def test_a_table_is_chosen_that_is_off_by_more_than_noise_would_be_and_kinds_count_alike():
    listed = tables.pairs(BOOKS, AGREEING, MOST)
    found = dict(zip((t.name for t in listed), release.handicaps_of(listed, 2.0, 0.5), strict=True))
    # Noise of 2 is off by 2 √(2/π) in a mean cell; chance has the scale that a price of 1/2 buys.
    noise, scale = 2 * math.sqrt(2 / math.pi), 2 / range_of(0.5)
    assert found["person A, B"] == pytest.approx(6 * noise)
    assert found["householder A, household A"] == pytest.approx(4 * noise + scale * math.log(8))
    assert found["child A, child B"] == pytest.approx(2 * (6 * noise + scale * math.log(14)))
    assert found["child A, child A"] == pytest.approx(3 * noise + scale * math.log(16))
    true = a_village(400)
    gate = HouseholdGate(true, AGREEING, MOST, 1, Noting())
    own = Parts(*(part / UNIT for part in shares(true, AGREEING, MOST)))
    own.own[SPOUSE, :2] += 5
    place = gate.worst(own, listed, np.zeros(len(listed)), Fraction(1))
    assert listed[place].name == "spouse A, household A"


def test_a_private_model_of_households_has_one_row_without_a_size():
    with pytest.raises(ValueError, match="no 'size'"):
        FAMILY.row(model="m", name="r", size=5)
    assert FAMILY.most_rows == 1


def test_the_guarantee_names_its_unit_and_whether_noise_can_be_taken_away():
    said = " ".join(FAMILY.guarantee(PrivateHouseholdsRecipe(**RECIPE)))
    assert "(2, 1e-05)" in said and "one whole household more, of at most 5 persons" in said
    assert "THE NOISE DERIVES FROM THE RUN'S SEED" in said
    secret = " ".join(FAMILY.guarantee(PrivateHouseholdsRecipe(**RECIPE | {"noise": "secret"})))
    assert "operating system's entropy" in secret


def test_parts_of_no_household_are_empty():
    none = shares(a_village(4)[np.zeros(0, int)], AGREEING, MOST)
    for found, wanted in zip(none, parts(5, 2, 1, MOST), strict=True):
        assert found.shape == wanted.shape and not found.any()


@pytest.mark.pipeline
def test_the_face_releases_what_the_step_does_and_says_what_it_guarantees(tmp_path):
    true, recipe = a_village(), {**RECIPE, "public_edges": True}
    by_face = PrivateHouseholds.fit(true, seed=3, threads=1, **recipe)
    work = Work("private_households", 3, 1)
    by_step = fitting.spent(true, PrivateHouseholdsRecipe(**recipe), work)[0]
    assert np.array_equal(by_face.sample().persons.codes, by_step.households.persons.codes)
    assert "(2, 1e-05)-differential privacy" in by_face.guarantee[0]
    by_face.save(tmp_path / "model.safetensors")
    again = PrivateHouseholds.load(tmp_path / "model.safetensors", true)
    assert np.array_equal(again.sample().homes.codes, by_face.sample().homes.codes)
    leaks = household_privacy(true, by_face.sample(), a_village(seed=9))
    assert leaks.loc[leaks["table"] == "synthetic", "within_10"].isna().all()
    with pytest.raises(InputError, match="did you mean 'most'"):
        PrivateHouseholds.fit(true, epsilon=1.0, mots=3)
