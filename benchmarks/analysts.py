"""Print what people get who use a synthetic table: estimates, learners, crosstabs, correlations of a scale.

Every table is kept in the folder of results, and none is made again: a run can be killed and goes on where it
was. After a change to a method remove its folder, or give it another ``--name``. The methods are

- sample: true records, of which the others' tables are made; for learners people who are in no table;
- bootstrap: a resample of the sample;
- cart: sequential trees with donors, by an outside judge (``--judge``: a module with ``c2st``, ``tstr``,
  ``frame`` and ``cart``, which needs scikit-learn);
- ours: one command's path in this process, but that nobody is held out; ``--recipe`` and ``--row`` are over
  its defaults, ``--name`` is what it is called.

estimates: of Florida's adults, 25 years and older, in one half of the households, samples of n are drawn
    without replacement. Estimates from raw columns (least squares, logit and Poisson models with robust
    standard errors, group means) are compared with those of all adults in this half, which is the population:
    naive 95 % intervals, root mean squared errors. A table of n = 2,000 takes half a minute, of 10,000 two.
learners: how well a boosted classifier tells a table from people who are in none, raw and in the classes that
    one command finds; what learners know who are trained on it. Two to four minutes a table.
population: crosstabs beside the sample's own, and what table and weights tell of who was fitted, by the
    measures of learning.py. Half a minute a table of n = 2,000.
likert: items with five answers on three factors; how much of their correlations comes back, and whether the
    fit arrives. Half a minute for 40 items, some minutes for 100.

Codes of more than 90 answers in Florida, which no estimate reads, are left out. Standard errors are a
jackknife's over samples, or those of means over seeds. ``--half tune`` is the half of Florida's households
for tuning, ``report`` the other. ``--also NAME=TABLE`` puts a table of others beside.
Run: OMP_NUM_THREADS=1 python benchmarks/analysts.py estimates --judge JUDGE.py --data FLORIDA.parquet
         [--half tune] [--n 2000] [--samples 20] [--methods sample cart ours] [--name ours] [--recipe JSON]
     … learners --judge JUDGE.py --data nist RAW.csv [--seeds 1 2 3]
         (or adult TRAIN.csv HELD.csv; florida FILE.parquet; west FILE.parquet)
     … population --data florida FILE.parquet [--n 1000 2000 10000] [--seeds 1 2 3]
     … likert [--items 40] [--n 1000] [--seeds 1 7]
"""

import argparse
import importlib.util
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd

from modp.base import seeds
from modp.base.config import check, load, parsed
from modp.base.errors import InputError
from modp.base.output import Log
from modp.cli.alone import MODEL, ROW, ZEROS
from modp.files.columns import decide
from modp.files.frames import frame_of, table_of
from modp.files.options import DETECTED
from modp.files.plan import plan
from modp.files.raw import raw
from modp.files.table import Table
from modp.models.family import Work
from modp.models.registry import family
from modp.models.stationary.recipe import IN_ONE_COMMAND, StationaryRecipe, StationaryRow
from modp.pums.where import Dataset
from modp.release.answers import Source
from modp.release.assembled import released
from modp.survey import coding
from modp.survey.questions import QuestionSet
from modp.survey.records import Records

SEED, Z, BLANK = 35, 1.96, -99.0
KEYS = ("SERIALNO", "SPORDER", "STATE", "VACS", "ADJINC", "PWGTP", "WGTP", "fnlwgt")
"""Columns that name people or places, are empty, or weigh: in no table here."""
WIDE = ("PUMA", "INDP", "OCCP", "FOD1P", "MIGSP")
NUMBERS = {
    "nist": "AGEP NOC NPF DENSITY PINCP POVPIP",
    "adult": "age education-num capital-gain capital-loss hours-per-week",
    "florida": "AGEP WKHP WKWN JWMNP PINCP WAGP POVPIP VALP RNTP GRPIP OCPIP HINCP FINCP RMSP NP NPF",
    "west": "AGEP PINCP JWMNP PERNP SSP PAP MARHYP JWAP WKHP WKWN POVPIP WAGP",
}
TARGETS = {
    "nist": "PINCP MSP EDU OWN_RENT POVPIP",
    "adult": "income hours-per-week",
    "florida": "PINCP WAGP SCHL MAR POVPIP WKHP",
    "west": "PINCP SCHL POVPIP HICOV WKHP",
}
FUNCTIONS = {"PINCP": ["PINCP_DECILE", "PERNP"], "WAGP": ["PERNP"]}
"""Target -> columns that nearly are it, without which learners have to tell it."""
MOST = {"florida": 10_000}
"""People of a table that learners are trained on, where it is not half of the file."""

DRAW = StationaryRow(model=MODEL, name=ROW, sweeps="auto", balanced=True)
Method = Callable[[pd.DataFrame, int], pd.DataFrame]


def looked(of: Table) -> tuple[Dataset, QuestionSet]:
    """What one command finds by looking at a table."""
    dataset, questions = plan(of, decide(of), "the frame", "frame", DETECTED)
    return check(parsed(dataset), Dataset, "the frame"), check(parsed(questions), QuestionSet, "the frame")


def coded(of: Table, questions: QuestionSet, seed: int) -> Records:
    return Records(*coding.code(raw(of, questions, "the frame"), questions, seeds.generator(seed, "deciles")))


def table(
    frame: pd.DataFrame,
    recipe: StationaryRecipe = IN_ONE_COMMAND,
    row: StationaryRow = DRAW,
    seed: int = 1,
    threads: int = 1,
) -> pd.DataFrame:
    """Make a synthetic table of a frame's columns and dtypes, as one command does, but for who is held out.

    Its ``attrs`` have ``seconds``, stage -> processor seconds, and ``said``, what the fit did not reach.
    """
    seconds, of = {}, table_of(frame)

    def timed(stage: str, work: Callable[[], Any]) -> Any:
        began = time.process_time()
        result = work()
        seconds[stage] = time.process_time() - began
        return result

    dataset, questions = timed("look", lambda: looked(of))
    records = timed("code", lambda: coded(of, questions, seed))
    work, stationary = Work(MODEL, seed, threads, "cpu", ZEROS, Log(quiet=True)), family(recipe.family)
    fitted = timed("fit", lambda: stationary.fit(records, recipe, work))
    on = replace(work, name=row.row)
    drawn = timed("draw", lambda: stationary.draw(fitted.model, records, row, on, []))
    source = Source(records, questions, dataset, of, np.arange(len(of)))
    made = timed("values", lambda: frame_of(released(drawn.codes, source, seed).table, frame))
    made.attrs |= {"seconds": seconds, "said": fitted.history.attrs.get("shortfall", "")}
    return made


def cart(frame: pd.DataFrame, seed: int, judge: ModuleType, numbers: Sequence[str]) -> pd.DataFrame:
    """The judge's trees on raw answers: numbers as they are, words by how frequent they are."""
    began, keys = time.process_time(), pd.DataFrame(index=range(len(frame)))
    for name, column in frame.items():
        number = pd.to_numeric(column.astype("string"), errors="coerce").astype(float).fillna(BLANK)
        if name not in numbers and number.nunique() < column.nunique(dropna=False):
            kinds = column.value_counts(dropna=False).index
            number = pd.Series(kinds.get_indexer(pd.Index(column)), dtype=float)
        keys[name] = number.to_numpy()
    drawn = judge.cart(keys, [name for name in frame if name not in numbers], len(frame), seed)
    made = {}
    for name, column in frame.items():
        first = pd.Series(column.array, index=keys[name])
        first = first[~first.index.duplicated()]
        made[name] = first.array.take(first.index.get_indexer(drawn[name]))
    made = pd.DataFrame(made)
    made.attrs["seconds"] = {"all": time.process_time() - began}
    return made


def bootstrap(frame: pd.DataFrame, seed: int) -> pd.DataFrame:
    rows = seeds.generator(seed, "analysts", "bootstrap").integers(0, len(frame), len(frame))
    return frame.iloc[rows].reset_index(drop=True)


def asked(options: argparse.Namespace) -> tuple[StationaryRecipe, StationaryRow]:
    """One command's model and row, with what is asked for otherwise."""
    recipe = check(IN_ONE_COMMAND.model_dump() | json.loads(options.recipe), StationaryRecipe, "--recipe")
    return recipe, check(DRAW.model_dump() | json.loads(options.row), StationaryRow, "--row")


def methods(options: argparse.Namespace, numbers: str) -> Mapping[str, Method]:
    """The methods that are asked for, by name; the sample is none."""
    recipe, row = asked(options)
    known: dict[str, Method] = {
        "bootstrap": bootstrap,
        "cart": partial(cart, judge=options.judge, numbers=numbers.split()),
        "ours": lambda frame, seed: table(frame, recipe, row, seed, options.threads),
    }
    found = {options.name if m == "ours" else m: known[m] for m in options.methods if m != "sample"}
    others = dict(text.split("=", 1) for text in options.also)
    return found | {name: lambda _, __, path=path: read(Path(path)) for name, path in others.items()}


def kept(path: Path, make: Callable[[], pd.DataFrame]) -> pd.DataFrame:
    """A table from its file, which is written if it is not there."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        made = make()
        made.to_parquet(path.with_suffix(".part"))
        path.with_suffix(".part").rename(path)
        print(f"made {path}", flush=True)
    return pd.read_parquet(path)


def read(path: Path, half: str = "tune") -> pd.DataFrame:
    """The rows of a file; of one half of the households where they are many."""
    frame = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path, dtype=str)
    if len(frame) > 100_000:
        households, which = np.unique(frame["SERIALNO"].to_numpy(str), return_inverse=True)
        tuned = seeds.generator(SEED, "analysts", "half").permutation(len(households)) % 2 == 0
        frame = frame[tuned[which] == (half == "tune")].drop(columns=list(WIDE))
    return frame.drop(columns=[name for name in KEYS if name in frame]).reset_index(drop=True)


def rows_of(name: str, n: int, seed: int, size: int) -> np.ndarray:
    return seeds.generator(SEED, "analysts", name, str(n), str(seed)).permutation(size)


MEN_AND_WOMEN = "female age age2 high some ba grad married widowed divorced black asian other hispanic"
MODELS = {
    "log income": ("ols", "log_income", MEN_AND_WOMEN + " alien natural disabled female:married"),
    "rank of income": ("ols", "rank_income", "female age age2 schooling married hispanic female:married"),
    "log wages": ("ols", "log_wages", MEN_AND_WOMEN + " alien natural log_hours female:married"),
    "uninsured": ("logit", "uninsured", "age female schooling married hispanic black alien natural employed"),
    "employed": ("logit", "employed", "female age age2 schooling married disabled hispanic female:married"),
    "disabled": ("logit", "disabled", "age female schooling married black hispanic log_income"),
    "owner": ("logit", "owner", "age schooling married black asian hispanic alien log_home"),
    "persons": ("poisson", "NP", "age age2 married hispanic alien owner"),
}
"""Name -> kind, outcome and regressors beside a constant; of complete cases."""
MEANS = (
    ("PINCP", "SEX"), ("PINCP", "education"), ("PINCP", "MAR"), ("wages", "race"), ("JWMNP", "SEX"),
    ("POVPIP", "race"), ("WKHP", "SEX"),
)  # fmt: skip


def variables(frame: pd.DataFrame) -> dict[str, np.ndarray]:
    """What estimates are made of, float64 (n,), from raw columns."""
    v = {c: pd.to_numeric(frame[c].astype("string"), errors="coerce").to_numpy(float, np.nan) for c in frame}

    def among(name: str, *codes: int) -> np.ndarray:
        return np.where(np.isnan(v[name]), np.nan, np.isin(v[name], codes))

    v |= {"female": among("SEX", 2), "age": (v["AGEP"] - 50) / 10, "schooling": v["SCHL"]}
    v["age2"] = v["age"] ** 2
    v["education"] = np.where(np.isnan(v["SCHL"]), np.nan, np.digitize(v["SCHL"], (16, 18, 21, 22)))
    v["race"] = among("RAC1P", 1) + 2 * among("RAC1P", 2) + 3 * among("RAC1P", 6)
    v |= {name: among("education", k) for k, name in enumerate(("high", "some", "ba", "grad"), 1)}
    v |= {name: among("race", k) for k, name in enumerate(("other", "white", "black", "asian"))}
    v |= {name: among("MAR", k) for k, name in enumerate(("married", "widowed", "divorced"), 1)}
    v |= {"hispanic": np.where(np.isnan(v["HISP"]), np.nan, v["HISP"] > 1)}
    v |= {"natural": among("CIT", 4), "alien": among("CIT", 5), "disabled": among("DIS", 1)}
    v |= {"uninsured": among("HICOV", 2), "employed": among("ESR", 1, 2, 4, 5), "owner": among("TEN", 1, 2)}
    v["log_income"] = np.sign(v["PINCP"]) * np.log1p(np.abs(v["PINCP"]))
    v["log_home"] = np.sign(v["HINCP"]) * np.log1p(np.abs(v["HINCP"]))
    v["rank_income"] = pd.Series(v["PINCP"]).rank(pct=True).to_numpy()
    v["wages"] = np.where(v["WAGP"] > 0, v["WAGP"], np.nan)
    v["log_wages"], v["log_hours"] = np.log(v["wages"]), np.log(v["WKHP"])
    return v


def regressed(x: np.ndarray, y: np.ndarray, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients (k,) of x (n, k) and their robust standard errors, with n / (n - k) (White, 1980)."""
    beta = np.zeros(x.shape[1])
    if kind == "poisson":
        beta[0] = np.log(y.mean())
    for _ in range(1 if kind == "ols" else 30):
        at = x @ beta
        mean = {"ols": at, "logit": 1 / (1 + np.exp(-at)), "poisson": np.exp(np.minimum(at, 50))}[kind]
        weight = {"ols": np.ones(len(y)), "logit": mean * (1 - mean), "poisson": mean}[kind]
        bread = np.linalg.pinv((x.T * weight) @ x)
        step = bread @ (x.T @ (y - mean))
        beta += np.clip(step, -5, 5) if kind != "ols" else step
        if np.abs(step).max() < 1e-9:
            break
    left = y - x @ beta if kind == "ols" else y - mean
    spread = bread @ ((x.T * left**2) @ x) @ bread
    return beta, np.sqrt(np.diag(spread) * len(y) / (len(y) - x.shape[1]))


def estimates(frame: pd.DataFrame) -> pd.DataFrame:
    """Value and naive standard error by name; NaN where a table has nothing to estimate from."""
    v, found = variables(frame), {}
    for name, (kind, outcome, terms) in MODELS.items():
        columns = {term: np.prod([v[part] for part in term.split(":")], axis=0) for term in terms.split()}
        x, y = np.column_stack([np.ones(len(frame)), *columns.values()]), v[outcome]
        some = np.isfinite(x).all(axis=1) & np.isfinite(y)
        x, y = x[some], y[some]
        varies = np.append(True, np.ptp(x[:, 1:], axis=0) > 0)
        at = np.full((2, x.shape[1]), np.nan)
        at[:, varies] = regressed(x[:, varies], y, kind)
        found |= {f"{name}: {term}": at[:, k] for k, term in enumerate(columns, 1)}
    for of, by in MEANS:
        for group in (0, 1, 2, 3, 4) if by == "education" else (1, 2, 3) if by == "race" else (1, 2, 3, 4, 5):
            if by != "SEX" or group < 3:
                some = v[of][(v[by] == group) & np.isfinite(v[of])]
                error = some.std(ddof=1) / np.sqrt(len(some)) if len(some) > 1 else np.nan
                found[f"mean {of}, {by} {group}"] = [some.mean() if len(some) else np.nan, error]
    return pd.DataFrame(found, index=["value", "error"]).T.rename_axis("estimate").reset_index()


def compared(found: pd.DataFrame) -> pd.DataFrame:
    """Coverage and error of each method's estimates, over samples; error beside the same samples' own."""
    off = found.assign(
        covered=((found["value"] - found["truth"]).abs() <= Z * found["error"]).astype(float),
        squared=(found["value"] - found["truth"]) ** 2,
    )
    own = off[off["method"] == "sample"].set_index(["estimate", "sample"])["squared"]
    off = off.join(own.rename("own"), on=["estimate", "sample"])
    by = off.groupby(["method", "estimate"], sort=False)[["covered", "squared", "own"]].mean()
    return by.assign(times=np.sqrt(by["squared"] / by["own"]))[["covered", "times"]]


def summary(found: pd.DataFrame) -> pd.DataFrame:
    by = compared(found).groupby("method", sort=False)
    return pd.DataFrame({
        "coverage": by["covered"].mean(),
        "share of estimates >= .85": by["covered"].agg(lambda c: (c >= 0.85 - 1e-9).mean()),
        "error x, median": by["times"].median(),
        "error x, mean": by["times"].mean(),
    })  # fmt: skip


def jackknifed(found: pd.DataFrame, of: Callable[[pd.DataFrame], pd.DataFrame]) -> pd.DataFrame:
    """Standard errors of a summary that leave out one sample after the other."""
    samples = found["sample"].unique()
    without = np.array([of(found[found["sample"] != s]).to_numpy() for s in samples])
    spread = np.sqrt((len(samples) - 1) / len(samples) * ((without - without.mean(axis=0)) ** 2).sum(axis=0))
    return of(found) * 0 + spread


def run_estimates(options: argparse.Namespace) -> None:
    people = read(Path(options.data[-1]), options.half)
    people = people[people["AGEP"] >= 25].reset_index(drop=True)
    truth = estimates(people).set_index("estimate")["value"].rename("truth")
    making = methods(options, NUMBERS["florida"])
    for n in options.n:
        folder, rows, seconds = options.out / f"estimates-{options.half}-{n}", [], {}
        for s in range(1, options.samples + 1):
            sample = people.iloc[rows_of(options.half, n, s, len(people))[:n]].reset_index(drop=True)
            rows.append(estimates(sample).assign(method="sample", sample=s))
            made = {
                m: kept(folder / m / f"{s:02}.parquet", partial(make, sample, s))
                for m, make in making.items()
            }
            there = {path.parent.name for path in folder.glob(f"*/{s:02}.parquet")} - set(made)
            made |= {m: pd.read_parquet(folder / m / f"{s:02}.parquet") for m in sorted(there)}
            rows += [estimates(of).assign(method=m, sample=s) for m, of in made.items()]
            for m, of in made.items():
                seconds.setdefault(m, []).append(of.attrs.get("seconds", {}))
        found = pd.concat(rows, ignore_index=True).join(truth, on="estimate")
        found.to_parquet(folder / "estimates.parquet")
        print(f"\n{options.half}, {n:,} of {len(people):,} people, {len(truth)} estimates\n")
        for method, mine in found.groupby("method", sort=False):
            both = found[found["sample"].isin(mine["sample"]) & found["method"].isin(["sample", method])]
            values, errors = summary(both).loc[method], jackknifed(both, summary).loc[method]
            cells = [f"{k} {values[k]:.3f} ± {errors[k]:.3f}" for k in values.index]
            spent = pd.DataFrame(seconds.get(method, [])).mean().round(1).to_dict()
            print("|", " | ".join([method, f"{mine['sample'].nunique()} samples", *cells, str(spent)]), "|")
        for method, mine in compared(found).groupby("method", sort=False):
            worst = mine.droplevel(0).sort_values(["covered", "times"], ascending=[True, False]).head(10)
            if method != "sample":
                said = "; ".join(f"{e} {r.covered:.2f} (x {r.times:.2f})" for e, r in worst.iterrows())
                print(f"\nworst of {method}: {said}")


def printed(lines: Iterable[Mapping[str, Any]], by: Sequence[str]) -> None:
    """Means over seeds and their standard errors, a line a method, and what was said of fits."""
    for key, some in pd.DataFrame(list(lines)).groupby(list(by), sort=False):
        numbers = some.drop(columns=["seed", *by]).select_dtypes("number").dropna(axis=1, how="all")
        cells = [f"{c} {numbers[c].mean():.3f} ± {numbers[c].sem():.3f}" for c in numbers]
        said = [text for text in some.get("said", []) if text]
        told = [
            f"of {sum(text.startswith(start) for text in said)}: {start}" for start in {t[:40] for t in said}
        ]
        print("|", " | ".join([*map(str, key), f"{len(some)} seeds", *cells, *told]), "|")


def remembered(path: Path, make: Callable[[], Mapping[str, Any]]) -> Mapping[str, Any]:
    """A line of results from its file, which is written if it is not there."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        made = dict(make())
        pd.DataFrame([made]).to_parquet(path)
        print(f"{path}: {made}", flush=True)
    return pd.read_parquet(path).iloc[0].to_dict()


def in_classes(train: pd.DataFrame, others: Sequence[pd.DataFrame]) -> list[pd.DataFrame]:
    """Codes of tables in the classes that one command finds in the train records; -1 for what is in none."""
    _, questions = looked(table_of(train))
    book = coded(table_of(train), questions, SEED).codebook
    recipes, found = {recipe.name: recipe for recipe in questions.questions}, []
    for frame in others:
        answers, rng = raw(table_of(frame), questions, "the frame"), seeds.generator(SEED, "deciles")
        places = {
            q.name: coding.places_under(answers[q.column], recipes[q.name], q, rng) for q in book.questions
        }
        found.append(pd.DataFrame(places))
    return found


def judged(
    judge: ModuleType, of: pd.DataFrame, train: pd.DataFrame, held: pd.DataFrame, data: str, seed: int
) -> dict[str, float]:
    """AUC of who tells a table from people held out, raw and in classes; what learners know of these."""
    numbers = NUMBERS[data].split()
    (s, h, r), kinds = judge.frame([of, held, train], numbers)
    found = {"raw": judge.c2st(s, h, kinds, seed)}
    (s_in, h_in), _ = judge.frame(in_classes(train, [of, held]), [])
    found["classes"] = judge.c2st(s_in, h_in, list(s_in), seed)
    for target in TARGETS[data].split() if of is not train else []:
        known = [f.drop(columns=FUNCTIONS.get(target, []), errors="ignore") for f in (s, r, h)]
        found |= judge.tstr(*known, [kind for kind in kinds if kind in known[0]], [target], seed)
    return found


def run_learners(options: argparse.Namespace) -> None:
    data, *paths = options.data
    frames, lines = [read(Path(path), options.half) for path in paths], []
    making = methods(options, NUMBERS[data])
    for seed in options.seeds:
        train, held = frames[0], frames[-1]
        if len(frames) == 1:
            n = MOST.get(data, len(train) // 2)
            rows = rows_of(data, n, seed, len(train))[: 2 * n]
            train, held = (train.iloc[part].reset_index(drop=True) for part in (rows[:n], rows[n:]))
        folder = options.out / f"learners-{data}-{options.half}"
        for method in ["sample"] * ("sample" in options.methods) + list(making):
            made = train
            if method != "sample":
                made = kept(folder / method / f"{seed:02}.parquet", partial(making[method], train, seed))
            line = partial(judged, options.judge, made, train, held, data, seed)
            measures = remembered(folder / method / f"measures-{seed:02}.parquet", line)
            lines.append({"data": data, "method": method, "seed": seed, **measures})
    printed(lines, ["data", "method"])


def run_population(options: argparse.Namespace) -> None:
    import learning

    data, path = options.data
    frame, lines = read(Path(path), options.half), []
    questions = load(options.questions, QuestionSet) if options.questions else looked(table_of(frame))[1]
    records = coded(table_of(frame), questions, SEED)
    recipe, row = asked(options)

    def measured(n: int, seed: int) -> Mapping[str, Any]:
        order = rows_of(data, n, seed, len(records))
        train, rest = records[order[:n]], records[order[n:]]
        work, began = Work(MODEL, seed, options.threads, "cpu", ZEROS, Log(quiet=True)), time.process_time()
        fitted = family(recipe.family).fit(train, recipe, work)
        drawn = family(recipe.family).draw(fitted.model, train, row, replace(work, name=row.row), [])
        spent = {"seconds": time.process_time() - began, "said": fitted.history.attrs["shortfall"]}
        found = learning.measured(train.of(drawn.codes), train, rest, seed)
        return found | {"weights_auc": learning.told(fitted.model, train, rest)} | spent

    for n in options.n:
        for seed in options.seeds:
            at = options.out / f"population-{data}-{options.half}-{n}" / f"{options.name}-{seed:02}.parquet"
            measures = remembered(at, partial(measured, n, seed))
            lines.append({"data": data, "n": n, "method": options.name, "seed": seed, **measures})
    printed(lines, ["data", "n", "method"])


def scale(items: int, n: int, rng: np.random.Generator) -> pd.DataFrame:
    """Answers 1 … 5 of n people to items on three factors that correlate by .3, with loadings of .6 to .8."""
    of = np.random.default_rng(SEED)
    loading, shift = of.uniform(0.6, 0.8, items), of.uniform(-0.5, 0.5, items)
    factors = rng.multivariate_normal(np.zeros(3), np.where(np.eye(3) > 0, 1, 0.3), n)
    at = factors[:, np.arange(items) % 3] * loading + rng.normal(size=(n, items)) * np.sqrt(1 - loading**2)
    places = (at[:, :, None] > np.array([-1.3, -0.4, 0.4, 1.3]) + shift[:, None]).sum(axis=2)
    return pd.DataFrame(places + 1, columns=[f"item_{k}" for k in range(1, items + 1)])


def correlations(frame: pd.DataFrame) -> np.ndarray:
    return np.corrcoef(frame.to_numpy(float).T)[np.triu_indices(frame.shape[1], 1)]


def run_likert(options: argparse.Namespace) -> None:
    (n,), (recipe, row), lines = options.n, asked(options), []

    def measured(items: int, seed: int) -> Mapping[str, Any]:
        true = correlations(scale(items, 200_000, seeds.generator(SEED, "scale")))
        people = scale(items, n, seeds.generator(SEED, "people", str(seed)))
        found = {"the sample's share": float(correlations(people) @ true / (true @ true))}
        try:
            made = table(people, recipe, row, seed, options.threads)
        except InputError as failure:
            return found | {"share": np.nan, "said": str(failure)}
        found["share"] = float(correlations(made) @ true / (true @ true))
        return found | {"seconds": sum(made.attrs["seconds"].values()), "said": made.attrs["said"]}

    for items in options.items:
        for seed in options.seeds:
            at = options.out / f"likert-{items}-{n}" / f"{options.name}-{seed:02}.parquet"
            line = remembered(at, partial(measured, items, seed))
            lines.append({"items": items, "method": options.name, "seed": seed, **line})
    printed(lines, ["items", "method"])


RUNS = {
    "estimates": (run_estimates, [2_000], []), "learners": (run_learners, [], [1, 2, 3]),
    "population": (run_population, [1_000, 2_000, 10_000], [1, 2, 3]),
    "likert": (run_likert, [1_000], [1, 7]),
}  # fmt: skip


def module(path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location("judge", path)
    assert spec and spec.loader
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def main() -> None:
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, (work, sizes, times) in RUNS.items():
        one = commands.add_parser(name)
        one.set_defaults(work=work)
        one.add_argument("--data", nargs="+", default=[])
        one.add_argument("--judge", type=module)
        one.add_argument("--half", choices=("tune", "report"), default="tune")
        one.add_argument("--n", type=int, nargs="+", default=sizes)
        one.add_argument("--samples", type=int, default=20)
        one.add_argument("--seeds", type=int, nargs="+", default=times)
        one.add_argument("--items", type=int, nargs="+", default=[40])
        one.add_argument("--methods", nargs="+", default=["sample", "cart", "ours"])
        one.add_argument("--name", default="ours")
        one.add_argument("--also", nargs="+", default=[], metavar="NAME=TABLE", help="made by others")
        one.add_argument("--recipe", default="{}")
        one.add_argument("--row", default="{}")
        one.add_argument("--questions", type=Path)
        one.add_argument("--threads", type=int, default=1)
        one.add_argument("--out", type=Path, default=Path("results/analysts"))
    options = parser.parse_args()
    options.work(options)


if __name__ == "__main__":
    main()
