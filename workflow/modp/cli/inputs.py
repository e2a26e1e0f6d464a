"""What the steps after coding read and write: records, models, rows, and how a piece of work is done."""

import argparse
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pyarrow.parquet as pq

from modp.base.config import check
from modp.base.errors import InputError
from modp.base.output import Log, written
from modp.crosstabs.cells import Zeros
from modp.models.family import Drawn, Family, Model, Recipe, Work
from modp.models.registry import FAMILIES, family
from modp.survey import records
from modp.survey.codebook import Codebook
from modp.survey.records import Records
from modp.survey.weights import WEIGHT, Weights, are_named, read_households

PROVENANCE = ".provenance.json"


def source(provenance: Path) -> dict[str, Any]:
    """Return what is known of a source file: its name as ``file``, and its provenance."""
    return {"file": provenance.name.removesuffix(PROVENANCE)} | json.loads(provenance.read_text())


def ask_for_coded(parser: argparse.ArgumentParser) -> None:
    """Declare the options that :func:`coded` takes."""
    parser.add_argument("--records", type=Path, required=True)
    parser.add_argument("--codebook", type=Path, required=True)


def coded(records_path: Path, codebook_path: Path) -> Records:
    """Return the true records with their codebook."""
    return Records.read(records_path, Codebook.from_json(codebook_path.read_text(encoding="utf-8")))


def ask_for_model(parser: argparse.ArgumentParser) -> None:
    """Declare the option that :func:`recipe_of` takes."""
    parser.add_argument("--model", type=json.loads, required=True, help="its parameters, as JSON")


def recipe_of(options: argparse.Namespace) -> tuple[Family, Recipe]:
    """Return a model's family and recipe."""
    found = family(options.model["family"])
    return found, check(options.model, found.recipe, f"model {options.name}")


def ask_for_work(parser: argparse.ArgumentParser) -> None:
    """Declare the options that :func:`work_of` takes."""
    parser.add_argument("--name", required=True, help="of the model, or of the row, in params.yaml")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:N")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--zeros", choices=get_args(Zeros), default="sample", help="what counts as such")
    parser.add_argument("--design", type=Path, nargs="?", help="the records' households and survey weights")
    parser.add_argument("--weighted", action="store_true", help="the model is fitted to weighted counts")


def ask_for_fitted(parser: argparse.ArgumentParser) -> None:
    """Declare the options that :func:`fitted` and :func:`work_of` take."""
    ask_for_coded(parser)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--family", choices=FAMILIES, required=True, help="what the weights are of")
    ask_for_work(parser)


def fitted(options: argparse.Namespace) -> tuple[Records, Family, Model]:
    """Return the true records, and a model fitted to them with its family."""
    true = coded(options.records, options.codebook)
    found = family(options.family)
    return true, found, found.load(options.weights, true.codebook)


def work_of(options: argparse.Namespace, log: Log, checkpoint: Path | None = None) -> Work:
    """Return how the step's work is done; raise InputError if weights are missing that it asks for."""
    weights = design_of(options).values if options.weighted else None
    asked = (options.name, options.seed, options.threads, options.device, options.zeros, log, checkpoint)
    return Work(*asked, weights)


def design_of(options: argparse.Namespace) -> Weights:
    """Return the true records' weights; raise InputError where the data set names none."""
    found = Weights.read(options.design) if options.design else None
    if found is None:
        raise InputError(
            f"{options.name} asks for survey weights ('weighted' of the model, 'calibrate' of the row), and "
            "the dataset YAML names none: give it the key 'weight', as in weight: PWGTP"
        )
    return found


def households_of(options: argparse.Namespace) -> np.ndarray:
    """Return of which household each true record is; raise InputError if there is no key of them."""
    if not (options.design and are_named(options.design)):
        raise InputError(
            f"{options.name}: 'unit: household' protects households, and the data set has no key by which "
            "records of one can be told: name its column in the dataset YAML, as in household: SERIALNO, or "
            "protect records (unit: record)"
        )
    return read_households(options.design)


def public_of(recipe: Recipe, codebook: Codebook, name: str) -> Records | None:
    """Return the public records that a recipe names, if it does.

    Raises
    ------
    InputError
        if they are not there, or under another codebook
    """
    given = getattr(recipe, "public", None)
    if not given:
        return None
    folder = Path(given)
    if not ((folder / "records.parquet").is_file() and (folder / "codebook.json").is_file()):
        raise InputError(
            f"{name}: public: {folder} has no records.parquet with its codebook.json; name the results "
            "folder of a data set that has been coded"
        )
    found = coded(folder / "records.parquet", folder / "codebook.json")
    if found.codebook.digest != codebook.digest:
        raise InputError(
            f"{name}: public: {folder} is under another codebook; write 'codebook: {folder}/codebook.json' "
            "in this data set's YAML, so that both have the same categories"
        )
    return found


def read_drawn(path: Path, codebook: Codebook) -> Drawn:
    """Read a table that :func:`write_drawn` wrote."""
    of_records = [WEIGHT] if WEIGHT in pq.read_schema(path).names else []
    codes, extra = records.read(path, codebook, ["record", "entropy_bits", *of_records])
    record = np.ma.masked_invalid(extra["record"].astype(np.float64))
    bits = np.ma.masked_invalid(extra["entropy_bits"].astype(np.float64))
    partner = np.ma.array(record.filled(0).astype(np.int64), mask=np.ma.getmaskarray(record))
    return Drawn(codes, partner, bits, extra.get(WEIGHT))


def write_drawn(target: Path, drawn: Drawn, codebook: Codebook) -> None:
    """Write a synthetic table with its causal partners and entropies, whole or not at all."""
    write_parts(target, [drawn], codebook)


def write_parts(target: Path, parts: Iterable[Drawn], codebook: Codebook) -> None:
    """Write a synthetic table as :func:`write_drawn` does, of which one part at a time is held."""
    with written(target) as path:
        records.write_parts(path, ((part.codes, _columns(part)) for part in parts), codebook)


def _columns(drawn: Drawn) -> dict[str, np.ndarray]:
    weights = {} if drawn.weights is None else {WEIGHT: drawn.weights}
    return {"record": drawn.record, "entropy_bits": drawn.entropy_bits, **weights}
