"""DVC's stages, from what the steps, families and parameters say: dvc.yaml is written from here.

Each stage lets Snakemake make that stage's files, and DVC versions them. Paths hold ``${dataset}``, so that
another data set needs no other file; other models and rows do. Models of one family share their stages,
which depend on the code of that family alone.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import yaml

from modp.base.config import load
from modp.base.output import written
from modp.figures import registry
from modp.figures.registry import KINDS
from modp.models.family import Family
from modp.pipeline import engines
from modp.pipeline.params import Params
from modp.pums import where
from modp.report import holdings

HEADER = """\
# Written by "python -m modp stages" for the models and rows of params.yaml; a test holds the two together.
# The same pipeline for DVC: each stage lets Snakemake make that stage's files, and DVC versions them.
"""
RESULTS = "${results}/${dataset}"
RAW = "${raw}/${dataset}"
DATASET = "workflow/datasets/${dataset}.yaml"
CODED = ("records.parquet", "codebook.json")
UNSENT = {"push": False}
"""What keeps an output from the remote: DVC holds it in this clone's cache alone."""

VARIABLES = [
    {"snakemake": "snakemake --cores all --quiet all --rerun-incomplete"},
    {"raw": "data/raw"},
    {"results": "results"},
]

PLOTS: list[Any] = [
    {
        f"{RESULTS}/plots/accuracy.csv": {
            "title": "distance from the ideal, all cells",
            "template": "bar_horizontal",
            "x": "ratio_median",
            "y": "row",
            "x_label": "median |ln ratio| as a multiple of the bootstrap's",
        }
    },
    {
        f"{RESULTS}/plots/history": {
            "template": "simple",
            "x": "step",
            "y": "loss",
            "y_label": "training loss over all records",
        }
    },
    *(f"{RESULTS}/figures/{name}.png" for name in ("accuracy", "frontier", "training")),
]


PLOTS_OF_HOUSEHOLDS = [
    PLOTS[1],
    *(f"{RESULTS}/figures/{name}.png" for name in ("households", "household_shares", "training")),
]

OF_ROWS = ("records.parquet", "codebook.json", "households.parquet", "codebook_households.json")
"""What a row of whole households is drawn with."""


def text(params: Params) -> str:
    """Return dvc.yaml for a run's models and rows."""
    plots = PLOTS_OF_HOUSEHOLDS if _whole(params) else PLOTS
    content = {"vars": VARIABLES, "stages": stages(params), "plots": plots}
    return HEADER + yaml.dump(content, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110)


def written_for(params: Params, path: Path) -> bool:
    """Whether the dvc.yaml at ``path`` is the one for these parameters."""
    return path.exists() and path.read_text(encoding="utf-8") == text(params)


def renew(params: Params, path: Path) -> bool:
    """Write the dvc.yaml at ``path`` for these parameters if it is of others; return whether it was."""
    stale = not written_for(params, path)
    if stale:
        with written(path) as new:
            new.write_text(text(params), encoding="utf-8")
    return stale


class _Dumper(yaml.SafeDumper):
    """Indents lists, and writes every value out where it is used."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)

    def ignore_aliases(self, data: Any) -> bool:
        return True


def stages(params: Params) -> dict[str, Any]:
    """Return the stages in the order of the work: of a data set of whole households, or of any other."""
    everything, params = params, params.of(_whole(params))
    if _whole(params):
        return _of_households(everything, params)
    found: dict[str, Any] = {"acquire": _acquire(), "code": _code(params)}
    by_family: dict[str, list[str]] = {}
    for model in params.models:
        by_family.setdefault(params.family_of(model).name, []).append(model)
    for models in by_family.values():
        family = params.family_of(models[0])
        found[f"fit_{family.name}"] = _fit(family, models, params)
        if any(family.can(part) for part in ("instances", "curve", "chains")):
            found[f"follow_{family.name}"] = _follow(family, models)
        if any(params.rows_of[model] for model in models):
            found[f"row_{family.name}"] = _row(family, models, everything)
    found["report"] = _report(params)
    return found | {"page": _page(), "cards": _cards(params)}


def _of_households(everything: Params, params: Params) -> dict[str, Any]:
    """The stages of whole households, of parameters with what is for others, and without."""
    keys = _written(params, "dataset", "seed", "holdout")
    held = holdings.of_true_records(holdings.OF_HOUSEHOLDS)
    unsent = [{path: UNSENT} for path in _results(*held)]
    books = _results("codebook.json", "codebook_households.json", "members.json")
    deps = [DATASET, "workflow/questions", RAW, *_code_of(["gather"])]
    desc = "bring persons and households together, hold some out"
    found = {"acquire": _acquire(), "code": _stage(desc, ["coded"], keys, deps, [*unsent, *books])}
    row = "${item.model}/${item.name}"
    outs = _results(f"{row}/synthetic.parquet", f"{row}/synthetic_households.parquet")
    by_family: dict[str, list[str]] = {}
    for model in params.models:
        by_family.setdefault(params.family_of(model).name, []).append(model)
    for models in by_family.values():
        family = params.family_of(models[0])
        fitted = _fit(family, models, params)
        fitted["do"]["deps"] = [*_results(*OF_ROWS, "members.json"), *_code_of(["fit"], family)]
        found[f"fit_{family.name}"] = fitted
        rows = {
            f"{of.model}-{of.name}": {"model": of.model, "name": of.name, "at": at}
            for at, of in enumerate(everything.rows)
            if of.model in models
        }
        if not rows:
            continue
        code = _code_of(["draw_households"], family)
        deps = [*_results(*OF_ROWS, "${item.model}/model.safetensors"), *code]
        keys = ["seed", "rows.${item.at}", "models.${item.model}"]
        drawn = _stage(f"draw {row}", outs[:1], keys, deps, outs)
        found[f"row_{family.name}"] = {"foreach": rows, "do": drawn}
    found["report"] = _report_on_households(params)
    found["page"] = _page_on_households(params)
    return found


def _report_on_households(params: Params) -> dict[str, Any]:
    read = [
        *holdings.of_true_records(holdings.OF_HOUSEHOLDS),
        *OF_ROWS[1::2],
        "members.json",
        "plots/history",
    ]
    read += [f"{name}/history.parquet" for name in params.models if params.rows_of[name]]
    files = ("synthetic.parquet", "synthetic_households.parquet")
    read += [f"{row.row}/{file}" for row in params.rows for file in files]
    kinds = registry.drawn_by_every_run(
        {registry.Of.HOUSEHOLDS: [""], registry.Of.MODELS: [""]}, of_run=False
    ).values()
    figures = {path for kind, _ in kinds for path in engines.code_of_figure(kind)}
    deps = [DATASET, *_results(*read), *sorted({*_code_of(["tables_households"]), *figures})]
    outs = _results("tables", "figures", "measures", "parameters.json")
    desc = "tables, metrics and figures of all rows"
    stage = _stage(desc, ["reported"], [{"params.yaml": None}], deps, outs)
    return stage | {"metrics": _results("metrics.json")}


def _page_on_households(params: Params) -> dict[str, Any]:
    read = [*OF_ROWS, "tables", "figures", "measures", "parameters.json"]
    texts = [*(engines.template(name) for name in engines.PAGE), engines.captions()]
    families = [params.family_of(name) for name in params.models]
    code = {path for family in families for path in _code_of(["report_households"], family)}
    deps = [DATASET, RAW, *_results(*read), *texts, *sorted(code)]
    pages = _results("report.html", "report_public.html")
    return _stage("the run on one page, for the office and to publish", pages[:1], [], deps, pages)


def _stage(
    desc: str, targets: Iterable[str], params: Sequence[Any], deps: Iterable[str], outs: Sequence[Any]
) -> dict[str, Any]:
    command = " ".join(["${snakemake}", *targets])
    stage = {"desc": desc, "cmd": command, "params": list(params), "deps": list(dict.fromkeys(deps))}
    return {key: value for key, value in stage.items() if value} | {"outs": list(outs)}


def _results(*files: str) -> list[str]:
    return [f"{RESULTS}/{file}" for file in files]


def _code_of(steps: Iterable[str], family: Family | None = None) -> list[str]:
    return sorted({path for step in steps for path in engines.code_of(step, family)})


def _acquire() -> dict[str, Any]:
    deps = [DATASET, "data/sample", *_code_of(["acquire"])]
    kept = [{RAW: {"persist": True, **UNSENT}}]
    return _stage("fetch or copy the source files", ["acquired"], ["dataset", "census"], deps, kept)


def _written(params: Params, *keys: str) -> list[str]:
    """Those keys that params.yaml has; DVC wants no others."""
    return [key for key in keys if key in params.model_fields_set]


def _again(params: Params) -> list[str]:
    """The step that attacks several tables of a row, where there are several."""
    return ["releases"] if params.releases > 1 else []


def _code(params: Params) -> dict[str, Any]:
    desc = "merge, cut into deciles, hold out, draw and measure the two ends"
    keys = _written(params, "dataset", "seed", "zeros", "holdout", "attacked", "paper_notebook", "releases")
    steps = ["code", "bootstrap", "measure", *_again(params)]
    deps = [DATASET, "workflow/questions", RAW, *_code_of(steps)]
    unsent = [{path: UNSENT} for path in _results(*holdings.of_true_records())]
    outs = _results("codebook.json", "marginals.parquet", "measures/bootstrap", "measures/marginals")
    return _stage(desc, ["coded"], keys, deps, [*unsent, *outs])


def _fit(family: Family, models: Sequence[str], of: Params) -> dict[str, Any]:
    outs = _results("${item}/model.safetensors", "${item}/history.parquet", "plots/history/${item}.csv")
    params = ["seed", "device", *(["zeros"] if family.excludes_zeros else []), "models.${item}"]
    recipes = [of.models[model] for model in models]
    weights = ["weights.parquet"] if any(r.of_weights or r.of_households for r in recipes) else []
    deps = [*_results(*CODED, *weights), *_code_of(["fit"], family)]
    return {"foreach": models, "do": _stage("fit ${item}", outs[:1], params, deps, outs)}


def _follow(family: Family, models: Sequence[str]) -> dict[str, Any]:
    """What is made of a model alone: its instances, and how its tables change from faithful to private."""
    steps, targets, outs = [], [], []
    if family.can("instances"):
        steps.append("instances")
        targets.append("gates/${item}.parquet")
        outs += ["instances/${item}", "gates/${item}.parquet"]
    for step, part, file in (
        ("frontier", "curve", "frontier/${item}.parquet"),
        ("mixing", "chains", "frontier/${item}.mixing.parquet"),
    ):
        if family.can(part):
            steps.append(step)
            targets.append(file)
            outs.append(file)
    params = ["seed", "device", "instances"] if "instances" in steps else ["seed"]
    held = ["holdout.parquet"] if "frontier" in steps else []
    deps = [*_results(*CODED, *held, "${item}/model.safetensors"), *_code_of(steps, family)]
    desc = "draw from ${item}, and follow how its tables leave the true ones"
    return {"foreach": models, "do": _stage(desc, _results(*targets), params, deps, _results(*outs))}


def _row(family: Family, models: Sequence[str], params: Params) -> dict[str, Any]:
    rows = {
        f"{row.model}-{row.name}": {"model": row.model, "name": row.name, "at": at}
        for at, row in enumerate(params.rows)
        if row.model in models
    }
    row = "${item.model}/${item.name}"
    keys = _written(params, "seed", "device", "zeros", "attacked", "paper_notebook", "releases")
    again = _again(params) if family.most_rows is None else []
    keys.append("rows.${item.at}")
    of = [row for row in params.rows if row.model in models]
    weighed = _dataset(params).asked_weight is not None
    weighed |= any(params.models[row.model].of_weights or row.calibrate for row in of)
    deps = _results(*CODED, "holdout.parquet", "${item.model}/model.safetensors")
    deps += _results("weights.parquet") if weighed else []
    deps += _results("instances/${item.model}") if family.can("instances") else []
    deps += _code_of(["draw", "measure", *again], family)
    target = _results(f"measures/{row}/cells.parquet", *(f"measures/{row}/{step}.parquet" for step in again))
    outs = _results(f"{row}/synthetic.parquet", f"measures/{row}")
    return {"foreach": rows, "do": _stage(f"draw {row} and measure it", target, keys, deps, outs)}


def _report(params: Params) -> dict[str, Any]:
    families = [params.family_of(name) for name in params.models]
    read = ["records.parquet", "codebook.json", "measures", "plots/history"]
    read += [f"{name}/history.parquet" for name in params.models if params.rows_of[name]]
    read += ["gates"] if any(family.can("gates") for family in families) else []
    read += ["frontier"] if any(family.can("curve") for family in families) else []
    figures = {path for kind in KINDS for path in engines.code_of_figure(kind)}
    steps = ["tables", "repeats"]
    deps = [DATASET, "workflow/published/accuracy.yaml"]
    if _dataset(params).weight is not None:
        steps += ["weigh", "estimate"]
        deps += [RAW, "workflow/questions"]
        read += ["weights.parquet", *(f"{row.row}/synthetic.parquet" for row in params.rows)]
    if params.useful:
        steps += ["values", "utility"]
        deps += [RAW, "workflow/questions"]
        read += ["holdout.parquet", *(f"{row}/synthetic.parquet" for row in params.useful)]
    deps += [*_results(*read), *sorted({*_code_of(steps), *figures})]
    outs = _results("tables", "figures", "parameters.json", "plots/accuracy.csv")
    outs += _results(*(f"{row}/values.parquet" for row in params.useful))
    everything = [{"params.yaml": None}]
    stage = _stage("tables, metrics and figures of all rows", ["reported"], everything, deps, outs)
    return stage | {"metrics": _results("metrics.json")}


def _whole(params: Params) -> bool:
    """Whether the run's data set is of whole households."""
    return _dataset(params).records == "households"


def _dataset(params: Params) -> where.Dataset:
    """The run's data set; where it names weights, stages make more of more."""
    return load(where.dataset_path(params.dataset), where.Dataset)


def _page() -> dict[str, Any]:
    read = ["codebook.json", "measures", "tables", "figures", "metrics.json", "parameters.json", "frontier"]
    texts = [*(engines.template(name) for name in engines.PAGE), engines.captions()]
    deps = [DATASET, RAW, *_results(*read), *texts, *_code_of(["report"])]
    pages = _results("report.html", "report_public.html")
    return _stage("the run on one page, for the office and to publish", pages[:1], [], deps, pages)


def _cards(params: Params) -> dict[str, Any]:
    code = [path for name in params.models for path in _code_of(["card"], params.family_of(name))]
    read = _results("holdout.parquet", "codebook.json", "tables", "metrics.json")
    deps = [DATASET, RAW, *read, *(engines.template(name) for name in engines.CARD), *sorted(set(code))]
    cards = [f"{name}/card.md" for name in params.models]
    outs = _results(*cards, *(f"{name}/privacy.md" for name in params.models))
    keys = ["seed", "zeros", "rows", "models"]
    return _stage("write the cards of all models", _results(*cards), keys, deps, outs)
