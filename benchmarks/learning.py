"""Print how near to their population models come, and what they tell of their records, by how many there are.

Of one large file of coded records, its codebook beside it (records.parquet, records.json), n are drawn at
random with each seed and fitted; the rest of the file is the population. The methods are

- none: the stationary model that repeats the records' own crosstab, one record drawn from each, 20 sweeps;
- population: the model that the project has by this name, which leaves out what is chance in the records;
- balanced: the latter's model, drawn with ``sweeps: auto`` and ``balanced: true``;
- CART: each question from those before it by a classification tree, as synthpop does (Nowok, Raab and
  Dibben, 2016), with at least 5 records a leaf; left out without scikit-learn, and where records are more
  than 50,000.

Every point is a line of the results file, written when it is measured; those that are there are not measured
again, so a run can be killed and goes on where it was. After a change to a method remove its lines.

Run: python benchmarks/learning.py [--sizes 500 2000 …] [--seeds 3] [--methods population …] [--threads 1]
         records.parquet
     python benchmarks/learning.py --draw [--figure learning.png] records.parquet
"""

import argparse
import importlib.util
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
from stationary import coded, timed

from modp import Records, Stationary
from modp.base import seeds
from modp.base.output import written
from modp.crosstabs.pairs import crosstab
from modp.draws import independent
from modp.face import FittedModel, Synthetic
from modp.figures import style
from modp.measures import accuracy, attacks, population
from modp.models.stationary.recipe import POPULATION

SIZES = (500, 2_000, 10_000, 50_000, 150_000)
SWEEPS = 20
LEAF = 5
MOST_CART = 50_000
"""More records than these are too slow for trees."""
PEOPLE = 5_000
"""Records of either side that are attacked, and synthetic ones whose nearest are found."""
REFERENCES = 50_000
"""Records of either side among which the nearest are found."""
KEY = ["data", "n", "seed", "method"]
DETAILS = {*KEY, "rest"}


class Trees:
    """A tree a question, of the codes of the answers to those before it, in the codebook's order."""

    def __init__(self, train: Records, seed: int, leaf: int = LEAF):
        from sklearn.tree import DecisionTreeClassifier

        self.train, codes = train, train.codes
        self.grown = [
            DecisionTreeClassifier(min_samples_leaf=leaf, random_state=seed).fit(codes[:, :q], codes[:, q])
            for q in range(1, codes.shape[1])
        ]

    def sample(self, seed: int) -> Records:
        """As many records as were fitted; the first answers are a resample of the records' own."""
        n, rng = len(self.train), seeds.generator(seed, "trees")
        codes = np.empty_like(self.train.codes)
        codes[:, 0] = rng.choice(self.train.codes[:, 0], n)
        for q, tree in enumerate(self.grown, start=1):
            shares = tree.predict_proba(codes[:, :q])
            place = independent.independent(shares, np.array([0, shares.shape[1]]), rng.random((n, 1)))
            codes[:, q] = tree.classes_[place[:, 0]]
        return self.train.of(codes)


Fitted = Stationary | Trees


def repeating(train: Records, seed: int, threads: int) -> Fitted:
    return Stationary.fit(train, seed=seed, threads=threads)


def generalising(train: Records, seed: int, threads: int) -> Fitted:
    recipe = POPULATION.model_dump(exclude={"family", "fitted"})
    return Stationary.fit(train, seed=seed, threads=threads, **recipe)


def trees(train: Records, seed: int, _: int) -> Fitted:
    return Trees(train, seed)


def swept(model: Fitted, train: Records, seed: int, threads: int, balanced: bool = False) -> Records:
    assert isinstance(model, Stationary)
    sweeps: int | Literal["auto"] = "auto" if balanced else SWEEPS
    return model.sample(train, sweeps=sweeps, balanced=balanced, seed=seed, threads=threads)


def grown(model: Fitted, _: Records, seed: int, __: int) -> Records:
    assert isinstance(model, Trees)
    return model.sample(seed)


@dataclass(frozen=True)
class Method:
    """How to fit and to draw; methods with the same fit share it."""

    fit: Callable[[Records, int, int], Fitted]
    draw: Callable[[Fitted, Records, int, int], Records]


METHODS = {
    "none": Method(repeating, swept),
    "population": Method(generalising, swept),
    "balanced": Method(generalising, partial(swept, balanced=True)),
    "CART": Method(trees, grown),
}


def measured(drawn: Records, train: Records, rest: Records, seed: int) -> dict[str, float]:
    """Measure a table drawn from a model of ``train`` against ``rest``; both are in random order.

    Returns
    -------
    population_median …: d from the rest's crosstab scaled to n, over that of the train records themselves
    corrected: the mean of these without the rest's own noise, as :mod:`modp.measures.population` takes it out
    in_sample: mean d from the train records' crosstab over that of one bootstrap resample
    closer, distance_auc: how well train records are told from the rest by the table
    nearest, within_10 and what chance gives: only where the true record behind a synthetic one is known
    """
    n, h, rng = len(train), len(rest), seeds.generator(seed, "measured")
    resample = train.of(independent.resampled(train.codes, seeds.generator(seed, "resample")))
    ours, theirs, again, others = (crosstab(some) for some in (train, drawn, resample, rest))
    wanted = accuracy.scaled(others, n, h)
    own, found = (
        accuracy.compared(wanted, table, n, m).measures for table, m in ((ours, n), (theirs, len(drawn)))
    )
    here, ideal = (
        accuracy.compared(ours, table, n, m).measures["mean_abs"]
        for table, m in ((theirs, len(drawn)), (again, n))
    )
    # Most cells of a wide table are empty in both, so that the median may be of nothing.
    ratios = {f"population_{key}": found[key] / own[key] if own[key] else math.nan for key in found}
    level, some = min(n, h, REFERENCES), rng.permutation(len(drawn))[:PEOPLE]
    sides = people(train, rest)
    near = attacks.closest(drawn.codes[some], train.codes[:level], rest.codes[:level], rng)
    scores = [attacks.nearness(side.codes, drawn.codes) for side in sides]
    return {
        **ratios,
        "corrected": population.corrected(found["mean_abs"], own["mean_abs"], n, h),
        "in_sample": here / ideal,
        "distance_auc": attacks.auc(*scores).value,
        "closer": near["closer_to_train"].value,
        **(partners(drawn, train, some) if isinstance(drawn, Synthetic) else {}),
    }


def people(train: Records, rest: Records) -> tuple[Records, Records]:
    """As many of the one as of the other, who are attacked."""
    level = min(len(train), len(rest), PEOPLE)
    return train[:level], rest[:level]


def partners(drawn: Synthetic, train: Records, some: np.ndarray) -> dict[str, float]:
    """How often at most 1, or 10, train records are as near as the partner, and as any one by chance."""
    own = train.codes[drawn.record.filled(0)[some]]
    distances = (own != drawn.codes[some]).sum(axis=1)
    within = attacks.neighbours(drawn.codes[some], train.codes).cumsum(axis=1)
    ranks = within[np.arange(len(some)), distances]
    found = {}
    for name, most in (("nearest", 1), ("within_10", 10)):
        found[name] = float((ranks <= most).mean())
        found[f"{name}_chance"] = float((within * (within <= most)).max(axis=1).mean() / len(train))
    return found


def told(model: FittedModel, train: Records, rest: Records) -> float:
    """How well somebody with the weights tells train records from the rest."""
    scores = [attacks.likelihood_ratio(side, model.predict(side), train) for side in people(train, rest)]
    return attacks.auc(*scores).value


def known(path: Path) -> pd.DataFrame:
    """The points of a results file, of which a killed run's last, unfinished line is taken away."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        with written(path) as temporary:
            temporary.write_text(whole, encoding="utf-8")
    return pd.DataFrame([json.loads(line) for line in whole.splitlines()], columns=None if whole else KEY)


def add(path: Path, point: dict[str, object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(point) + "\n")


def missing(path: Path, data: str, n: int, seed: int, asked: Sequence[str] = tuple(METHODS)) -> list[str]:
    """The methods, of those asked for, that are still to be measured at a point."""
    there = known(path)
    there = there[(there["data"] == data) & (there["n"] == n) & (there["seed"] == seed)]
    possible = [name for name in asked if name != "CART" or (cart() and n <= MOST_CART)]
    return [name for name in possible if name not in set(there["method"])]


def cart() -> bool:
    return importlib.util.find_spec("sklearn") is not None


def measure(
    records: Records, data: str, n: int, seed: int, threads: int, results: Path, asked: Sequence[str]
) -> None:
    """Measure the methods, of those asked for, of which the results file has no line yet."""
    order = seeds.generator(seed, "order").permutation(len(records))
    train, rest = records[order[:n]], records[order[n:]]
    fits: dict[Callable, tuple[float, Fitted]] = {}
    for name in missing(results, data, n, seed, asked):
        method = METHODS[name]
        if method.fit not in fits:
            _, seconds, model = timed(lambda: method.fit(train, seed, threads))  # noqa: B023
            fits[method.fit] = seconds, model
        fit_s, model = fits[method.fit]
        _, draw_s, drawn = timed(lambda: method.draw(model, train, seed, threads))  # noqa: B023
        point = {"data": data, "n": n, "seed": seed, "method": name, "rest": len(rest)}
        point |= measured(drawn, train, rest, seed)
        if isinstance(model, FittedModel):
            point["weights_auc"] = told(model, train, rest)
        add(results, point | {"fit_s": fit_s, "draw_s": draw_s})
        print(f"{data}, {n:,} records, seed {seed}, {name}: measured", flush=True)


def warm_up(records: Records, threads: int) -> None:
    """Compile and import before anything is timed."""
    few = records[:200]
    if cart():
        Trees(few, 1)
    for balanced in (False, True):
        swept(generalising(few, 1, threads), few, 1, threads, balanced)


def summed(points: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Means over seeds and their standard errors (NaN of one seed), by n and method."""
    order = pd.CategoricalDtype(list(METHODS), ordered=True)
    grouped = points.astype({"method": order}).groupby(["n", "method"], observed=True)
    numbers = [c for c in points.columns if c not in DETAILS]
    return grouped[numbers].mean().assign(seeds=grouped.size()), grouped[numbers].sem()


COLUMNS = {
    "population_median": ("population: median ×", 1, 2),
    "population_mean_abs": ("mean ×", 1, 2),
    "population_rms": ("r.m.s. ×", 1, 2),
    "corrected": ("mean × without the rest's noise", 1, 2),
    "in_sample": ("in-sample mean ×", 1, 2),
    "weights_auc": ("weights AUC", 1, 3),
    "distance_auc": ("distance AUC", 1, 3),
    "closer": ("closer %", 100, 2),
    "nearest": ("nearest %", 100, 2),
    "nearest_chance": ("by chance", 100, 2),
    "within_10": ("within ten %", 100, 2),
    "within_10_chance": ("by chance", 100, 2),
    "fit_s": ("fit s", 1, 1),
    "draw_s": ("draw s", 1, 1),
}
"""Of the table: title, factor, digits."""

MARKS = dict(zip(METHODS, "osD^", strict=True))


def print_table(points: pd.DataFrame) -> None:
    means, errors = summed(points)
    shown = {key: of for key, of in COLUMNS.items() if key in means}
    print("\n| records | method | seeds |", " | ".join(title for title, _, _ in shown.values()), "|")
    print("|--:|---|--:|" + "--:|" * len(shown))
    for (n, method), mean in means.iterrows():
        cells = [f"{n:,}", method, f"{mean['seeds']:.0f}"]
        for key, (_, factor, digits) in shown.items():
            value, error = factor * mean[key], factor * errors.loc[(n, method), key]
            plain = key.endswith(("_chance", "_s")) or np.isnan(error)
            cell = f"{value:.{digits}f}" if plain else f"{value:.{digits}f} ± {error:.{digits}f}"
            cells.append("" if np.isnan(value) else cell)
        print("|", " | ".join(cells), "|")


def draw(points: pd.DataFrame, title: str, path: Path) -> None:
    """Draw the mean distance from the population, and the membership AUC, against n."""
    means, errors = summed(points)
    figure, (near, member) = style.stacked(title, 2, 0.6)
    by_table = {"linewidth": 1.3, "markersize": 4, "capsize": 2}
    by_weights = by_table | {"linestyle": "--", "markerfacecolor": "white"}
    for (name, mark), line in zip(MARKS.items(), style.lines(len(MARKS)), strict=True):
        if name not in means.index.get_level_values("method"):
            continue
        mean, error = (table.xs(name, level="method") for table in (means, errors))

        def curve(axis: Axes, key: str, look: dict) -> None:
            axis.errorbar(mean.index, mean[key], error[key], marker=mark, color=line["color"], **look)  # noqa: B023

        curve(near, "population_mean_abs", by_table | {"label": name})
        curve(member, "distance_auc", by_table)
        # The balanced table is of the same weights.
        if name != "balanced" and "weights_auc" in mean:
            curve(member, "weights_auc", by_weights)
    member.errorbar([], [], color="black", label="by the table", **by_table)
    member.errorbar([], [], color="black", label="by the weights", **by_weights)
    member.legend(frameon=False, fontsize=8)
    near.axhline(1, color=style.GUIDE, linewidth=0.9, label="the sample itself", zorder=0)
    member.axhline(0.5, color=style.GUIDE, linewidth=0.9, zorder=0)
    near.set_ylabel("from the population:\nmean |ln ratio|, × the sample's own")
    member.set_ylabel("members told from others:\nAUC, 0.5 is no leak")
    member.set_xlabel("records fitted, n")
    member.set_xscale("log")
    member.xaxis.set_major_locator(FixedLocator(sorted(set(means.index.get_level_values("n")))))
    member.xaxis.set_minor_locator(NullLocator())
    member.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}"))
    figure.legend(
        *near.get_legend_handles_labels(), loc="outside lower left", ncols=3, frameon=False, fontsize=8
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    with written(path) as temporary:
        style.save(figure, temporary)
    style.close(figure)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("records", type=Path)
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--results", type=Path, default=Path("results/learning.jsonl"))
    parser.add_argument("--figure", type=Path, default=Path("results/learning.png"))
    parser.add_argument("--draw", action="store_true", help="measure nothing, print and draw what there is")
    options = parser.parse_args(arguments)
    data = options.records.stem
    if not options.draw:
        records = coded(options.records)
        wanted = [(n, seed) for n in options.sizes for seed in range(1, options.seeds + 1)]
        wanted = [(n, seed) for n, seed in wanted if missing(options.results, data, n, seed, options.methods)]
        if "CART" in options.methods and not cart():
            print("CART is left out: scikit-learn is not installed (pip install scikit-learn).")
        if wanted:
            warm_up(records, options.threads)
        for n, seed in wanted:
            if n >= len(records):
                print(
                    f"{n:,} records are left out: the file has {len(records):,}, and some must be the rest."
                )
            else:
                measure(records, data, n, seed, options.threads, options.results, options.methods)
    points = known(options.results)
    points = points[(points["data"] == data) & points["method"].isin(list(METHODS))]
    if points.empty:
        print(f"{options.results} has no points of {data}.")
        return
    print_table(points)
    draw(points, f"{data}: by how many records are fitted", options.figure)


if __name__ == "__main__":
    main()
