"""What all rules share: the checked parameters, the data set, names of files."""

import json
import os
import re
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError

# The code of this clone, also where the environment has another one's installed.
sys.path.insert(0, str(Path(workflow.basedir, "workflow")))

from modp.figures import registry
from modp.pipeline import engines, resources, stages, warm
from modp.base.config import check, load, read_yaml
from modp.base.errors import InputError, did_you_mean
from modp.measures import formulas
from modp.measures.ends import BOOTSTRAP, MARGINALS
from modp.models.stationary.recipe import NATION
from modp.pipeline.params import Params
from modp.pums.places import fips
from modp.pums import where
from modp.pums.where import Dataset
from modp.summaries import register
from modp.survey.questions import QuestionSet

engines.use_this_code()

try:
    # A key with nothing below it holds nothing: so a file laid over params.yaml can empty a key.
    given = {key: {} if value is None else value for key, value in config.items()}
    EVERYTHING = check(given, Params, "params.yaml (or --config)")
    DATASET_YAML = where.dataset_path(EVERYTHING.dataset)
    NAME = where.dataset_name(DATASET_YAML)
    RESULTS = f"{EVERYTHING.results}/{NAME}"
    where.require_own_results(RESULTS, DATASET_YAML)
    DATASET = load(DATASET_YAML, Dataset)
    # Whole households have models, rows and rules of their own.
    WHOLE_HOUSEHOLDS = DATASET.records == "households"
    PARAMS = EVERYTHING.of(WHOLE_HOUSEHOLDS)
    where.require_files(DATASET, DATASET_YAML)
    QUESTIONS_YAML = where.question_set_path(DATASET.questions)
    QUESTIONS = load(QUESTIONS_YAML, QuestionSet)
    DATASET.agrees_with(QUESTIONS.records, [q.level for q in QUESTIONS.questions])
    CODEBOOK_OF = where.codebook_path(DATASET, RESULTS)
    WANTED = QUESTIONS.fitted(
        DATASET.faithful, DATASET.leave_out, fips(DATASET.state_question), DATASET.asked_weight
    )
    ANALYSES = formulas.wanted(PARAMS.analyses, QUESTIONS, WANTED)
except InputError as fault:
    sys.exit(f"error in the configuration: {fault}")

RAW = f"data/raw/{NAME}"
SIZE = resources.size_of(DATASET, WANTED, RAW)
LOGS = f"logs/{NAME}" if PARAMS.results == "results" else f"{RESULTS}/logs"
SOURCES = [*DATASET.names, *DATASET.held_names]
MODELS = list(PARAMS.models)
ROWS = {row.row: row for row in PARAMS.rows}
MEASURED = [*PARAMS.names, MARGINALS]
ENDS = (BOOTSTRAP, MARGINALS)
AGAIN = PARAMS.repeatable if PARAMS.releases > 1 else []
# Of a part: what all parts' records are in.
WHOLE_FILES = ("records", "holdout", "parts", "weights")
WHOLE = [f"{DATASET.part.of}/{file}.parquet" for file in WHOLE_FILES] if DATASET.part else []
WHOLE += [f"{DATASET.part.of}/codebook.json"] if DATASET.part else []
# All parts together, and the kinds of the figures of them.
TOGETHER = f"{RESULTS}/scattered"
TOGETHER_FIGURES = {"crosstabs": "crosstabs", "parts": "parts"}
NUMBERS = [str(number) for number in range(2, PARAMS.seeds + 1)]
CELLS, SUMMARY, TRIPLES = "cells.parquet", "summary.json", "triples.parquet"
PRIVACY, ATTACK, ROC = "privacy.parquet", "attack.parquet", "roc.parquet"
RELEASES = "releases.parquet"
TABLES = [t for t, told in register.TABLES.items() if told.whole == WHOLE_HOUSEHOLDS]
TABLES = [t for t in TABLES if DATASET.weight or not register.TABLES[t].weighted]
TABLES = [t for t in TABLES if t != "repeats"]
# Estimates are made from raw files, which a part has none of.
ESTIMATES = bool(DATASET.weight and not DATASET.part)
TABLES = [t for t in TABLES if t != "estimates" or ESTIMATES]
# Utility is measured by raw answers, which a part has none of.
USEFUL = [] if WHOLE_HOUSEHOLDS or DATASET.part else PARAMS.useful
ANALYSES = ANALYSES if USEFUL else []
TABLES = [t for t in TABLES if USEFUL or not register.TABLES[t].useful]
TABLES = [t for t in TABLES if t != "analyses" or ANALYSES]
TABLES = [t for t in TABLES if t != "answers_by_blade" or PARAMS.answers_by_blade]
TABLES = [t for t in TABLES if t != "releases" or PARAMS.releases > 1]
PUBLISHED = where.at_hand("workflow/published/accuracy.yaml")
WARM = warm.Server()


def models_that_can(part):
    """The models whose family has this part."""
    return [name for name in MODELS if PARAMS.family_of(name).can(part)]


INSTANCED = models_that_can("instances")
CURVED = models_that_can("curve")
CHAINED = models_that_can("chains")
GUARANTEED = models_that_can("guarantee")
TRAINED = [name for name in MODELS if PARAMS.family_of(name).trains]
DRAWN_FROM = [name for name in MODELS if PARAMS.rows_of[name]]
# Of models with instances, which all have the same kind of curve, those that have a point on it.
TRACED = [name for name in CURVED if name not in INSTANCED]
TRACED += dict.fromkeys(row.model for row in PARAMS.rows if getattr(row, "pass_through", 0))

if engines.inside_dvc() and not stages.written_for(EVERYTHING, Path("dvc.yaml")):
    sys.exit(
        "dvc.yaml is of other models, rows or code: run 'python -m modp stages', then DVC again"
    )
engines.trust_what_dvc_brought(RAW, RESULTS)


wildcard_constraints:
    figure=r"[^/]+",


def one_of(names):
    """A wildcard's constraint to these names, or to nothing."""
    return "|".join(re.escape(name) for name in names) or "(?!)"


def code_of(step, name=None):
    """The modules that a step runs for a model or row: a changed module makes its results stale."""
    return engines.code_of(step, PARAMS.family_of(name) if name else None)


def local_file(name):
    """Where a source file is that need not be fetched."""
    path = DATASET.path(name)
    return where.at_hand(path) if path else []


def measures(row, file):
    return f"{RESULTS}/measures/{row}/{file}"


def weights_of(row):
    return f"{RESULTS}/{row.partition('/')[0]}/model.safetensors"


def fitted_elsewhere(model):
    """The weights of another run's model that is taken instead of a fit."""
    folder = PARAMS.models[model].fitted
    return [f"{folder}/model.safetensors"] if folder else []


def public_table(model):
    """The coded records of a public data set that a model with a guarantee starts from."""
    folder = getattr(PARAMS.models[model], "public", None)
    return [f"{folder}/records.parquet", f"{folder}/codebook.json"] if folder else []


def drawn_toward(model):
    """The weights of another run's model that a fit is drawn to."""
    folder = getattr(PARAMS.models[model], "toward", None)
    return [f"{folder}/model.safetensors"] if folder not in (None, NATION) else []


def family_of(name):
    """The name of a model's or row's family, for the command line."""
    return PARAMS.family_of(name).name


def weighted(model):
    """The flag of a model that is fitted to weighted counts."""
    return "--weighted" if PARAMS.models[model].of_weights else ""


def design(name):
    """The true records' weights and households, for a model or row that makes use of them."""
    row = ROWS.get(name)
    model = PARAMS.models[name.partition("/")[0]]
    asked = model.of_weights
    if row:
        asked |= bool(row.calibrate or DATASET.asked_weight)
    else:
        asked |= model.of_households
    return f"{RESULTS}/weights.parquet" if asked else []


def whole(file):
    """A file that only a data set of whole households has."""
    return f"{RESULTS}/{file}" if WHOLE_HOUSEHOLDS else []


def synthetic_households(row):
    return f"{RESULTS}/{row}/synthetic_households.parquet"


def frontier(model):
    return f"{RESULTS}/frontier/{model}.parquet"


def cores_of_a_fit(_):
    """Many models fitted side by side use the cores better than one after the other on all."""
    together = len(MODELS) if engines.ran_everything(workflow) else 1
    return min(4, max(1, engines.cores(workflow) // together))


def whole_machine(_):
    """What is measured has the machine for itself."""
    return engines.cores(workflow)


def mixing(model):
    return f"{RESULTS}/frontier/{model}.mixing.parquet"


def gates(model):
    return f"{RESULTS}/gates/{model}.parquet"


def instance(model, number):
    return f"{RESULTS}/instances/{model}/{number}.parquet"


def instances_of(model, number):
    """The instances that a model's rows are made of, where its family has such."""
    return [instance(model, k + 1) for k in range(number)] if model in INSTANCED else []


def synthetic(row):
    return f"{RESULTS}/{row}.parquet" if row in ENDS else f"{RESULTS}/{row}/synthetic.parquet"


def values(row):
    return f"{RESULTS}/{row}/values.parquet"


def kind_of(figure):
    return registry.KINDS[FIGURES[figure][0]]


def drawn_from(figure):
    """The files that a figure is drawn from, in the order in which its kind reads them."""
    return [f"{RESULTS}/{file}" for file in kind_of(figure).files(FIGURES[figure][1], TRACED)]


def released_rows():
    """The rows to release, required only now: a file laid over params.yaml may have no such."""
    for name in PARAMS.release.rows:
        if name not in ROWS:
            near = did_you_mean(name, ROWS)
            raise WorkflowError(f"params.yaml: release.rows: no row {name!r} among 'rows'{near}")
    if not PARAMS.release.rows:
        raise WorkflowError(
            "params.yaml names no row to release, as in release: {rows: [population/balanced]}"
        )
    return PARAMS.release.rows


def scattered_rows():
    """The rows to make of every part, required only now, as :func:`released_rows`."""
    for name in PARAMS.scattered.rows:
        if name not in ROWS:
            near = did_you_mean(name, ROWS)
            raise WorkflowError(f"params.yaml: scattered.rows: no row {name!r} among 'rows'{near}")
    if not DATASET.scatter or not PARAMS.scattered.rows:
        raise WorkflowError(
            f"{DATASET_YAML} does not say 'scatter', as in scatter: state"
            if not DATASET.scatter
            else "params.yaml names no row to make of every part, as in scattered: {rows: [population/balanced]}"
        )
    return PARAMS.scattered.rows


def fitted_to_all(_):
    """The weights of models of all records that parts' models are drawn toward."""
    models = {ROWS[row].model for row in scattered_rows()}
    pooled = [
        m for m in MODELS if m in models and getattr(PARAMS.models[m], "toward", None) == NATION
    ]
    return expand(rules.fit.output.weights, model=pooled)


def parts(_):
    """The names of the parts: of states by their files, of other columns once these are read."""
    if DATASET.parts is not None:
        return DATASET.parts
    return json.loads(Path(checkpoints.listed_parts.get().output[0]).read_text(encoding="utf-8"))


def code_of_a_part(_):
    """The modules that a part's run runs."""
    found = {path for step in ("part", "code", "bootstrap", "tables") for path in code_of(step)}
    for row in scattered_rows():
        found |= {path for step in ("fit", "draw", "measure") for path in code_of(step, row)}
    return sorted(found)


def of_all_parts(wildcards):
    return expand(rules.part.output, part=parts(wildcards))


def measured_together(file):
    """The measures of all rows to be made, after those of the bootstrap."""
    return lambda _: [f"{TOGETHER}/measures/{row}/{file}" for row in scattered_rows()]


def claim(workflow):
    """Leave a note of whose results these are, before anything is made."""
    if workflow.is_main_process:
        where.claim_results(RESULTS, DATASET_YAML)


def finish(workflow):
    """Say what was made, and let DVC record it, after a run of everything."""
    if engines.ran_everything(workflow) and not engines.inside_dvc():
        engines.remove_stale(RESULTS, {str(f) for job in workflow.dag.jobs for f in job.output})
        engines.say_what_was_made(RESULTS)
        engines.record_in_dvc(
            dict(config), "params.yaml", lambda: stages.renew(EVERYTHING, Path("dvc.yaml"))
        )
