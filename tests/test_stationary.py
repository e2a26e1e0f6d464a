"""The stationary pairwise model: it reproduces the pair tables that it was fitted to."""

import itertools
from dataclasses import fields, replace

import numpy as np
import pytest
import torch
from conftest import codebook_of, records_of
from test_sweep import probabilities, states

from modp.base import seeds
from modp.base.errors import InputError
from modp.crosstabs.cells import structural_zeros, within_question
from modp.crosstabs.pairs import crosstab
from modp.draws import gpu_sweeps, independent, postprocess, sweeps
from modp.models import family
from modp.models.family import Work
from modp.models.stationary import FAMILY, drawing, matching, wide
from modp.models.stationary import model as stationary
from modp.models.stationary.matching import Settings, State
from modp.models.stationary.model import Stationary
from modp.models.stationary.wide import wideness
from modp.survey.records import Records, one_hot

SIZES = (3, 2, 4)
STARTS = np.array([0, 3, 5, 9])


def correlated(n: int) -> Records:
    """Records of three questions that hang together, with one pair of answers that never occurs."""
    rng = np.random.default_rng(1)
    first = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    second = (rng.random(n) < np.array([0.2, 0.5, 0.9])[first]).astype(int)
    third = np.where(rng.random(n) < 0.4, first, rng.choice(4, n, p=[0.4, 0.3, 0.2, 0.1]))
    third[(second == 1) & (third == 3)] = 0
    return records_of(np.column_stack([first, second, third]).astype(np.int16), SIZES)


def parity(n: int) -> Records:
    """Records of three questions of which no pair, but only the three together, hangs together."""
    rng = np.random.default_rng(2)
    first, second = rng.integers(0, 3, n), rng.integers(0, 2, n)
    third = np.where(rng.random(n) < 0.7, (first + second) % 2, rng.integers(0, 4, n))
    return records_of(np.column_stack([first, second, third]).astype(np.int16), SIZES)


def fitted(records: Records, settings: Settings | None = None, seed: int = 1, threads: int = 1):
    lines = []
    return *matching.fit(records, settings or Settings(exchanges=0), seed, threads, lines.append), lines


def changed(settings: Settings, **values: object) -> Settings:
    return settings.model_copy(update=values)


def distances(model: Stationary, records: Records) -> np.ndarray:
    """How far a model's crosstab, by enumeration, is from the records', in standard deviations, (K, K)."""
    counts = crosstab(records)
    return (expected_crosstab(model) * len(records) - counts) / np.sqrt(counts + 1)


@pytest.fixture(scope="module")
def fit():
    return fitted(correlated(20_000))


def expected_crosstab(model: Stationary) -> np.ndarray:
    p, hot = probabilities(model.tables), one_hot(states(STARTS), STARTS)
    return hot.T.astype(np.float64) @ (p[:, None] * hot)


def test_fit_recovers_every_pair_table(fit):
    records = correlated(20_000)
    z, counts = distances(fit[0], records), crosstab(records)
    # By enumeration, so without sampling noise: a fraction of what sampling noise would be.
    assert np.abs(z).max() < 0.6
    assert np.sqrt((z**2).mean()) < 0.2
    independent = np.outer(np.diag(counts), np.diag(counts)) / len(records)
    assert np.abs((independent - counts) / np.sqrt(counts + 1)).max() > 20


def test_residuals_are_what_the_predictions_miss(fit):
    rng, records = np.random.default_rng(3), correlated(3_000)
    model = replace(fit[0], triples=np.array([[0, 1, 2]]), values=rng.normal(size=24).astype(np.float32))
    hot = records.one_hot.astype(np.float64)
    expected = hot.T @ (hot - independent.normalised(model.predict(records), STARTS))
    assert np.abs(expected).max() > 100
    assert sweeps.residuals(records.codes, model.tables, 2) == pytest.approx(expected, abs=0.01)
    some = rng.permutation(3_000)[:700]
    on_gpu = gpu_sweeps.residuals_on(torch.device("cpu"), records.codes, model.tables, some)
    assert on_gpu == pytest.approx(sweeps.residuals(records.codes, model.tables, 2, some), abs=0.01)


@pytest.mark.pipeline
def test_a_fit_on_the_gpus_path_recovers_every_pair_table():
    records, cpu = correlated(2_000), torch.device("cpu")
    short = Settings(exchanges=2, most_windows=3)
    model, _, history = matching.fit(records, short, 1, 1, lambda _: None, gpu=cpu)
    assert history != fitted(records, short)[2], "the CPU's own path was taken"
    assert np.sqrt((distances(model, records) ** 2).mean()) < 0.2
    drawn, bits, _ = stationary.sample(model, records.codes, 2, 1, 1, cpu)
    assert drawn.shape == records.codes.shape and (bits > 0).all()


def test_model_is_symmetric_and_keeps_its_zeros(fit):
    model, chains, _, _ = fit
    zeros = structural_zeros(crosstab(correlated(20_000)), STARTS)
    assert np.array_equal(model.excluded, zeros) and zeros[4, 8] and zeros[8, 4]
    assert np.array_equal(model.w, model.w.T)
    assert not model.w[within_question(STARTS) | zeros].any()
    assert model.w.dtype == model.c.dtype == np.float32
    assert not postprocess.violations(records_of(chains, SIZES), zeros).any()


def test_history_is_what_was_reported(fit):
    _, _, history, reported = fit
    assert history == reported
    assert [line.iteration for line in history] == list(range(1, len(history) + 1))
    assert {line.level for line in history} == {0, 1, 2, 3}
    assert all(0 < line.changed < 1 for line in history)


@pytest.mark.parametrize("some", [correlated, parity])
def test_same_seed_same_bytes_on_any_number_of_threads(some, tmp_path):
    records = some(2_000)
    short = Settings(start_epochs=2, most_windows=1, levels=(1.0,))
    one, two, other = (fitted(records, short, seed, threads) for seed, threads in ((1, 1), (1, 2), (2, 2)))
    for name, fit in (("1", one), ("2", two), ("3", other)):
        fit[0].save(tmp_path / name, records.codebook)
    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()
    assert (tmp_path / "1").read_bytes() != (tmp_path / "3").read_bytes()
    assert np.array_equal(one[1], two[1])
    assert one[2] == two[2]


def test_chains_come_in_the_order_of_the_records():
    # All weights are zero but two questions' that tie them firmly: a chain keeps its first answer.
    codes = np.repeat(np.arange(2, dtype=np.int16), 50)[:, None] * np.ones((1, 2), np.int16)
    w = np.zeros((4, 4))
    w[[0, 2, 1, 3], [2, 0, 3, 1]] = 30
    model = Stationary(w, np.zeros(4), np.zeros((4, 4), bool), np.array([0, 2, 4]))
    target = crosstab(records_of(codes, (2, 2)))
    quick = Settings(exchanges=0, most_windows=1, levels=(1e-9,))
    _, chains, _ = matching.match(model, target, codes, quick, 1, 1, lambda _: None)
    assert np.array_equal(chains, codes)


@pytest.mark.pipeline
def test_divergence_halves_the_steps_and_goes_on():
    records = correlated(20_000)
    wild = Settings(exchanges=0, pair_step=12.0, most_pair_step=4.0, margin_step=8.0)
    model, _, history, _ = fitted(records, wild)
    steps = [line.step for line in history if line.level == 1]
    assert steps[0] == 1.0 and steps[-1] < 1.0
    before, after = ([i.discrepancy for i in history if i.step == step] for step in (1.0, 0.5))
    assert max(before[-10:]) > 20 and after[0] < 4  # from the last good weights and chains
    assert np.sqrt((distances(model, records) ** 2).mean()) < 1.0


def test_divergence_at_any_step_is_an_error():
    wild = Settings(exchanges=0, levels=(1e6, 1e6), start_epochs=1)
    with pytest.raises(FloatingPointError, match="diverges"):
        fitted(correlated(500), wild)


def test_sample_moves_away_from_its_records_but_keeps_the_crosstab(fit):
    model, records = fit[0], correlated(20_000)
    codes = records.codes
    kept = codes.copy()
    drawn, entropy, moved = stationary.sample(model, codes, 10, 3, 2)
    assert np.array_equal(codes, kept)
    assert moved.shape == (10,) and (moved > 0.1).all()
    assert entropy.shape == (len(codes),) and (entropy > 0).all()
    assert entropy.max() <= np.log2(SIZES).sum() + 1e-6
    counts = crosstab(records)
    z = (crosstab(records.of(drawn)) - counts) / np.sqrt(counts + 1)
    assert 0.1 < np.sqrt((z**2).mean()) < 1.5
    again, _, _ = stationary.sample(model, codes, 10, 3, 1)
    assert np.array_equal(drawn, again)
    assert not np.array_equal(drawn, stationary.sample(model, codes, 10, 4, 1)[0])


def test_a_models_tables_are_laid_out_once_however_much_is_drawn(fit, monkeypatch):
    model, laid_out, tables = replace(fit[0]), [], sweeps.tables
    monkeypatch.setattr(sweeps, "tables", lambda *rest: laid_out.append(rest) or tables(*rest))
    drawn, _, _ = stationary.sample(model, correlated(50).codes, 3, 1, 1)
    model.predict(records_of(drawn, SIZES))
    assert len(laid_out) == 1


@pytest.mark.parametrize("start", ["records", "fresh"])
def test_a_row_starts_from_the_true_records_or_from_nobody(fit, start):
    records, row = correlated(500), FAMILY.row(model="m", name="x", sweeps=2, start=start)
    drawn = FAMILY.draw(fit[0], records, row, Work("m/x", 7, threads=2, device="cpu"))
    assert drawn.codes.shape == (500, 3) and (drawn.entropy_bits > 0).all()
    assert not postprocess.violations(records.of(drawn.codes), fit[0].excluded).any()
    assert drawn.record.mask.all() if start == "fresh" else drawn.record.tolist() == list(range(500))
    seed = seeds.integer(7, "sweep", "m/x")
    from_records, bits, _ = stationary.sample(fit[0], records.codes, 2, seed, 1)
    assert np.array_equal(drawn.codes, from_records) == (start == "records")
    assert np.array_equal(drawn.entropy_bits, bits) == (start == "records")


@pytest.mark.parametrize(("size", "sizes"), [(None, [200, 200, 200]), (700, [175, 175, 175, 175])])
def test_a_large_table_is_drawn_in_parts_each_from_its_share_of_the_records(fit, monkeypatch, size, sizes):
    monkeypatch.setattr(family, "DRAWN_AT_ONCE", 200)
    records, work = correlated(600), Work("m/x", 7, device="cpu")
    row = FAMILY.row(model="m", name="x", sweeps=2, size=size, balanced=True)
    parts = list(FAMILY.draw_in_parts(fit[0], records, row, work))
    assert [len(part.codes) for part in parts] == sizes
    begins = np.linspace(0, 600, len(sizes) + 1).astype(int)
    for k, (part, (first, last)) in enumerate(zip(parts, itertools.pairwise(begins), strict=True)):
        own = row.model_copy(update={"size": sizes[k]})
        alone = FAMILY.draw(fit[0], records[first:last], own, replace(work, name=f"m/x/{k}"))
        assert np.array_equal(part.codes, alone.codes)
        assert part.record.min() >= first and part.record.max() < last
    whole = np.concatenate([part.codes for part in parts])
    wanted = expected_crosstab(fit[0]) * len(whole)
    assert np.abs(crosstab(records.of(whole)) - wanted).max() < 4 * np.sqrt(len(sizes))


def test_a_table_is_drawn_in_one_part_where_parts_may_be_empty_or_the_family_needs_all(fit, monkeypatch):
    monkeypatch.setattr(family, "DRAWN_AT_ONCE", 200)
    records, work = correlated(600), Work("m/x", 7, device="cpu")
    some = FAMILY.row(model="m", name="x", sweeps=2, where={"A": "1"})
    plain = FAMILY.row(model="m", name="x", sweeps=2)
    for kind, row, how in (
        (FAMILY, some, work),
        (FAMILY, plain, replace(work, weights=np.ones(600))),
        (replace(FAMILY, separable=False), plain, work),
    ):
        assert len(list(kind.draw_in_parts(fit[0], records, row, how))) == 1
    assert len(list(FAMILY.draw_in_parts(fit[0], records, plain, work))) == 3


def test_the_curve_has_its_points_among_the_chains_sweeps(fit):
    records, work = correlated(300), Work("m", 7)
    points = list(FAMILY.curve(fit[0], records, (), work))
    assert [(curve, number) for curve, number, _ in points[1:]] == [("sweeps", n) for n in drawing.SWEEPS]
    name, number, shuffled = points[0]
    assert (name, number) == ("marginals", 0) and not np.array_equal(shuffled, records.codes)
    assert np.array_equal(np.sort(shuffled, axis=0), np.sort(records.codes, axis=0))
    chains = list(itertools.islice(FAMILY.chains(fit[0], records, work), 2))
    again = list(itertools.islice(FAMILY.chains(fit[0], records, work), 2))
    assert np.array_equal(chains, again) and not np.array_equal(*chains)
    first = fit[0].step(records.codes, seeds.integer(7, "mixing", "m"), 1, 1).codes
    assert np.array_equal(chains[0], first)


def test_sample_without_sweeps_is_refused(fit):
    with pytest.raises(ValueError, match="at least one"):
        stationary.sample(fit[0], correlated(5).codes, 0, 1, 1)


def test_saved_models_come_back_and_only_for_their_codebook(fit, tmp_path):
    codebook = codebook_of(*SIZES)
    path = tmp_path / "model.safetensors"
    model = replace(fit[0], exchanges=2)
    assert model.strength.any()
    model.save(path, codebook)
    same_model(stationary.load(path, codebook), model)
    with pytest.raises(InputError, match="other questions"):
        stationary.load(path, codebook_of(3, 2, 5))


@pytest.mark.pipeline
def test_real_records_come_as_near_as_a_bootstrap(sample):
    sample = sample[np.arange(4000)]
    model, _, _ = matching.fit(sample, Settings(exchanges=0), 1, 2, lambda _: None)
    drawn = sample.of(stationary.sample(model, sample.codes, 20, 1, 2)[0])
    counts = crosstab(sample, 2)
    assert not postprocess.violations(drawn, model.excluded).any()
    resampled = sample[np.random.default_rng(1).integers(0, len(sample), len(sample))]
    upper = np.triu(~within_question(sample.block_starts))

    def rms(other: Records) -> float:
        return float(np.sqrt((np.log((crosstab(other, 2) + 1) / (counts + 1))[upper] ** 2).mean()))

    assert rms(drawn) < 1.1 * rms(resampled)


TINY = Settings(start_epochs=1, window=3, most_windows=4, settle=2, exchanges=0)


def same_model(one: Stationary, other: Stationary) -> None:
    """Assert that two models are equal in every field."""
    for field in fields(Stationary):
        assert np.array_equal(getattr(one, field.name), getattr(other, field.name)), field.name


def same(one: tuple, other: tuple) -> None:
    same_model(one[0], other[0])
    assert np.array_equal(one[1], other[1])
    assert one[2] == other[2]


@pytest.mark.parametrize(
    ("some", "settings"),
    [
        (correlated, TINY),
        (correlated, changed(TINY, chains=1500, exchanges=2)),
        (correlated, changed(TINY, pair_step=12.0, most_pair_step=4.0, margin_step=8.0)),
        (parity, changed(TINY, exchanges=2)),
        (parity, changed(TINY, chains=1500)),
    ],
    ids=["all", "subset", "diverging", "triple", "subset with a triple"],
)
def test_a_killed_fit_goes_on_to_the_same_end_from_every_window(some, settings, tmp_path):
    records, kept = some(1_000), []

    def fit(**options):
        return matching.fit(records, settings, 1, 1, lambda _: None, **options)

    whole = fit(keep=kept.append)
    assert len(whole[0].triples) or some is correlated
    assert len(kept) >= 9
    same(whole, fit())
    for state in kept:
        matching.save_state(tmp_path / "state", "this fit", state)
        same(whole, fit(start=matching.load_state(tmp_path / "state", "this fit")))
    same(whole, fit(start=kept[4]))  # from memory too, which going on had left alone


def test_states_of_other_fits_and_broken_ones_are_not_taken(tmp_path):
    path = tmp_path / "state"
    assert matching.load_state(path, "this fit") is None
    matching.save_state(path, "this fit", State({"x": np.arange(3)}, {"best": np.inf}))
    assert matching.load_state(path, "another") is None
    found = matching.load_state(path, "this fit")
    assert found.arrays["x"].tolist() == [0, 1, 2] and found.facts == {"best": np.inf}
    path.write_bytes(path.read_bytes()[:20])
    assert matching.load_state(path, "this fit") is None


def three_way_error(codes: np.ndarray, model: Stationary) -> float:
    """Root mean square of z over all cells of records (n, 3), the model's share by enumeration."""
    counts = np.bincount(np.ravel_multi_index(codes.T.astype(int), SIZES), minlength=np.prod(SIZES))
    z = (probabilities(model.tables) * len(codes) - counts) / np.sqrt(counts + 1)
    return float(np.sqrt((z**2).mean()))


@pytest.mark.pipeline
def test_a_triple_takes_up_what_pairs_cannot():
    records = parity(20_000)
    pairs, *_ = fitted(records, Settings(exchanges=0, triples=0))
    model, chains, history, _ = fitted(records)
    codes = records.codes
    assert three_way_error(codes, pairs) > 10
    assert three_way_error(codes, model) < 0.6  # a fraction of what sampling noise would be
    assert model.triples.tolist() == [[0, 1, 2]] and model.values.shape == (24,)
    assert three_way_error(chains, model) < 1.5
    assert history[-1].level == 0 and max(line.level for line in history) == 4


def test_no_triple_is_added_to_what_pairs_explain():
    records = correlated(5_000)
    without, among = (
        fitted(records, Settings(exchanges=0, most_windows=2, triples=most)) for most in (0, 200)
    )
    assert len(among[0].triples) == 0
    same(without, among)


def test_predictions_find_their_weights_past_the_range_of_codes():
    starts = np.array([0, 40, 80, 101])
    values = np.zeros(40 * 40 * 21, np.float32)
    values[-1] = 2.0  # of the last answers to all three questions
    model = Stationary(
        *(np.zeros(shape, np.float32) for shape in ((101, 101), 101)),
        np.zeros((101, 101), bool),
        starts,
        triples=np.array([[0, 1, 2]]),
        values=values,
    )
    odds = model.predict(records_of(np.array([[39, 39, 20], [39, 39, 19]], np.int16), np.diff(starts)))
    for q, stop in enumerate(starts[1:]):
        block = odds[0, starts[q] : stop]
        assert block[-1] / block[0] == pytest.approx(np.exp(2))
    assert np.ptp(odds[1, :80]) == 0 and odds[1, 100] / odds[1, 80] == pytest.approx(np.exp(2))


def test_a_triple_of_too_many_cells_gets_no_weights(monkeypatch):
    monkeypatch.setattr(matching, "MOST_CELLS", 23)
    assert len(fitted(parity(2_000), TINY)[0].triples) == 0


def test_models_with_triples_are_saved_whole_and_others_as_before(fit, tmp_path):
    codebook, path = codebook_of(*SIZES), tmp_path / "model.safetensors"
    model = replace(fit[0], triples=np.array([[0, 1, 2]]), values=np.arange(24, dtype=np.float32))
    model.save(path, codebook)
    same_model(stationary.load(path, codebook), model)
    fit[0].save(path, codebook)
    assert b"triples" not in path.read_bytes()
    assert stationary.load(path, codebook).triples.shape == (0, 3)


@pytest.mark.pipeline
def test_fewer_chains_start_at_some_of_the_records_and_fit_all():
    records = correlated(20_000)
    model, chains, history, _ = fitted(records, Settings(chains=5_000, exchanges=0))
    assert chains.shape == (5_000, 3)
    assert np.sqrt((distances(model, records) ** 2).mean()) < 0.4
    assert 0.3 < history[-1].discrepancy < 3
    same(fitted(records, TINY), fitted(records, changed(TINY, chains=len(records) + 1)))


def test_where_no_number_of_chains_is_said_there_are_not_more_than_the_most(monkeypatch):
    monkeypatch.setattr(matching, "MOST", 150)
    records = correlated(400)
    _, chains, _, _ = fitted(records, TINY)
    assert len(chains) == 150
    assert len(fitted(records, changed(TINY, chains=300))[1]) == 300


def test_rounds_of_exchanges_grow_as_the_pairs_of_a_wide_tables_questions():
    rounds = [matching.widened(Settings(), questions).exchanges for questions in (2, 40, 80, 174)]
    assert rounds == [3, 3, 12, 57]
    assert matching.widened(Settings(exchanges=0), 174).exchanges == 0
    assert [wideness(questions) for questions in (7, 40, 60)] == [1, 1, 1.5]


WIDENED = {"exchanges": 12, "start_batch": 100.0, "pair_step": 0.1 * 2**1.5, "restart": False}
"""Of SMALL, of a table twice as wide as that which is wide."""
SMALL = {"start_batch": 200, "pair_step": 0.1, "triples": 0, "exchanges": None}


def test_a_wide_table_takes_longer_steps_more_of_them_and_lets_chains_go_on():
    settings = changed(TINY, **SMALL)
    assert matching.widened(settings, 40) == changed(settings, exchanges=3)
    assert matching.widened(settings, 80) == changed(settings, **WIDENED)


@pytest.mark.parametrize("left", [None, *WIDENED])
def test_a_fit_of_a_wide_table_takes_all_that_such_a_table_needs(monkeypatch, left):
    records, settings = correlated(400), changed(TINY, **SMALL)
    by_hand = fitted(records, changed(settings, **{k: v for k, v in WIDENED.items() if k != left}))
    monkeypatch.setattr(wide, "WIDE", 1.5)
    by_itself = fitted(records, settings)
    assert np.array_equal(by_hand[0].w, by_itself[0].w) == (left is None)
