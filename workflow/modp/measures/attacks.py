"""What an attacker learns from a release who does not know which record was drawn from which.

Every measure compares people whom the models saw, the train records, with people whom they did not,
the holdout: what a release says of both alike is knowledge of the population, what it says of the
train records alone is a leak. Codes are of shape (n, Q); the distance of two records is the number of
their differing answers.
"""

from dataclasses import dataclass

import numpy as np

from modp.crosstabs.agreements import agreements, most, numbers, votes
from modp.crosstabs.identical import identities
from modp.measures.linear import reconstructed, singled
from modp.measures.weighted import CERTAINTY
from modp.survey.records import Records

GROUPS = 24
"""Groups of records, of which a subsample has a quarter."""

SUBSAMPLES = 100
"""Subsamples from which a standard error is taken."""

RESAMPLES = 200
"""Resamples of the bootstrap."""

LEAST_PROBABILITY = 1e-12
"""An answer that a model calls impossible has this probability, so that one does not decide alone."""

FALSE_ALARMS = 0.01
"""Share of the holdout that a cautious attacker may take for members."""

EXPOSED = 0.01
"""Share of all people, of the highest scores, who are the most exposed."""

RUN = 50
"""Records held out that stand together and go to the same half, at most."""

DECAYS = np.geomspace(0.25, 8, 41)
"""Decays among which a kernel's is chosen, per differing answer."""

WIDER = 2
"""By what the reference's kernel is wider than the synthetic records', being of fewer records.

It is a part of the attack, fixed for all tables. With equal kernels the distance to the nearest reference
record, which is mostly chance, counts as much as that to the nearest synthetic one.
"""


@dataclass(frozen=True)
class Estimate:
    """A number with the bounds of its 95% interval; NaN where there is nothing to measure."""

    value: float
    low: float
    high: float


UNDEFINED = Estimate(np.nan, np.nan, np.nan)


def plus_minus(value: float, error: float) -> Estimate:
    """Return a number with the bounds that follow from its standard error."""
    return Estimate(value, value - CERTAINTY * error, value + CERTAINTY * error)


def _share(value: float, error: float, n: float) -> Estimate:
    """Wilson's interval of a share, with as many independent trials as have its standard error.

    A standard error of zero, as of a share that is zero, stands for the ``n`` trials there were.
    """
    trials = value * (1 - value) / error**2 if error > 0 else n
    if not trials > 0:
        return Estimate(value, value, value)
    z2 = CERTAINTY**2 / trials
    middle = (value + z2 / 2) / (1 + z2)
    half = np.sqrt(z2 * (value * (1 - value) + z2 / 4)) / (1 + z2)
    return Estimate(value, float(max(middle - half, 0)), float(min(middle + half, 1)))


def exact_matches(synthetic: np.ndarray, reference: np.ndarray) -> Estimate:
    """Return the share of synthetic records that equal a record unique among the reference records.

    Its standard error takes the reference records for the independent units, since all synthetic
    records that equal the same one are one event.
    """
    if not len(synthetic) or not len(reference):
        return UNDEFINED
    person = identities(reference, synthetic)
    of_reference, of_synthetic = person[: len(reference)], person[len(reference) :]
    size = person.max() + 1
    unique = np.bincount(of_reference, minlength=size)[of_reference] == 1
    equal = np.bincount(of_synthetic, minlength=size)[of_reference] * unique
    error = np.sqrt(len(reference) * equal.var()) / len(synthetic)
    return _share(float(equal.sum() / len(synthetic)), float(error), len(synthetic))


def closest(
    synthetic: np.ndarray, train: np.ndarray, holdout: np.ndarray, rng: np.random.Generator
) -> dict[str, Estimate]:
    """Compare how near synthetic records come to train records and to as many held out.

    Standard errors are the spread over random quarters of all three samples at once, scaled to their size
    (a jackknife that leaves out three quarters). A binomial error would be too small, since synthetic
    records share their nearest records; a jackknife that leaves out few records at a time, √2 times too
    large, since then second neighbours step in one at a time, as they do for a sample's median.

    Parameters
    ----------
    synthetic : in random order
    train, holdout : as many of the one as of the other, in random order

    Returns
    -------
    closer_to_train : share of synthetic records nearer to a train record than to any held out, ties ½
    distance_train, distance_holdout : mean distance to the nearest record
    ratio_train, ratio_holdout : mean of the distance to the nearest record over that to the second
        nearest, one where both are zero; small where a synthetic record sits on one person
    """
    names = ("closer_to_train", "distance_train", "distance_holdout", "ratio_train", "ratio_holdout")
    groups = min(GROUPS, len(synthetic), len(train) // 2)
    if groups < 2:
        return dict.fromkeys(names, UNDEFINED)
    near = [
        _two_nearest(synthetic, side[rng.permutation(len(side))][: len(side) // groups * groups], groups)
        for side in (train, holdout)
    ]
    group = np.arange(len(synthetic)) % groups
    size = max(groups // 4, 1)
    parts = [rng.permutation(groups) < size for _ in range(SUBSAMPLES)]
    spread = np.std([_closeness([side[part[group]][:, part] for side in near]) for part in parts], axis=0)
    errors = np.sqrt(size / (groups - size)) * spread
    values = _closeness(near)
    return {name: plus_minus(float(v), float(e)) for name, v, e in zip(names, values, errors, strict=True)}


def _two_nearest(points: np.ndarray, table: np.ndarray, groups: int) -> np.ndarray:
    """Distances (m, groups, 2) to the two nearest records of each group, the second nearest first."""
    near = np.empty((len(points), groups, 2), np.float32)
    for some, agreeing in agreements(table, points):
        by_group = agreeing.reshape(len(agreeing), groups, -1)
        near[some] = np.partition(by_group, -2, axis=2)[:, :, -2:]
    return points.shape[1] - near


def _closeness(near: list[np.ndarray]) -> np.ndarray:
    """The five measures of :func:`closest`, from what :func:`_two_nearest` returns of both sides."""
    (first_t, second_t), (first_h, second_h) = (
        np.moveaxis(np.partition(side.reshape(len(side), -1), 1, axis=1)[:, :2], 1, 0) for side in near
    )
    closer = (first_t < first_h).mean() + (first_t == first_h).mean() / 2
    return np.array(
        [closer, first_t.mean(), first_h.mean(), _ratio(first_t, second_t), _ratio(first_h, second_h)],
        np.float64,
    )


def _ratio(first: np.ndarray, second: np.ndarray) -> float:
    return float(np.divide(first, second, out=np.ones(len(first)), where=second > 0).mean())


def nearness(candidates: np.ndarray, synthetic: np.ndarray) -> np.ndarray:
    """Return minus each candidate's distance to the nearest synthetic record: a score of membership."""
    return most(synthetic, candidates).astype(np.float64) - candidates.shape[1]


def in_reference(places: np.ndarray) -> np.ndarray:
    """Return which of the records held out are the reference sample: bool (n,), about one half.

    Halves are alternate runs of neighbouring records in the order of the file, where households stand
    together. If people who are attacked had the rest of their households in the reference, which members
    never have, that alone would tell them from members.

    Parameters
    ----------
    places : shape (n,), each record's row in the file
    """
    run = max(min(RUN, len(places) // 2), 1)
    return places // run % 2 == 1


def density_ratio(
    candidates: np.ndarray, synthetic: np.ndarray, reference: np.ndarray, sizes: np.ndarray
) -> np.ndarray:
    """Return how much denser synthetic records lie around each candidate than a reference sample does.

    The score of membership is DOMIAS's (van Breugel et al., 2023, arXiv:2302.12580), the logarithm of
    p_synthetic(x) / p_reference(x). Both are kernel densities: a record counts e^(-decay × distance), like
    Aitchison and Aitken's kernel (1976) with the same decay for all questions. The decay is chosen from the
    reference sample alone, see :func:`decay`; that of the reference's kernel is its ``WIDER`` part.
    Candidates must not be in the reference sample.

    Parameters
    ----------
    reference : codes (n, Q) of people whom the models never saw, two at least
    sizes : shape (Q,), number of categories of each question

    Returns
    -------
    shape (m,), but for a constant that is the same for all candidates
    """
    sharp = decay(neighbours(reference, reference), sizes)
    return _log_kernel_sum(neighbours(candidates, synthetic), sharp) - _log_kernel_sum(
        neighbours(candidates, reference), sharp / WIDER
    )


def decay(around: np.ndarray, sizes: np.ndarray) -> float:
    """Return the decay under which a sample is the likeliest, each record left out of its own density.

    Parameters
    ----------
    around : (n, Q + 1), as :func:`neighbours` returns it of a sample and itself
    sizes : shape (Q,), number of categories of each question: a kernel's sum over all records is
        Π (1 + (size - 1) e^-decay)
    """
    others = around - (np.arange(around.shape[1]) == 0)
    likely = [_log_kernel_sum(others, d).mean() - np.log1p((sizes - 1) * np.exp(-d)).sum() for d in DECAYS]
    return float(DECAYS[np.argmax(likely)])


def neighbours(points: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Return how many of a table's records lie at each distance of each point: int64 (m, Q + 1)."""
    return np.ascontiguousarray(numbers(table, points)[:, ::-1])


def _log_kernel_sum(counts: np.ndarray, decay: float) -> np.ndarray:
    return np.log((counts * np.exp(-decay * np.arange(counts.shape[1]))).sum(axis=1))


def likelihood_ratio(candidates: Records, probabilities: np.ndarray, train: Records) -> np.ndarray:
    """Return how much likelier a model makes each candidate than independent answers would.

    The score of membership is the pseudo-log-likelihood, the sum of the logarithms of the model's
    probabilities of the answers, each given the candidate's others, less that of the train records'
    marginals. The difference leaves out that records of common answers are likely anywhere.

    Parameters
    ----------
    probabilities : (m, K), the model's minus-one predictions for the candidates, normalised
    """
    answers, sizes = candidates.columns, candidates.codebook.sizes
    own = np.take_along_axis(probabilities, answers, axis=1)
    counts = np.concatenate([np.bincount(a, minlength=n) for a, n in zip(train.codes.T, sizes, strict=True)])
    counts = counts + 0.5
    marginal = counts / np.repeat(len(train) + sizes / 2, sizes)
    likely = np.log(np.maximum(own, LEAST_PROBABILITY)).sum(axis=1)
    return likely - np.log(marginal)[answers].sum(axis=1)


def auc(members: np.ndarray, others: np.ndarray) -> Estimate:
    """Return how often a member's score is above another's, ties ½: the area under the ROC curve.

    The interval is DeLong, DeLong and Clarke-Pearson's (1988).

    Parameters
    ----------
    members, others : scores of shape (m,) and (n,)
    """
    if min(len(members), len(others)) < 2:
        return UNDEFINED
    above, below = _placed(members, others), 1 - _placed(others, members)
    error = np.sqrt(above.var(ddof=1) / len(above) + below.var(ddof=1) / len(below))
    return plus_minus(float(above.mean()), float(error))


def _placed(scores: np.ndarray, among: np.ndarray) -> np.ndarray:
    """The share of the others below each score, ties ½."""
    ordered = np.sort(among)
    below, not_above = np.searchsorted(ordered, scores, "left"), np.searchsorted(ordered, scores, "right")
    return (below + not_above) / (2 * len(among))


def roc(members: np.ndarray, others: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the ROC curve's corners, false and true positive rates, from (0, 0) to (1, 1)."""
    return _curve(*_tallied(members, others))


def _tallied(members: np.ndarray, others: np.ndarray) -> list[np.ndarray]:
    """The numbers of both that have each score, the lowest first."""
    kinds, which = np.unique(np.concatenate([members, others]), return_inverse=True)
    return [np.bincount(w, minlength=len(kinds)) for w in np.split(which, [len(members)])]


def _curve(members: np.ndarray, others: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """False and true positive rates, from the numbers of both that have each score, the lowest first."""
    false, true = (np.concatenate([[0], np.cumsum(n[::-1])]) / n.sum() for n in (others, members))
    return false, true


def true_positives(members: np.ndarray, others: np.ndarray, rng: np.random.Generator) -> Estimate:
    """Return the share of members found where 1% of the others are taken for members.

    Between two corners of the ROC curve the attacker tosses a coin. The interval is Wilson's with the
    standard error of a bootstrap over both samples, since the threshold is itself a sample's.
    """
    if min(len(members), len(others)) < 2:
        return UNDEFINED
    counts = _tallied(members, others)
    again = [_at_false_alarms(*_curve(*(_resampled(c, rng) for c in counts))) for _ in range(RESAMPLES)]
    return _share(found_at_false_alarms(members, others), float(np.std(again)), len(members))


def found_at_false_alarms(members: np.ndarray, others: np.ndarray) -> float:
    """Return the share of members found where 1% of the others are taken for members."""
    return _at_false_alarms(*roc(members, others))


def _resampled(counts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return rng.multinomial(counts.sum(), counts / counts.sum())


def _at_false_alarms(false: np.ndarray, true: np.ndarray) -> float:
    left = int(np.searchsorted(false, FALSE_ALARMS, side="right")) - 1
    if left == len(false) - 1:
        return float(true[left])
    part = (FALSE_ALARMS - false[left]) / (false[left + 1] - false[left])
    return float(true[left] + part * (true[left + 1] - true[left]))


def most_exposed(members: np.ndarray, others: np.ndarray) -> Estimate:
    """Return the share of members among the 1% of all people, one at least, with the highest scores.

    Of people level at the threshold as large a part of each counts as is needed. The interval is Wilson's,
    of as many trials as the parts are worth (Kish's effective size): there are few, but not as few as
    members at one false alarm in a thousand.

    Parameters
    ----------
    members, others : scores, as many of the one as of the other, so that half are members by chance
    """
    if not len(members) or len(members) != len(others):
        return UNDEFINED
    ours, theirs = (n[::-1] for n in _tallied(members, others))
    both = ours + theirs
    exposed = max(EXPOSED * both.sum(), 1)
    part = np.clip(exposed - (np.cumsum(both) - both), 0, both) / both
    share, trials = float((part * ours).sum() / exposed), float(exposed**2 / (part**2 * both).sum())
    return _share(share, float(np.sqrt(share * (1 - share) / trials)), trials)


def guessed(points: np.ndarray, table: np.ndarray, question: int) -> np.ndarray:
    """Guess the points' answers to one question from their others, and tell how often that is right.

    The records of the table that share most of the other answers vote, all of them where several do.

    Parameters
    ----------
    points : codes (m, Q), the people attacked
    table : codes (n, Q), what the attacker has

    Returns
    -------
    shape (m,): one for a right guess, zero for a wrong one, a part where answers are level
    """
    given = votes(table, points, question)
    chosen = given == given.max(axis=1, keepdims=True)
    right: np.ndarray = chosen[np.arange(len(points)), points[:, question]] / chosen.sum(axis=1)
    return right


def attribute_inference(
    synthetic: np.ndarray, members: np.ndarray, others: np.ndarray, holdout: np.ndarray, question: int
) -> dict[str, Estimate]:
    """Measure what a release tells of an answer, from people's other answers.

    Parameters
    ----------
    synthetic : what the attacker has
    members : train records, attacked
    others : records of the holdout, attacked as well
    holdout : what an attacker without the synthetic records has instead

    Returns
    -------
    attribute_members, attribute_others : share of right guesses
    attribute_leak : the one less the other, what leaks about members
    attribute_without : share of right guesses about members, from the holdout
    attribute_majority : share of the members who give the holdout's commonest answer
    """
    names = ("members", "others", "leak", "without", "majority")
    if min(map(len, (synthetic, members, others, holdout))) < 2:
        return {f"attribute_{name}": UNDEFINED for name in names}
    right = [guessed(people, synthetic, question) for people in (members, others)]
    commonest = np.bincount(holdout[:, question]).argmax()
    found = {
        "members": _mean(right[0]),
        "others": _mean(right[1]),
        "leak": difference(*right),
        "without": _mean(guessed(members, holdout, question)),
        "majority": _mean(members[:, question] == commonest),
    }
    return {f"attribute_{name}": found[name] for name in names}


def attribute_reconstruction(
    synthetic: np.ndarray, members: np.ndarray, others: np.ndarray, question: int, ordered: bool
) -> dict[str, Estimate]:
    """Measure what a release's crosstabs tell of an answer, by linear reconstruction of everybody's.

    The attacker knows who the people are and all their other answers. Once they are the members; once the
    first of the members are replaced by the others, of whom the release knows nothing, so that the same
    attack on as many people shows what it owes to knowledge of the population.

    Parameters
    ----------
    synthetic : what the attacker has
    members : train records, all that the release was made from unless that is too many
    others : records of the holdout, not more than there are members
    ordered : what is secret is whether the answer is in the upper half of the members', otherwise
        whether it is their commonest

    Returns
    -------
    reconstruction_members, reconstruction_others : share of right answers, of as many of both
    reconstruction_leak : the one less the other
    """
    names = ("members", "others", "leak")
    if min(map(len, (synthetic, members, others))) < 2:
        return {f"reconstruction_{name}": UNDEFINED for name in names}
    right = reconstructed_right(synthetic, members, others, question, ordered)
    found = {"members": _mean(right[0]), "others": _mean(right[1]), "leak": difference(*right)}
    return {f"reconstruction_{name}": found[name] for name in names}


def reconstructed_right(
    synthetic: np.ndarray, members: np.ndarray, others: np.ndarray, question: int, ordered: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return whose answer :func:`attribute_reconstruction` gets right: bool, of as many of both."""
    n = len(others)
    size = int(max(side[:, question].max() for side in (synthetic, members, others))) + 1
    secret = singled(members[:, question], size, ordered)
    right = []
    for people in (members, np.concatenate([others, members[n:]])):
        likely = reconstructed(people, synthetic, question, secret)
        right.append((likely[:n] > 0.5) == secret[people[:n, question]])
    return right[0], right[1]


def _mean(right: np.ndarray) -> Estimate:
    return _share(float(right.mean()), float(right.std() / np.sqrt(len(right))), len(right))


def difference(one: np.ndarray, other: np.ndarray) -> Estimate:
    """Return the mean of one sample less that of another."""
    error = np.sqrt(one.var(ddof=1) / len(one) + other.var(ddof=1) / len(other))
    return plus_minus(float(one.mean() - other.mean()), float(error))
