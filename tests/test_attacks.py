"""Attacks: by hand, against slow counts, calibrated, and the two ends that they must tell apart."""

import argparse
import itertools

import numpy as np
import pandas as pd
import pytest
from conftest import codes_of, records_of
from hypothesis import given
from hypothesis import strategies as st

from modp.cli import measure
from modp.cli.people import People
from modp.crosstabs.cells import structural_zeros
from modp.draws import independent
from modp.measures import attacks, linear
from modp.measures.table import ATTACKS, measures_of
from modp.models.stationary import model as stationary

# distance of synthetic (row) to train and holdout (columns):
#            000 011 111 | 001 110 100
#   000       0   2   3  |  1   2   1     nearer to train
#   011       2   0   1  |  1   2   3     nearer to train
#   101       2   2   1  |  1   2   1     equally near
#   110       2   2   1  |  3   0   1     nearer to the holdout
TRAIN = np.array([[0, 0, 0], [0, 1, 1], [1, 1, 1], [0, 0, 0]], np.int16)
HOLDOUT = np.array([[0, 0, 1], [1, 1, 0], [1, 0, 0], [1, 0, 0]], np.int16)
SYNTHETIC = np.array([[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]], np.int16)


def rng(seed=1):
    return np.random.default_rng(seed)


def people(n, seed, questions=10):
    """Records of linked answers: each question repeats the one before it three times in four."""
    r = rng(seed)
    codes = r.integers(0, 3, (n, questions))
    for q in range(1, questions):
        codes[:, q] = np.where(r.random(n) < 0.75, codes[:, q - 1], codes[:, q])
    return codes.astype(np.int16)


def slow_nearest(points, table):
    return np.array([sorted(sum(a != b) for b in table)[:2] for a in points])


@st.composite
def three_tables(draw):
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=5))
    n, m = draw(st.integers(4, 40)), draw(st.integers(2, 40))
    r = rng(draw(st.integers(0, 2**32 - 1)))
    return [codes_of(sizes, rows, r) for rows in (m, n, n)]


@st.composite
def scores(draw):
    kinds = draw(st.integers(1, 6))
    m, n = draw(st.integers(2, 30)), draw(st.integers(2, 30))
    r = rng(draw(st.integers(0, 2**32 - 1)))
    return r.integers(0, kinds, m).astype(float), r.integers(0, kinds, n).astype(float)


def test_exact_matches_by_hand():
    # 000 stands twice in train, so it names nobody; 011 names one person.
    found = attacks.exact_matches(SYNTHETIC, TRAIN)
    assert found.value == 1 / 4
    assert attacks.exact_matches(SYNTHETIC, HOLDOUT).value == 1 / 4
    assert attacks.exact_matches(np.repeat(SYNTHETIC, 5, axis=0), TRAIN).value == 1 / 4
    assert 0 < found.low < 1 / 4 < found.high < 1


@given(three_tables())
def test_exact_matches_equal_the_slow_count(tables):
    synthetic, reference, _ = tables
    rows = [tuple(r) for r in reference.tolist()]
    slow = np.mean([rows.count(tuple(s)) == 1 for s in synthetic.tolist()])
    assert attacks.exact_matches(synthetic, reference).value == pytest.approx(slow)


def test_copies_of_one_person_make_the_share_of_exact_matches_uncertain():
    """Ten copies of one person are one event; copies of ten persons are ten."""
    reference, others = people(400, 1), people(1000, 2) + 5
    one = attacks.exact_matches(np.concatenate([np.repeat(reference[:1], 10, 0), others]), reference)
    ten = attacks.exact_matches(np.concatenate([reference[:10], others]), reference + 0)
    assert one.high - one.low > 1.5 * (ten.high - ten.low)


def test_closeness_by_hand(monkeypatch):
    monkeypatch.setattr(attacks, "GROUPS", 2)
    found = attacks.closest(SYNTHETIC, TRAIN, HOLDOUT, rng())
    assert found["closer_to_train"].value == pytest.approx((1 + 1 + 1 / 2 + 0) / 4)
    assert found["distance_train"].value == pytest.approx((0 + 0 + 1 + 1) / 4)
    assert found["distance_holdout"].value == pytest.approx((1 + 1 + 1 + 0) / 4)
    # nearest and second nearest: train 0 0, 0 1, 1 2, 1 2; holdout 1 1, 1 2, 1 1, 0 1
    assert found["ratio_train"].value == pytest.approx((1 + 0 + 1 / 2 + 1 / 2) / 4)
    assert found["ratio_holdout"].value == pytest.approx((1 + 1 / 2 + 1 + 0) / 4)


@pytest.mark.pipeline
@given(three_tables())
def test_closeness_equals_the_slow_count_on_what_the_groups_hold(tables):
    synthetic, train, holdout = tables
    groups = min(attacks.GROUPS, len(synthetic), len(train) // 2)
    r = rng(4)
    kept = [s[r.permutation(len(s))][: len(s) // groups * groups] for s in (train, holdout)]
    (first_t, second_t), (first_h, second_h) = (slow_nearest(synthetic, s).T for s in kept)
    slow = {
        "closer_to_train": np.mean((first_t < first_h) + (first_t == first_h) / 2),
        "distance_train": first_t.mean(),
        "distance_holdout": first_h.mean(),
        "ratio_train": np.mean([a / b if b else 1 for a, b in zip(first_t, second_t, strict=True)]),
        "ratio_holdout": np.mean([a / b if b else 1 for a, b in zip(first_h, second_h, strict=True)]),
    }
    found = attacks.closest(synthetic, train, holdout, rng(4))
    assert {name: e.value for name, e in found.items()} == pytest.approx(slow, abs=1e-5)
    assert all(e.low <= e.value <= e.high for e in found.values())


def test_the_closeness_of_train_and_holdout_exchanged_is_the_rest():
    synthetic, train, holdout = people(300, 1), people(200, 2), people(200, 3)
    one = attacks.closest(synthetic, train, holdout, rng(5))["closer_to_train"]
    # The same permutations for both sides, or else other records would be cut off.
    other = attacks.closest(synthetic, holdout, train, rng(5))["closer_to_train"]
    assert one.value + other.value == pytest.approx(1, abs=1e-6)


@pytest.mark.pipeline
def test_the_error_of_closeness_is_the_spread_over_repeats_and_a_binomials_is_not():
    """Of records that share a few nearest neighbours; 60 repeats, tolerance 30%."""
    repeats = []
    for k in range(60):
        synthetic, train, holdout = (people(n, [9, k, i], 6) for i, n in enumerate((1000, 100, 100)))
        repeats.append(attacks.closest(synthetic, train, holdout, rng(k))["closer_to_train"])
    values = np.array([e.value for e in repeats])
    errors = np.array([(e.high - e.value) / attacks.CERTAINTY for e in repeats])
    assert np.mean(errors) == pytest.approx(values.std(), rel=0.3)
    assert values.std() > 1.4 * np.sqrt(0.25 / 1000)
    assert abs(values.mean() - 0.5) < 3 * values.std() / np.sqrt(60)


def test_auc_by_hand():
    # pairs: 3 > 2, 3 > 1, 2 = 2, 2 > 1, 0 < 2, 0 < 1
    assert attacks.auc(np.array([3.0, 2, 0]), np.array([2.0, 1])).value == pytest.approx(3.5 / 6)
    assert attacks.auc(np.array([-np.inf, 1.0]), np.array([-np.inf, 0])).value == pytest.approx(2.5 / 4)


@given(scores())
def test_auc_is_the_share_of_pairs_and_the_area_under_the_curve(pair):
    members, others = pair
    slow = np.mean([(a > b) + (a == b) / 2 for a, b in itertools.product(members, others)])
    false, true = attacks.roc(members, others)
    assert attacks.auc(members, others).value == pytest.approx(slow)
    assert np.trapezoid(true, false) == pytest.approx(slow)
    assert (false[0], true[0], false[-1], true[-1]) == (0, 0, 1, 1)
    assert (np.diff(false) >= 0).all() and (np.diff(true) >= 0).all()


@given(scores())
def test_delongs_interval_is_the_slow_one(pair):
    members, others = pair
    psi = np.array([[(a > b) + (a == b) / 2 for b in others] for a in members])
    error = np.sqrt(psi.mean(axis=1).var(ddof=1) / len(members) + psi.mean(axis=0).var(ddof=1) / len(others))
    found = attacks.auc(members, others)
    assert found.high - found.value == pytest.approx(attacks.CERTAINTY * error)


def test_members_found_at_one_percent_by_hand():
    others = np.arange(100.0)  # one of them, at 99, may be taken for a member
    members = np.array([99.5, 98.5, 98.5, 10])
    assert attacks.true_positives(members, others, rng()).value == 3 / 4
    # All level: the attacker tosses a coin that falls once in a hundred.
    assert attacks.true_positives(np.ones(50), np.ones(50), rng()).value == pytest.approx(0.01)


@pytest.mark.pipeline
@pytest.mark.parametrize("shift", [0.0, 1.5])
def test_the_interval_of_members_found_holds_the_truth_most_times(shift):
    """Normal scores, 100 repeats of 800 and 800; 95% intervals must hold it in 88% to 100%."""
    threshold = 2.3263479
    truth = np.mean(rng(8).normal(shift, 1, 2_000_000) > threshold)
    hit = 0
    for k in range(100):
        r = rng([3, k])
        found = attacks.true_positives(r.normal(shift, 1, 800), r.normal(0, 1, 800), r)
        hit += found.low <= truth <= found.high
    assert hit >= 88


def test_the_most_exposed_by_hand(monkeypatch):
    # Two of 200 are exposed: a member, and half of each of a member and an other who are level.
    members, others = np.zeros(100), np.zeros(100)
    members[:2], others[:1] = (9, 5), 5
    found = attacks.most_exposed(members, others)
    assert found == attacks._share(3 / 4, np.sqrt(3 / 4 * 1 / 4 / (4 / 1.5)), 4 / 1.5)
    assert found.value == 3 / 4 and 0 < found.low < 3 / 4 < found.high < 1
    assert attacks.most_exposed(others, members).value == 1 / 4
    # All level: half of all are members, as surely as of 200 people.
    level = attacks.most_exposed(np.ones(100), np.ones(100))
    assert level.high - level.value == pytest.approx(1.96 * np.sqrt(0.25 / 200), rel=0.02)
    # Of fewer than a hundred the first one is exposed; nothing is below no interval.
    alone = attacks.most_exposed(np.array([2.0, 0]), np.array([1.0, 1]))
    assert alone.value == alone.high == 1 and alone.low == pytest.approx(0.2065, abs=1e-4)


@pytest.mark.pipeline
@pytest.mark.parametrize("shift", [0.0, 0.5])
@pytest.mark.parametrize("digits", [8, 0])
def test_the_interval_of_the_most_exposed_holds_the_truth_most_times(shift, digits):
    """Normal scores, 200 repeats of 1,200 and 1,200, all different or rounded; as above, 88% to 100%."""

    def both(r, n):
        return r.normal(shift, 1, n).round(digits), r.normal(0, 1, n).round(digits)

    truth = attacks.most_exposed(*both(rng(8), 1_000_000)).value
    found = [attacks.most_exposed(*both(rng([4, k]), 1200)) for k in range(200)]
    assert np.mean([e.low <= truth <= e.high for e in found]) >= 0.88
    assert abs(np.mean([e.value for e in found]) - truth) < 0.03


def test_wilsons_interval_of_nothing_found_reaches_above_nothing():
    # Newcombe (1998), 0 of 20: 0 to 0.1611
    assert attacks._share(0.0, 0.0, 20).high == pytest.approx(0.1611, abs=1e-4)
    found = attacks._share(0.3, np.sqrt(0.3 * 0.7 / 50), 1)
    assert (found.low, found.high) == pytest.approx((0.1910, 0.4375), abs=1e-4)


def test_nearness_by_hand():
    assert attacks.nearness(HOLDOUT, SYNTHETIC).tolist() == [-1, 0, -1, -1]


def test_neighbours_by_hand():
    # 000 stands twice in train
    assert attacks.neighbours(SYNTHETIC, TRAIN).tolist() == [
        [2, 0, 1, 1],
        [1, 1, 2, 0],
        [0, 1, 3, 0],
        [0, 1, 3, 0],
    ]


def test_density_ratio_by_hand(monkeypatch):
    monkeypatch.setattr(attacks, "DECAYS", np.array([np.log(4)]))
    # Distances of 000 to the synthetic records are 0 2 2 2, to those held out 1 2 1 1; of 111: 3 1 1 1
    # and 2 1 2 2. A synthetic record counts 4^-distance, one held out 2^-distance.
    found = attacks.density_ratio(np.array([[0, 0, 0], [1, 1, 1]]), SYNTHETIC, HOLDOUT, np.array([2, 2, 2]))
    assert found == pytest.approx(
        [np.log((1 + 3 / 16) / (3 / 2 + 1 / 4)), np.log((1 / 64 + 3 / 4) / (1 / 2 + 3 / 4))]
    )


def test_the_decay_is_that_of_the_largest_likelihood_of_records_left_out(monkeypatch):
    """Against densities enumerated over all records, each summing to one."""
    sizes, sample = (3, 3, 3, 3), people(40, 3, 4)
    every = np.array(list(itertools.product(*map(range, sizes))))
    likelihoods = []
    for decay in attacks.DECAYS:
        kernel = np.exp(-decay * (every[:, None] != sample).sum(axis=2))
        kernel /= kernel.sum(axis=0)
        own = (every[:, None] == sample).all(axis=2).argmax(axis=0)
        left_out = [np.delete(kernel[at], k).mean() for k, at in enumerate(own)]
        likelihoods.append(np.log(left_out).sum())
    best = attacks.DECAYS[np.argmax(likelihoods)]
    assert attacks.decay(attacks.neighbours(sample, sample), np.array(sizes)) == best
    assert attacks.DECAYS[0] < best < attacks.DECAYS[-1]


def test_people_who_stand_in_pairs_make_the_sharpest_kernel_and_unrelated_answers_the_flattest():
    unrelated = codes_of((4,) * 8, 100, rng(1))
    paired = np.repeat(codes_of((9,) * 20, 50, rng(2)), 2, axis=0)
    found = [attacks.decay(attacks.neighbours(s, s), s.max(axis=0) + 1) for s in (unrelated, paired)]
    assert found == [attacks.DECAYS[0], attacks.DECAYS[-1]]


def test_halves_of_the_holdout_part_few_neighbours_and_are_equal():
    known = attacks.in_reference(np.arange(2400))
    assert known.mean() == 0.5 and np.count_nonzero(np.diff(known)) == 47
    order = rng().permutation(2400)
    assert (attacks.in_reference(order) == known[order]).all()
    sizes = [attacks.in_reference(np.arange(n)).sum() for n in range(6)]
    assert sizes == [0, 0, 1, 1, 2, 2]


def test_likelihood_ratio_by_hand():
    train = records_of(np.array([[0, 0], [0, 1], [1, 1]], np.int16), (2, 2))
    # marginals with half a record added to each category: 2.5/4 and 1.5/4; 1.5/4 and 2.5/4
    probabilities = np.array([[0.8, 0.2, 0.5, 0.5], [0.0, 1.0, 0.1, 0.9]])
    found = attacks.likelihood_ratio(train.of(np.array([[0, 1], [0, 0]])), probabilities, train)
    impossible = np.log(attacks.LEAST_PROBABILITY * 0.1) - np.log(0.625 * 0.375)
    assert found == pytest.approx([np.log(0.8 * 0.5) - np.log(0.625 * 0.625), impossible])


def test_guesses_by_hand():
    table = np.array([[0, 0, 1], [0, 0, 1], [0, 0, 2], [1, 1, 0], [1, 1, 2]], np.int16)
    points = np.array([[0, 0, 1], [0, 0, 2], [1, 1, 2], [1, 1, 0], [1, 1, 1]], np.int16)
    # others 00: two votes for 1, one for 2; others 11: one vote each for 0 and 2
    assert attacks.guessed(points, table, 2).tolist() == [1, 0, 0.5, 0.5, 0]


@given(three_tables(), st.integers(0, 4))
def test_guesses_equal_the_slow_ones(tables, question):
    points, table, _ = tables
    question %= points.shape[1]
    slow = []
    for point in points:
        near = [sum(np.delete(point != row, question)) for row in table]
        voters = [row[question] for row, d in zip(table, near, strict=True) if d == min(near)]
        votes = {answer: voters.count(answer) for answer in voters}
        top = [answer for answer, count in votes.items() if count == max(votes.values())]
        slow.append((point[question] in top) / len(top))
    assert attacks.guessed(points, table, question).tolist() == pytest.approx(slow)


def test_the_secret_answer_is_the_commonest_or_the_upper_half():
    answers = np.array([0, 1, 1, 1, 2, 3, 3, 4])
    assert linear.singled(answers, 6, ordered=False).tolist() == [False, True, False, False, False, False]
    assert linear.singled(answers, 6, ordered=True).tolist() == [False, False, True, True, True, True]


def test_one_other_questions_table_is_solved_by_its_shares():
    """Others 0, 1, 2; of the synthetic records with 0 and 1, ¾ and none are secret, with 2 there are none."""
    table = np.array([[0, 1], [0, 1], [0, 1], [0, 0], [1, 0], [1, 0]])
    people = np.array([[0, 0], [2, 0], [1, 1], [0, 1], [0, 1]])
    found = linear.reconstructed(people, table, 1, np.array([False, True]))
    assert found == pytest.approx([3 / 4, 1 / 2, 0, 3 / 4, 3 / 4])


def test_two_other_questions_tables_are_solved_together():
    """Of each other answer half are secret, but those of the pairs 00 and 11 only."""
    table = np.array([[0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 1, 1]])
    people = np.repeat(table[:, :2], 3, axis=0)
    found = linear.reconstructed(np.c_[people, np.zeros(12, int)], table, 2, np.array([False, True]))
    assert found == pytest.approx(np.repeat([1, 0, 0, 1], 3), abs=1e-3)


@given(three_tables())
def test_cells_are_the_same_where_answers_are(tables):
    synthetic, people, _ = tables
    found = linear.queries(people, synthetic, 0)
    others = range(1, people.shape[1])
    asked = [(q,) for q in others]
    assert len(found) == len(asked) + len(list(itertools.combinations(others, 2)))
    everybody = np.concatenate([people, synthetic])
    cells = [query.cells(everybody) for query in found]
    assert all(q.start <= cell.min() and cell.max() < q.end for q, cell in zip(found, cells, strict=True))
    for query, cell in zip(asked, cells, strict=False):
        answers = everybody[:, query]
        assert ((cell[:, None] == cell) == (answers[:, None] == answers).all(axis=2)).all()
    assert sum(len(np.unique(cell)) for cell in cells) == len(np.unique(cells))


def test_secrets_are_solved_that_every_crosstab_is_exact_of():
    """300 people of unlinked answers: nothing but their own answers could tell their secrets."""
    train, others = (codes_of((2, *(6,) * 6), n, rng(k)) for k, n in ((1, 300), (2, 300)))
    found = attacks.attribute_reconstruction(train, train, others, 0, ordered=False)
    assert found["reconstruction_members"].value > 0.95
    assert holds(found["reconstruction_others"], 0.5)
    none = attacks.attribute_reconstruction(codes_of((2, *(6,) * 6), 300, rng(3)), train, others, 0, False)
    assert holds(none["reconstruction_members"], 0.5) and holds(none["reconstruction_leak"], 0)


@pytest.mark.pipeline
def test_who_was_not_seen_is_neither_exposed_nor_reconstructed():
    """Synthetic records of other people, 100 repeats: 95% intervals must hold no leak in 88% to 100%."""
    no_leak = {"auc": 0.5, "top": 0.5, "reconstruction_leak": 0}
    hit = dict.fromkeys(no_leak, 0)
    for k in range(100):
        synthetic, train, others, reference = (people(400, [7, k, i]) for i in range(4))
        scored = [
            attacks.density_ratio(side, synthetic, reference, np.full(10, 3)) for side in (train, others)
        ]
        found = {"auc": attacks.auc(*scored), "top": attacks.most_exposed(*scored)}
        found |= attacks.attribute_reconstruction(synthetic, train, others, 4, ordered=True)
        for name, value in no_leak.items():
            hit[name] += found[name].low <= value <= found[name].high
    assert min(hit.values()) >= 88, hit


def measured(synthetic, train, holdout, question):
    found = attacks.closest(synthetic, train[: len(holdout)], holdout, rng(1))
    scored = [attacks.nearness(side, synthetic) for side in (train[: len(holdout)], holdout)]
    guesses = attacks.attribute_inference(synthetic, train[:600], holdout[:600], holdout, question)
    guesses |= attacks.attribute_reconstruction(synthetic, train, holdout, question, ordered=True)
    half = len(holdout) // 2
    sizes = np.concatenate([train, holdout]).max(axis=0) + 1
    compared = [
        attacks.density_ratio(side[:half], synthetic, holdout[half:], sizes) for side in (train, holdout)
    ]
    density = {"density_auc": attacks.auc(*compared), "density_top": attacks.most_exposed(*compared)}
    top = {"distance_top": attacks.most_exposed(*scored)}
    return found | {"auc": attacks.auc(*scored)} | top | density | guesses


def holds(estimate, value, errors=3):
    return abs(estimate.value - value) <= errors * (estimate.high - estimate.value) / attacks.CERTAINTY


@pytest.mark.pipeline
def test_a_resample_is_a_full_leak_and_independent_answers_are_none(sample):
    codes, income = sample.codes[rng(2).permutation(12_000)], sample.codebook.names.index("PINCP")
    train, holdout = codes[:9600], codes[9600:]
    resample = train[rng(3).integers(0, len(train), len(train))]
    full = measured(resample, train, holdout, income)
    none = measured(independent.shuffled(train, rng(4)), train, holdout, income)
    assert attacks.exact_matches(resample, train).value > 0.8
    assert attacks.exact_matches(resample, train[:2400]).low > attacks.exact_matches(resample, holdout).high
    assert full["closer_to_train"].low > 0.56 and full["auc"].low > 0.7
    assert full["attribute_leak"].low > 0.25
    assert full["ratio_train"].high < full["ratio_holdout"].low
    assert holds(none["closer_to_train"], 0.5) and holds(none["auc"], 0.5)
    assert holds(none["attribute_leak"], 0)
    assert full["density_auc"].value > full["auc"].value + 0.02
    assert full["density_top"].low > 0.8 and full["distance_top"].low > 0.7
    assert full["reconstruction_leak"].low > 0.01
    assert holds(none["density_auc"], 0.5) and holds(none["density_top"], 0.5)
    assert holds(none["distance_top"], 0.5) and holds(none["reconstruction_leak"], 0)


@pytest.mark.pipeline
def test_a_few_peoples_resample_lets_their_income_be_solved(sample):
    """Of 500 people, and of a resample of 500 others."""
    codes, income = sample.codes[rng(2).permutation(12_000)], sample.codebook.names.index("PINCP")
    train, others, strangers = codes[:500], codes[500:1000], codes[1000:1500]
    leak, none = (
        attacks.attribute_reconstruction(side[rng(3).integers(0, 500, 500)], train, others, income, True)
        for side in (train, strangers)
    )
    assert leak["reconstruction_leak"].low > 0.05
    assert holds(none["reconstruction_leak"], 0, errors=2)


def test_a_resample_of_people_who_are_all_different_is_closer_to_train_in_five_of_eight():
    """Distinct records far apart: a quarter of the resample's originals are in the train sample."""
    train, holdout = (rng(k).integers(0, 30, (n, 20)).astype(np.int16) for k, n in ((1, 4000), (2, 1000)))
    resample = train[rng(3).integers(0, 4000, 4000)]
    assert holds(attacks.closest(resample, train[:1000], holdout, rng(4))["closer_to_train"], 0.625)


def test_nothing_is_claimed_where_there_is_nothing_to_measure():
    none, some = np.zeros((0, 3), np.int16), TRAIN
    estimates = [
        attacks.exact_matches(none, some),
        attacks.exact_matches(some, none),
        *attacks.closest(some, none, none, rng()).values(),
        *attacks.closest(none, some, some, rng()).values(),
        attacks.auc(np.zeros(0), np.zeros(0)),
        attacks.true_positives(np.zeros(0), np.zeros(0), rng()),
        attacks.most_exposed(np.zeros(0), np.zeros(0)),
        attacks.most_exposed(np.zeros(2), np.zeros(1)),
        *attacks.attribute_inference(none, some, some, some, 0).values(),
        *attacks.attribute_reconstruction(none, some, some, 0, False).values(),
        *attacks.attribute_reconstruction(some, some[:1], some[:1], 0, True).values(),
    ]
    assert all(np.isnan([e.value, e.low, e.high]).all() for e in estimates)


@pytest.mark.parametrize("triples", [np.zeros((0, 3), int), np.array([[0, 2, 1]])], ids=["pairs", "triple"])
def test_the_stationary_models_predictions_are_its_conditionals(triples):
    """Against the enumerated distribution of three questions, one pair of answers excluded."""
    starts = np.array([0, 2, 4, 7])
    w = np.triu(rng(6).normal(size=(7, 7)), 1)
    w = (w + w.T) * (1 - np.kron(np.eye(4), np.ones((2, 2)))[:7, :7])
    w[4:, 4:] = 0
    c = rng(7).normal(size=7)
    counts = np.ones((7, 7), int)
    counts[0, 4] = counts[4, 0] = 0
    excluded = structural_zeros(counts, starts)
    w[excluded] = 0
    v = rng(8).normal(size=(2, 3, 2) if len(triples) else 0)  # in the order of the questions 0, 2, 1
    model = stationary.Stationary(
        *(x.astype(np.float32) for x in (w, c)),
        excluded,
        starts,
        triples=triples,
        values=v.ravel().astype(np.float32),
    )
    states = np.array(list(itertools.product(range(2), range(2), range(3))), np.int16)
    places = states + starts[:-1]
    weight = {
        tuple(s): 0.0
        if excluded[p[0], p[2]]
        else np.exp(c[p].sum() + w[np.ix_(p, p)].sum() / 2 + (v[s[0], s[2], s[1]] if v.size else 0))
        for s, p in zip(states.tolist(), places, strict=True)
    }
    found = independent.normalised(model.predict(records_of(states, np.diff(starts))), starts)
    for row, state in zip(found, states.tolist(), strict=True):
        for q in range(3):
            size = int(starts[q + 1] - starts[q])
            options = np.array([weight[(*state[:q], a, *state[q + 1 :])] for a in range(size)])
            if options.any():  # where the other two exclude each other there is no conditional
                assert row[starts[q] : starts[q + 1]] == pytest.approx(options / options.sum(), rel=1e-4)


@pytest.mark.parametrize("held", [0, 1, 2, 3, 40])
def test_every_attack_that_can_be_made_is_in_the_table_of_measures(held, tmp_path):
    """With nobody held out, too few to halve them, and as many as there are records."""
    true = records_of(codes_of((2, 3), 40, rng(1)), (2, 3))
    others = true.of(codes_of((2, 3), held, rng(2)))
    files = {name: tmp_path / f"{name}.parquet" for name in ("attack", "roc")}
    options = argparse.Namespace(**files, row="r", weights=[], attacked=["B", "Z"], seed=1)
    measure._attack(options, true, true.of(codes_of((2, 3), 30, rng(3))), others, lambda text: None)
    found = pd.read_parquet(tmp_path / "attack.parquet").set_index("measure")
    assert set(found.index) <= {m.key for m in measures_of(*ATTACKS)}
    assert ("density_auc" in found.index) == (held >= 4) and ("distance_top" in found.index) == (held >= 1)
    assert found.loc["reconstruction_leak", "question"] == "B"
    assert np.isnan(found.loc["reconstruction_leak", "value"]) == (held < 2)
    curves = set(pd.read_parquet(tmp_path / "roc.parquet")["attack"])
    assert curves == ({"distance", "density"} if held >= 4 else {"distance"} if held else set())


def test_nobody_is_in_the_reference_who_is_attacked(monkeypatch):
    """Everybody has a number of their own for an answer."""
    true = records_of(np.arange(1000, dtype=np.int16)[:, None], (1000,))
    order, asked = rng().permutation(400), []
    monkeypatch.setattr(attacks, "density_ratio", lambda *tables: asked.append(tables) or np.zeros(1))
    who = People(true[:600], true[600:][order], attacks.in_reference(order))
    measure._compared(true[:9], who)
    (members, _, reference, _), (others, _, same, _) = asked
    assert (reference == same).all() and len(members) == len(others) == len(reference) == 200
    assert not set(reference.ravel()) & set(others.ravel())
    assert set(members.ravel()) <= set(range(600))
    assert set(reference.ravel()) | set(others.ravel()) == set(range(600, 1000))
