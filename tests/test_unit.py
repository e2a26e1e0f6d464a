"""Households as what a guarantee protects: what one changes is what is paid for, through the step itself."""

import itertools
import json
import math
import re
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT, records_of
from test_private import RECIPE, STARTS, correlated, step

from modp.base.config import check, read_yaml
from modp.base.errors import InputError
from modp.crosstabs.pairs import crosstab
from modp.face import Private
from modp.models.private import budget, fitting, noise
from modp.models.private.guarantee import guarantee
from modp.models.private.recipe import PrivateRecipe
from modp.models.private.unit import taken
from modp.pipeline import stages
from modp.pipeline.params import Params
from modp.survey import weights

RHO = Fraction(1, 10)
HOUSEHOLDS = RECIPE.model_copy(update={"unit": "household", "most": 2})


def people(households: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Records of three questions, and of which household each is, in no order."""
    sizes = rng.integers(1, 6, households)
    numbers = rng.permutation(np.repeat(np.arange(households), sizes))
    codes = np.column_stack([rng.integers(0, size, len(numbers)) for size in (3, 2, 4)])
    return codes.astype(np.int16), numbers


@pytest.mark.parametrize("most", [1, 2, 3])
def test_of_a_household_no_more_are_taken_and_of_a_small_one_all(most):
    codes, numbers = people(200, np.random.default_rng(1))
    rows = taken(codes, numbers, most, 7)
    assert (np.diff(rows) > 0).all()
    assert np.array_equal(np.bincount(numbers[rows]), np.minimum(np.bincount(numbers), most))


def test_whom_a_household_gives_depends_on_no_other_one_nor_on_where_they_stand():
    rng = np.random.default_rng(2)
    codes, numbers = people(100, rng)
    own = [set(map(bytes, codes[rows])) for rows in np.split(*kept_by_household(codes, numbers))]
    for drop in (0, 57):
        stay = numbers != drop
        rows, at = kept_by_household(codes[stay], numbers[stay])
        others = [set(map(bytes, codes[stay][some])) for some in np.split(rows, at)]
        assert others == own[:drop] + own[drop + 1 :]
    # Households moved, each in its own order.
    order = np.argsort(rng.permutation(100)[numbers], kind="stable")
    rows = taken(codes[order], numbers[order], 2, 7)
    assert np.array_equal(np.sort(order[rows]), taken(codes, numbers, 2, 7))


def kept_by_household(codes, numbers):
    rows = taken(codes, numbers, 2, 7)
    rows = rows[np.argsort(numbers[rows], kind="stable")]
    return rows, np.flatnonzero(np.diff(numbers[rows])) + 1


def test_each_member_is_as_likely_to_be_taken():
    rng = np.random.default_rng(3)
    numbers, codes = np.repeat(np.arange(3000), 4), rng.integers(0, 4, (12_000, 3)).astype(np.int16)
    places = np.bincount(taken(codes, numbers, 1, 1) % 4, minlength=4)
    assert np.abs(places - 750).max() < 5 * math.sqrt(750)


class Noting:
    """Adds nothing; notes to what it was to be added, by how much that may differ, cost and price."""

    def __init__(self):
        self.asked = []

    def gaussian(self, counts, sigma, sensitivity, rho):
        self.asked.append((counts.astype(np.int64), sensitivity, sensitivity**2 / (2 * sigma**2), rho))
        return counts

    def highest(self, scores, scale, sensitivity, rho):
        self.asked.append((scores, sensitivity, (2 * sensitivity / scale) ** 2 / 8, rho))
        return 0


def asked_of(codes, most):
    noted = Noting()
    gate = budget.Gate(crosstab(records_of(codes, (2, 3))), np.array([0, 2, 5]), 3 * RHO, noted, most)
    gate.margins(RHO)
    gate.pair(0, 1, RHO)
    gate.worst(np.full((5, 5), 0.7), [(0, 1)], np.zeros(1), RHO)
    return noted.asked


@pytest.mark.parametrize("most", [1, 2, 3])
def test_no_household_changes_an_answer_by_more_than_is_paid_for_and_the_worst_by_that(most):
    rest, cells = [[0, 0], [0, 1], [1, 2], [1, 2], [1, 0]], list(itertools.product(range(2), range(3)))
    before = asked_of(np.array(rest, np.int16), most)
    worst = np.zeros(len(before))
    for size in range(1, most + 1):
        for household in itertools.combinations_with_replacement(cells, size):
            after = asked_of(np.array([*rest, *household], np.int16), most)
            for at, (one, other) in enumerate(zip(before, after, strict=True)):
                far = other[0] - one[0]
                changed = np.abs(far).max() ** 2 if at == 3 else (far**2).sum()
                worst[at] = max(worst[at], changed / one[1] ** 2)
                assert one[2] <= one[3]  # what such a mechanism costs, and what was paid
    assert worst == pytest.approx([1, 1, 1, 1], abs=0.01) and worst.max() <= 1


def test_noise_is_what_group_privacy_asks_for_where_one_record_is_protected():
    # m people of a household with a budget of ρ are one record each with ρ / m².
    counts = crosstab(correlated(50))
    gates = [budget.Gate(counts, STARTS, rho, Noting(), most) for rho, most in ((RHO, 3), (RHO / 9, 1))]
    sigmas = [[*gate.margins(gate.rho / 2)[1], gate.pair(0, 1, gate.rho / 2)[1]] for gate in gates]
    assert sigmas[0] == pytest.approx(sigmas[1], rel=1e-9)
    assert gates[0].left == gates[1].left == 0


class Replaying(noise.Seeded):
    """Notes what it is asked for; answers as it did the first time, whatever the counts are now."""

    answers: list
    asked: list

    def gaussian(self, counts, sigma, sensitivity, rho):
        found = self._answer(lambda: super(Replaying, self).gaussian(counts, sigma, sensitivity, rho))
        self.asked[-1].append((counts.astype(np.int64), sensitivity, sensitivity**2 / (2 * sigma**2), rho))
        return found

    def highest(self, scores, scale, sensitivity, rho):
        found = self._answer(lambda: super(Replaying, self).highest(scores, scale, sensitivity, rho))
        self.asked[-1].append((scores, sensitivity, (2 * sensitivity / scale) ** 2 / 8, rho))
        return found

    def _answer(self, drawn):
        if len(self.asked) == 1:
            self.answers.append(drawn())
        return self.answers[len(self.asked[-1])]


def fit(folder, codes, households, recipe=HOUSEHOLDS, named=True):
    some = correlated(10)
    some.of(codes).write(folder / "records.parquet")
    (folder / "codebook.json").write_text(some.codebook.to_json())
    weights.write(folder / "design.parquet", households, None, named)
    files = {"weights": "model.safetensors", "history": "history.parquet", "plot": "plot.csv"}
    return step(folder, "fit", model=recipe.model_dump_json(), design="design.parquet", **files)


@pytest.mark.pipeline
def test_the_fit_step_pays_for_what_a_whole_household_changes(tmp_path, monkeypatch):
    # All that the step asks of the records goes through its noise: that is where neighbours are compared.
    codes = correlated(900).codes
    numbers = np.arange(900) // 3
    more = np.vstack([codes, np.repeat([[2, 1, 3]], 5, axis=0)]).astype(np.int16)
    neighbours = ((codes, numbers), (more, np.append(numbers, np.full(5, 300))))
    monkeypatch.setattr(Replaying, "answers", [], raising=False)
    monkeypatch.setattr(Replaying, "asked", [], raising=False)
    monkeypatch.setattr(fitting.noise, "Seeded", Replaying)
    every_pair = HOUSEHOLDS.model_copy(update={"pairs": 1.0})
    files, written = ("model.safetensors", "history.parquet", "plot.csv", "fit.log"), []
    for number, (some, households) in enumerate(neighbours):
        folder = tmp_path / str(number)
        folder.mkdir()
        Replaying.asked.append([])
        assert fit(folder, some, households, every_pair) == 0
        written.append([(folder / file).read_bytes() for file in files])
    one, other = Replaying.asked
    assert len(one) == len(other) == 3 + 3 + 3  # one-way tables; pairs; their choices
    ratios = []
    for before, after in zip(one, other, strict=True):
        far = after[0] - before[0]
        chosen = before[0].ndim == 1 and before[1] == 2 * budget.FINE
        ratios.append(np.abs(far).max() / before[1] if chosen else math.sqrt((far**2).sum()) / before[1])
        assert before[2] <= before[3] and before[1:] == after[1:]
    assert max(ratios) <= 1 and min(ratios) > 0.5  # the worst that may be: two people of the same answers
    assert sum(asked[3] for asked in one) == Fraction(budget.rho_of(RECIPE.epsilon, RECIPE.delta))
    assert written[0][:3] == written[1][:3]
    logs = [re.sub(r"\d{4}-\S+Z|[\d.]+ s\b", "", log.decode()).splitlines() for *_, log in written]
    differ = [pair for pair in zip(*logs, strict=True) if pair[0] != pair[1]]
    assert len(differ) == 1 and "600 of 900 records are taken, at most 2 of a household" in differ[0][0]
    assert "602 of 905" in differ[0][1] and "not to be told" in differ[0][1]


@pytest.mark.pipeline
def test_a_release_is_of_those_taken_and_its_ledger_is_the_whole_budget(tmp_path):
    codes, numbers = correlated(3000).codes, np.arange(3000) // 3
    assert fit(tmp_path, codes, numbers) == 0
    history = pd.read_parquet(tmp_path / "history.parquet")
    assert history["rho"].sum() == pytest.approx(budget.rho_of(RECIPE.epsilon, RECIPE.delta))
    out = {"weights": "model.safetensors", "family": "private", "out": "synthetic.parquet"}
    assert step(tmp_path, "draw", row=json.dumps({"model": "dp", "name": "released"}), **out) == 0
    assert 1800 < len(pd.read_parquet(tmp_path / "synthetic.parquet")) < 2200


def test_households_that_are_not_known_are_refused_with_a_sentence(tmp_path):
    codes = correlated(100).codes
    assert fit(tmp_path, codes, np.arange(100), named=False) == 1
    log = (tmp_path / "fit.log").read_text()
    assert "no key by which records of one can be told" in log and "household: SERIALNO" in log
    files = {"weights": "model.safetensors", "history": "history.parquet", "plot": "plot.csv"}
    assert step(tmp_path, "fit", model=HOUSEHOLDS.model_dump_json(), **files) == 1
    assert "no key by which" in (tmp_path / "fit.log").read_text()


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"unit": "household"}, "needs 'most'"),
        ({"most": 2}, "'most' is of households"),
        ({"unit": "household", "most": 0}, "most"),
        ({"unit": "family", "most": 1}, "unit"),
    ],
)
def test_a_recipe_says_how_many_of_a_household(keys, said):
    with pytest.raises(InputError, match=said):
        check({"family": "private", "epsilon": 1, "delta": 1e-5, **keys}, PrivateRecipe, "model dp")


@pytest.mark.pipeline
def test_from_python_households_are_given_beside_the_records():
    records = correlated(600)
    keys = {"unit": "household", "most": 1, "chains": 200, "noise": "seeded"}
    found = Private.fit(records, epsilon=5, households=np.arange(600) // 2, **keys)
    assert 200 < len(found.sample()) < 400
    with pytest.raises(InputError, match="name the column"):
        Private.fit(records, **keys)
    with pytest.raises(InputError, match="give one each"):
        Private.fit(records, households=np.arange(3), **keys)


def test_the_guarantee_says_whom_it_protects():
    one, home = (" ".join(guarantee(recipe)) for recipe in (RECIPE, HOUSEHOLDS))
    assert "one record more" in one and "for four people of one" in one
    assert "one household more" in home and "2 at most were taken" in home and "fourth" not in home


def test_a_file_of_households_says_whether_they_are_the_data_sets(tmp_path):
    for named in (True, False):
        weights.write(tmp_path / "w.parquet", np.array([0, 0, 1]), None, named)
        assert weights.are_named(tmp_path / "w.parquet") is named
        assert weights.read_households(tmp_path / "w.parquet").tolist() == [0, 0, 1]


@pytest.mark.parametrize("unit", [{}, {"unit": "household", "most": 2}])
def test_dvc_knows_that_the_fit_reads_households_where_it_does(unit):
    given = read_yaml(ROOT / "params.yaml")
    given["models"]["stationary_dp"] |= unit
    deps = stages.stages(check(given, Params, "params.yaml"))["fit_private"]["do"]["deps"]
    assert ("${results}/${dataset}/weights.parquet" in deps) == bool(unit)


def test_a_budget_that_hardly_says_how_many_records_there_are_is_refused():
    records = correlated(600)
    keys = {"households": np.arange(600) // 2, "unit": "household", "noise": "seeded", "pairs": 1}
    with pytest.raises(InputError, match=r"known to ± [\d,]+ alone.*a smaller 'most'"):
        Private.fit(records, epsilon=0.001, delta=1e-30, most=20, **keys)
    with pytest.raises(InputError, match="most: Input should be less than or equal to 20"):
        Private.fit(records, epsilon=1, most=21, **keys)
