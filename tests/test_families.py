"""A new family of models takes one file and one line."""

import json
import sys

import pandas as pd
from test_pipeline import SMALL, run, workspace, write_params

TOY = '''
"""Independent answers: each question's own distribution, and nothing else."""

from typing import Literal

import numpy as np
import pandas as pd
from safetensors.numpy import load_file, save_file

from modp.base import seeds
from modp.models.family import Drawn, Family, Fitted, Recipe, Row


class ToyRecipe(Recipe):
    """Independent answers."""

    family: Literal["toy"] = "toy"
    pseudocount: float = 0.5


class Toy:
    """Shares of categories, (K,)."""

    def __init__(self, shares):
        self.shares = shares

    def predict(self, records):
        return np.tile(self.shares, (len(records), 1))

    def save(self, path, codebook):
        save_file({"shares": self.shares}, path)


def fit(records, recipe, work):
    shares = (records.one_hot.sum(axis=0, dtype=np.float64) + recipe.pseudocount) / len(records)
    line = {"stage": 1, "loss_name": "none", "epoch": 1, "loss": 0.0, "learning_rate": 0.0}
    return Fitted(Toy(shares), pd.DataFrame([line]), pd.DataFrame([line]), "counted")


def load(path, codebook):
    return Toy(load_file(path)["shares"])


def draw(model, records, row, work, instances=()):
    rng, starts = seeds.generator(work.seed, "toy", work.name), records.block_starts
    columns = []
    for start, stop in zip(starts[:-1], starts[1:]):
        p = model.shares[start:stop]
        columns.append(rng.choice(len(p), len(records), p=p / p.sum()))
    none = np.ma.masked_all(len(records))
    return Drawn(np.column_stack(columns).astype(np.int16), none.astype(np.int64), none)


FAMILY = Family(
    name="toy",
    recipe=ToyRecipe,
    row=Row,
    method="Every answer by itself, with a pseudocount of {pseudocount}; nobody asked for {zeros}.",
    parts={part: f"modp.models.toy:{part}" for part in ("fit", "load", "draw")},
    trains=False,
)
'''


def test_a_family_of_one_file_and_one_line_runs_to_its_row_its_card_and_its_metrics(tmp_path):
    plain = {name: SMALL["models"][name] for name in ("model_1_1",)}
    params = SMALL | {
        "models": plain | {"alone": {"family": "toy", "pseudocount": 1.5}},
        "rows": [SMALL["rows"][0], {"model": "alone", "name": "drawn"}],
        "figures": {"alone": {"kind": "crosstabs", "of": ["alone/drawn"]}},
        "answers_by_blade": None,
    }
    del params["answers_by_blade"]
    folder = workspace(tmp_path, params)
    (folder / "workflow/modp/models/toy.py").write_text(TOY)
    registry = folder / "workflow/modp/models/registry.py"
    text = registry.read_text()
    registry.write_text(text.replace("FAMILIES = (", 'FAMILIES = ("toy", '))
    assert registry.read_text() != text
    run(folder, "snakemake", "--cores", "2")
    results = folder / "results/sample"
    table = pd.read_parquet(results / "tables/accuracy.parquet").set_index(["model", "variant", "cells"])
    assert table.loc[("alone", "drawn", "all"), "ratio_median"] > 2
    metrics = json.loads((results / "metrics.json").read_text())
    assert metrics["accuracy"]["alone"]["drawn"]["median"] > 0
    assert metrics["privacy"]["alone"]["drawn"]["likelihood_auc"] is not None
    card = (results / "alone/card.md").read_text()
    assert "a pseudocount of 1.5; nobody asked for no true record holds" in card
    assert "alone/drawn" in card and (results / "figures/alone.png").exists()
    assert "fit_toy:" in (folder / "dvc.yaml").read_text(), "dvc.yaml follows the models"
    assert json.loads(run(folder, "dvc", "status", "--json")) == {}

    params["models"]["alone"] = {"family": "toy", "pseudocounts": 1.5}
    write_params(folder, params)
    printed = run(folder, "snakemake", "-n", check=False)
    assert "models.alone.pseudocounts: unknown key; did you mean 'pseudocount'?" in printed


def test_dvc_refuses_stages_of_other_models_and_says_what_to_do(tmp_path):
    folder = workspace(tmp_path, SMALL)
    printed = run(folder, "snakemake", "--cores", "1", "acquired", check=False, DVC_STAGE="acquire")
    assert "run 'python -m modp stages'" in printed
    run(folder, sys.executable, "-m", "modp", "stages", PYTHONPATH=str(folder / "workflow"))
    assert "row_private" in (folder / "dvc.yaml").read_text()
