"""Draw one figure as PNG and PDF."""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from matplotlib.figure import Figure

from modp.base import seeds
from modp.base.config import load
from modp.cli.output import Log, written
from modp.figures import (
    attack_roc,
    crosstabs,
    frontier,
    gates,
    hiding,
    merit,
    mixing,
    overview,
    risk_fidelity,
    style,
    three_way,
    training,
)
from modp.measures.crowds import effective_multiplicity
from modp.pipeline.params import BOOTSTRAP, MARGINALS
from modp.pums.where import Dataset
from modp.summaries.printed import row_names
from modp.survey.codebook import Codebook

NO_CURVE = pd.DataFrame(columns=["curve", "model", "parameter", "median", "within_10"])
"""The frontier of a run without a stationary model and without a row that is passed through."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the step's options."""
    parser.add_argument("--kind", choices=list(KINDS), required=True)
    parser.add_argument("--dataset", type=Path, required=True, help="the dataset YAML, for its title")
    parser.add_argument("--codebook", type=Path, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--table", type=Path, required=True, help="the accuracy table")
    parser.add_argument("--names", nargs="*", default=[], help="rows or models, one for each input")
    parser.add_argument("--inputs", type=Path, nargs="*", default=[], help="what it is drawn from")
    parser.add_argument("--out", type=Path, nargs="+", required=True, help="the files, by their endings")


def run(options: argparse.Namespace, log: Log) -> None:
    """Draw the figure once and write it in every format."""
    figure = KINDS[options.kind](options, load(options.dataset, Dataset).title)
    style.settle(figure)
    for target in options.out:
        with written(target) as path:
            style.save(figure, path)
    log(f"{options.out[0].stem} drawn")


def _crosstabs(options: argparse.Namespace, title: str) -> Figure:
    table = pd.read_parquet(options.table)
    table = table[table["cells"] == "all"].set_index(["model", "variant"])
    panels = []
    for name, path in zip(options.names, options.inputs, strict=True):
        cells = pq.read_table(path).to_pandas()
        model, _, variant = name.partition("/")
        line = table.loc[(model, variant)]
        panels.append(
            crosstabs.Panel(
                name.replace("/", ", "),
                cells["true"].to_numpy(),
                cells["scaled"].to_numpy(),
                (cells["first"].astype(str) == cells["second"].astype(str)).to_numpy(),
                int(table.loc[("bootstrap", "")]["records"]),
                (line["median"], line["mean_abs"], line["rms"]),
                line["ratio_median"],
            )
        )
    return crosstabs.draw(panels, title)


def _cells(options: argparse.Namespace) -> pd.DataFrame:
    return pq.read_table(options.inputs[0]).to_pandas()


def _z_against_d(options: argparse.Namespace, title: str) -> Figure:
    cells = _cells(options)
    d, z, true = (cells[c].to_numpy() for c in ("log_ratio", "z", "true"))
    return merit.z_against_d(d, z, true, _headed(options, title))


def _merit_histogram(options: argparse.Namespace, title: str) -> Figure:
    return merit.merit_histogram(_cells(options)["merit"].to_numpy(), _headed(options, title))


def _merit_heatmap(options: argparse.Namespace, title: str) -> Figure:
    codebook = Codebook.from_json(options.codebook.read_text(encoding="utf-8"))
    starts = codebook.block_starts
    matrix = np.zeros((starts[-1], starts[-1]))
    matrix[np.triu_indices(starts[-1])] = _cells(options)["merit"].to_numpy()
    matrix = np.maximum(matrix, matrix.T)
    return merit.merit_heatmap(matrix, codebook.names, starts, merit.PAPER_ORDER, _headed(options, title))


def _gates(path: Path) -> np.ndarray:
    return pd.read_parquet(path).to_numpy()


def _gate_triangle(options: argparse.Namespace, title: str) -> Figure:
    return gates.triangle(_gates(options.inputs[0]), _headed(options, title))


def _gate_histogram(options: argparse.Namespace, title: str) -> Figure:
    return gates.weight_histogram(_gates(options.inputs[0]), _headed(options, title))


def _gate_survival(options: argparse.Namespace, title: str) -> Figure:
    return gates.survival(_gates(options.inputs[0]), _headed(options, title))


def _co_assignment(options: argparse.Namespace, title: str) -> Figure:
    named = list(zip(options.names, map(_gates, options.inputs), strict=True))
    pairs = [(*first, *second) for first, second in zip(named[::2], named[1::2], strict=True)]
    return gates.co_assignment(pairs, title)


def _entropy(options: argparse.Namespace, title: str) -> Figure:
    bits = pd.read_parquet(options.inputs[0])["entropy_bits"].to_numpy()
    return hiding.entropy_histogram(bits, _headed(options, title))


def _crowds(options: argparse.Namespace) -> tuple[np.ndarray, np.ndarray]:
    found = pd.read_parquet(options.inputs[0])
    return found["multiplicity"].to_numpy(), found["entropy_bits"].to_numpy()


def _multiplicities(options: argparse.Namespace, title: str) -> Figure:
    rng = seeds.generator(options.seed, "figure", *options.names)
    return hiding.two_multiplicities(*_crowds(options), rng, _headed(options, title))


def _effective_multiplicity(options: argparse.Namespace, title: str) -> Figure:
    effective = effective_multiplicity(*_crowds(options))
    return hiding.effective_histogram(effective, _headed(options, title))


def _causal_rank(options: argparse.Namespace, title: str) -> Figure:
    found = _named(options)
    ranks = {name: frame["causal_rank"].dropna().to_numpy(np.int64) for name, frame in found.items()}
    table = pd.read_parquet(options.table).set_index("model")
    return hiding.causal_ranks(ranks, int(table.loc["bootstrap", "records"].iloc[0]), title)


def _named(options: argparse.Namespace) -> dict[str, pd.DataFrame]:
    """What a figure of several rows is drawn from, by the rows' names as figures write them."""
    named = zip(options.names, options.inputs, strict=True)
    return {name.replace("/", ", "): pd.read_parquet(path) for name, path in named}


def _headed(options: argparse.Namespace, title: str) -> str:
    """The title of a figure of one row or model."""
    return f"{title}\n{options.names[0].replace('/', ', ')}"


def _overview(options: argparse.Namespace, title: str) -> Figure:
    return overview.draw(
        pd.read_parquet(options.table), f"{title}\ndistance of each variant from the ideal (1×)"
    )


def _frontier(options: argparse.Namespace, title: str) -> Figure:
    hidden, *curves = (pd.read_parquet(path) for path in options.inputs)
    points = pd.concat([NO_CURVE, *curves])
    table = pd.read_parquet(options.table)
    table = table[table["cells"] == "all"]
    ideal = float(table["median"].iloc[0])
    rows = table.merge(hidden, on=["model", "variant"])
    return frontier.draw(points, rows, ideal, f"{title}\nfidelity against privacy")


def _attack_roc(options: argparse.Namespace, title: str) -> Figure:
    return attack_roc.draw(_named(options), f"{title}: attacks on membership")


def _risk_fidelity(options: argparse.Namespace, title: str) -> Figure:
    attacked, shuffled = (pd.read_parquet(path) for path in options.inputs)
    table = pd.read_parquet(options.table)
    table = table[table["cells"] == "all"]
    medians = dict(zip(row_names(table), table["median"], strict=True))
    medians[MARGINALS] = np.median(np.abs(shuffled["log_ratio"]))
    points = attacked[attacked["measure"] == "closer_to_train"]
    points = points.assign(name=row_names(points), end=points["variant"] == "")
    points["ratio"] = points["name"].map(medians) / medians[BOOTSTRAP]
    return risk_fidelity.draw(points, f"{title}\nrisk against fidelity")


def _three_way(options: argparse.Namespace, title: str) -> Figure:
    found = _named(options)
    medians = {name: frame["median"].dropna().to_numpy() for name, frame in found.items()}
    return three_way.draw(medians, f"{title}\ncrosstabs of three questions")


def _mixing(options: argparse.Namespace, title: str) -> Figure:
    return mixing.draw(pd.read_parquet(options.inputs[0]), _headed(options, title))


def _training(options: argparse.Namespace, title: str) -> Figure:
    histories = {name: pd.read_csv(path) for name, path in zip(options.names, options.inputs, strict=True)}
    return training.draw(histories, f"{title}: training")


KINDS = {
    "crosstabs": _crosstabs,
    "z_against_d": _z_against_d,
    "merit_histogram": _merit_histogram,
    "merit_heatmap": _merit_heatmap,
    "gate_triangle": _gate_triangle,
    "gate_histogram": _gate_histogram,
    "gate_survival": _gate_survival,
    "co_assignment": _co_assignment,
    "entropy": _entropy,
    "multiplicities": _multiplicities,
    "effective_multiplicity": _effective_multiplicity,
    "causal_rank": _causal_rank,
    "overview": _overview,
    "frontier": _frontier,
    "three_way": _three_way,
    "mixing": _mixing,
    "attack_roc": _attack_roc,
    "risk_fidelity": _risk_fidelity,
    "training": _training,
}
