"""Summarise a run on whole households: tables, metrics, warnings, and the crosstab of couples."""

import argparse
import json
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd

from modp.base import seeds
from modp.base.config import load
from modp.base.output import Log, written
from modp.cli.draw_households import RECORD, partners
from modp.cli.inputs import ask_for_coded
from modp.cli.outputs import write_table
from modp.cli.whole import Said, ask_for_held, ask_for_whole, held_out, whole
from modp.crosstabs.pairs import crosstab
from modp.measures import fidelity
from modp.measures.households import couples
from modp.models.households import rules
from modp.models.households.recipe import AGREE
from modp.pums.where import Dataset
from modp.summaries import households as summaries
from modp.summaries import warnings
from modp.summaries.printed import Printed
from modp.survey.households import Households


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the step's options."""
    ask_for_coded(parser)
    ask_for_whole(parser)
    ask_for_held(parser)
    parser.add_argument("--rows", nargs="+", required=True, help="model/variant …")
    parser.add_argument("--synthetic", type=Path, nargs="+", required=True, help="persons, a file a row")
    parser.add_argument("--home-synthetic", type=Path, nargs="+", required=True, help="their households")
    parser.add_argument(
        "--histories", type=Path, nargs="+", required=True, help="of fits of models with rows"
    )
    parser.add_argument("--histories-of", nargs="+", required=True, help="these models' names")
    parser.add_argument("--dataset", type=Path, required=True, help="the dataset YAML, for its title")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--run", type=json.loads, required=True, help="all parameters of the run, as JSON")
    parser.add_argument("--folder", type=Path, required=True, help="for the tables")
    parser.add_argument("--parameters", type=Path, required=True, help="where to keep them")
    parser.add_argument("--metrics", type=Path, required=True)
    parser.add_argument("--warnings", type=Path, required=True, help="row or model -> sentences, as JSON")
    parser.add_argument(
        "--couples", type=Path, required=True, help="every cell of couples' crosstabs, by row"
    )


def run(options: argparse.Namespace, log: Log) -> None:
    """Read every row's households once, measure, write."""
    true, held, said = whole(options), held_out(options), Said.read(options.said)
    files = zip(options.synthetic, options.home_synthetic, strict=True)
    read = [Households.read(*pair, true.codebook, [RECORD]) for pair in files]
    drawn = {
        name: summaries.Drawn(households, partners(more[RECORD]))
        for name, (households, more) in zip(options.rows, read, strict=True)
    }
    synthetic = {name: of.households for name, of in drawn.items()}
    excluded = rules.stated(said.members, true)
    near = summaries.accuracy(true, synthetic, seeds.generator(options.seed, "bootstrap"), held)
    everybody = {"true": true, **synthetic}
    told = summaries.shares(everybody, _agreeing(true, options.run["models"]), excluded, said.derived)
    left = summaries.privacy(true, held, drawn, seeds.generator(options.seed, "closest"))
    title = load(options.dataset, Dataset).title
    facts = {
        "data": f"{title}: {len(true):,} households of {len(true.persons):,} persons, and {len(held):,} held "
        f"out; {len(true.persons.codebook.names)} questions of persons, {len(true.homes.codebook.names)} of "
        f"households ({true.persons.codebook.question_set})",
        "seed": str(options.seed),
        "machine": f"{platform.system()} {platform.machine()}, numpy {version('numpy')}",
    }

    def write(name: str, frame: pd.DataFrame, notes: Sequence[str], part: Printed) -> None:
        heading = f"{name.replace('_', ' ').capitalize()} — {title}"
        write_table(options.folder / name, frame, heading, facts, notes, [part])

    crosstabs, demographers, given_away = summaries.printed(near, told, left)
    write("households", near, summaries.NOTES[:1], crosstabs)
    write("household_shares", told, (), demographers)
    write("household_privacy", left, summaries.NOTES[1:], given_away)
    with written(options.couples) as path:
        _couples(true, synthetic).to_parquet(path, index=False)
    fits = zip(options.histories_of, map(pd.read_parquet, options.histories), strict=True)
    warned = warnings.merged(summaries.copies(left), warnings.shortfalls(dict(fits)))
    texts = {
        options.warnings: json.dumps(warned, indent=1, ensure_ascii=False),
        options.metrics: json.dumps(summaries.metrics(near, told, left), indent=1),
        options.parameters: json.dumps(options.run, indent=1),
    }
    for target, text in texts.items():
        with written(target) as path:
            path.write_text(f"{text}\n", encoding="utf-8")
    log(f"{options.folder}: {len(drawn)} rows")


def _agreeing(true: Households, models: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The questions on which members' agreement is told of: those that models have weights for."""
    asked = dict.fromkeys(name for model in models.values() for name in model.get("agree") or AGREE)
    return [name for name in asked if name in true.persons.codebook.names]


def _couples(true: Households, synthetic: Mapping[str, Households]) -> pd.DataFrame:
    """Every cell of the crosstab of couples, row by row, as :class:`modp.report.explorer.Cells` has them."""
    ours = couples(true)
    counted, found = crosstab(ours), []
    for name, households in synthetic.items():
        theirs = couples(households)
        cells = fidelity.cells(counted, crosstab(theirs), len(ours), len(theirs))
        columns = {key: getattr(cells, key) for key in ("true", "synthetic", "log_ratio", "z", "merit")}
        found.append(pd.DataFrame({"row": name, "records": len(theirs), "of": len(ours), **columns}))
    return pd.concat(found, ignore_index=True)
