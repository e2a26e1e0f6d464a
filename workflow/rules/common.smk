"""What all rules share: the checked parameters, the data set, names of files."""

import json
import os
import re
import sys
from pathlib import Path

# The code of this clone, also where the environment has another one's installed.
sys.path.insert(0, str(Path(workflow.basedir, "workflow")))

from modp.pipeline import engines, warm
from modp.base.config import check, load
from modp.base.errors import InputError
from modp.pipeline.params import BOOTSTRAP, DRAWN_FIGURES, GATE_FIGURES, MARGINALS, RELEASED, Params
from modp.pums.places import fips
from modp.pums.where import Dataset, dataset_path, question_set_path, require_files
from modp.survey.questions import QuestionSet

engines.use_this_code()

try:
    # A key with nothing below it holds nothing: so a file laid over params.yaml can empty a key.
    given = {key: {} if value is None else value for key, value in config.items()}
    PARAMS = check(given, Params, "params.yaml (or --config)")
    DATASET_YAML = dataset_path(PARAMS.dataset)
    DATASET = load(DATASET_YAML, Dataset)
    require_files(DATASET, DATASET_YAML)
    QUESTIONS_YAML = question_set_path(DATASET.questions)
    QUESTIONS = load(QUESTIONS_YAML, QuestionSet)
    QUESTIONS.fitted(DATASET.faithful, DATASET.leave_out, fips(DATASET.state_question))
    DATASET.agrees_with(QUESTIONS.records)
except InputError as fault:
    sys.exit(f"error in the configuration: {fault}")

NAME = Path(DATASET_YAML).stem
RAW = f"data/raw/{NAME}"
RESULTS = f"{PARAMS.results}/{NAME}"
LOGS = f"logs/{NAME}" if PARAMS.results == "results" else f"{RESULTS}/logs"
SOURCES = [*DATASET.names, *DATASET.held_names]
MODELS = list(PARAMS.models)
STATIONARY = list(PARAMS.stationary)
PRIVATE = list(PARAMS.private)
TRAINED = [*MODELS, *STATIONARY]
ALL_MODELS = [*TRAINED, *PRIVATE]
CELLS, SUMMARY, PRIVACY = "cells.parquet", "summary.json", "privacy.parquet"
TRIPLES = "triples.parquet"
ATTACK, ROC = "attack.parquet", "roc.parquet"
ENDS = (BOOTSTRAP, MARGINALS)
TABLES = ("accuracy", "three_way", "privacy", "attacks", "mixing", "questions", "answers_by_blade")
DRAWN = list(PARAMS.rows[1:])
MEASURED = [*PARAMS.rows, MARGINALS]
PUBLISHED = "workflow/published/accuracy.yaml"
VARIANTS = {variant.row: variant for variant in PARAMS.variants}
PASSED_THROUGH = list(dict.fromkeys(v.model for v in PARAMS.variants if v.pass_through))
TRACED = [*STATIONARY, *PASSED_THROUGH]
NUMBERS = [str(number) for number in range(2, PARAMS.seeds + 1)]
SWEPT = {swept.row: swept for swept in PARAMS.swept}
WARM = warm.Server()

engines.trust_what_dvc_brought(RAW, RESULTS)


wildcard_constraints:
    figure=r"[^/]+",


def one_of(names):
    """A wildcard's constraint to these names, or to nothing."""
    return "|".join(re.escape(name) for name in names) or "(?!)"


def code_of(step):
    """The modules that a step runs, as inputs: a changed module makes its results stale."""
    return engines.modules_of(step)


def template(name):
    """A template of the report, as an input: a changed text makes the page or the cards stale."""
    return os.path.relpath(engines.PACKAGE / "report" / name)


def measures(row, file):
    return f"{RESULTS}/measures/{row}/{file}"


def weights_of(row):
    return f"{RESULTS}/{row.partition('/')[0]}/model.safetensors"


def family_of(row):
    return "stationary" if Path(row).parts[0] in [*STATIONARY, *PRIVATE] else "blades"


def frontier(model):
    return f"{RESULTS}/frontier/{model}.parquet"


def cores_of_a_fit(_):
    """Many models fitted side by side use the cores better than one after the other on all."""
    together = len(ALL_MODELS) if engines.ran_everything(workflow) else 1
    return min(4, max(1, (workflow.cores or 4) // together))


def mixing(model):
    return f"{RESULTS}/frontier/{model}.mixing.parquet"


def gates(model):
    return f"{RESULTS}/gates/{model}.parquet"


def instance(model, number):
    return f"{RESULTS}/instances/{model}/{number}.parquet"


def synthetic(row):
    return f"{RESULTS}/{row}.parquet" if row in ENDS else f"{RESULTS}/{row}/synthetic.parquet"


def drawn_from(figure):
    """The files that a figure of params.yaml is drawn from, one for each row or model it names."""
    if figure.kind in GATE_FIGURES:
        return [gates(model) for model in figure.of]
    file = {"attack_roc": ROC, **dict.fromkeys(DRAWN_FIGURES, PRIVACY)}.get(figure.kind, CELLS)
    return [measures(row, file) for row in figure.of]


def finish(workflow):
    """Say what was made, and let DVC record it, after a run of everything."""
    if engines.ran_everything(workflow) and not engines.inside_dvc():
        engines.remove_stale(RESULTS, {str(f) for job in workflow.dag.jobs for f in job.output})
        engines.say_what_was_made(RESULTS)
        engines.record_in_dvc(dict(config), "params.yaml")
