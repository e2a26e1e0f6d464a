"""Records by what they answer in a column: those that are wanted only, the parts of a scattered data set."""

import re
from collections.abc import Collection, Mapping

import numpy as np
import pandas as pd

from modp.base.errors import InputError, did_you_mean
from modp.pums.places import STATES
from modp.pums.where import NAME, STATE, Dataset

BLANK = "blank"
"""The part of the records whose answer is blank."""

MOST_PARTS = 5_000
"""A column with more different answers is no geography."""

OF_STATES = {str(number): code for code, (number, _) in STATES.items()} | {s.upper(): s for s in STATES}
"""Postal code by what files call the state: its number or, prepared by others, its postal code."""


def columns(dataset: Dataset) -> list[str]:
    """Return the columns that are read for ``only`` and ``scatter``."""
    return [*dataset.only, *([dataset.scattered_by] if dataset.scattered_by else [])]


def require_columns(found: Collection[str], dataset: Dataset) -> None:
    """Raise InputError if the files have not a column that ``only`` or ``scatter`` names."""
    for column in columns(dataset):
        if column not in found:
            key = "only" if column in dataset.only else "scatter"
            near = did_you_mean(column, found)
            raise InputError(f"{dataset.title}: {key}: the files have no column {column!r}{near}")


def said(dataset: Dataset) -> str:
    """Say what ``only`` keeps."""
    return " and ".join(f"{column} {', '.join(map(str, some))}" for column, some in dataset.only.items())


def wanted(raw: Mapping[str, np.ma.MaskedArray], dataset: Dataset) -> np.ndarray | None:
    """Tell which records ``only`` keeps, bool (n,), or None if it is not given.

    Parameters
    ----------
    raw : column -> answers (n,), words or numbers, masked where blank

    Raises
    ------
    InputError
        if it keeps none
    """
    if not dataset.only:
        return None
    kept = np.ones(len(next(iter(raw.values()))), bool)
    for column, values in dataset.only.items():
        kinds, places = _kinds(raw[column])
        good = {plain(str(value)) for value in values}
        kept &= np.array([kind in good for kind in kinds], bool)[places]
        if not kept.any():
            some = ", ".join(kinds[:10]) + (" …" if len(kinds) > 10 else "")
            raise InputError(
                f"{dataset.title}: 'only: {{{column}: {values}}}' leaves no record; the files have {some}"
            )
    return kept


def names(raw: Mapping[str, np.ma.MaskedArray], dataset: Dataset) -> np.ndarray | None:
    """Return the name of each record's part, objects (n,), or None if the data set is not scattered.

    States go by their postal codes. What folders cannot be called is replaced by ``_``.

    Raises
    ------
    InputError
        if two parts would be called alike, or there are too many
    """
    if dataset.scattered_by is None:
        return None
    kinds, places = _kinds(raw[dataset.scattered_by])
    if len(kinds) > MOST_PARTS:
        raise InputError(
            f"{dataset.title}: scatter: {dataset.scatter} has {len(kinds):,} different answers, each of "
            f"which would be a part; {MOST_PARTS:,} are the most"
        )
    if dataset.scatter == STATE:
        return np.array([OF_STATES.get(kind.upper(), _folder(kind)) for kind in kinds], object)[places]
    called = [_folder(kind) for kind in kinds]
    if len(set(called)) < len(called):
        twice = sorted(kind for kind, name in zip(kinds, called, strict=True) if called.count(name) > 1)
        raise InputError(
            f"{dataset.title}: scatter: {dataset.scatter} has answers that folders cannot tell apart: "
            f"{', '.join(twice[:5])}"
        )
    return np.array(called, object)[places]


def plain(text: str) -> str:
    """Return an answer as it is compared: 02, 2 and 2.0 are the same number."""
    text = text.strip()
    return str(int(float(text))) if re.fullmatch(r"-?\d{1,15}(\.0*)?", text) else text


def _kinds(values: np.ma.MaskedArray) -> tuple[list[str], np.ndarray]:
    """The different answers of a column, and where each record's stands among them."""
    mask = np.ma.getmaskarray(values)
    where, found = pd.factorize(values.data)
    texts = [*(plain(str(int(v) if isinstance(v, np.floating) else v)) for v in found), BLANK]
    kinds, again = np.unique(np.array(texts, str), return_inverse=True)
    places = again[np.where(mask, len(found), where)]
    used, places = np.unique(places, return_inverse=True)
    return kinds[used].tolist(), places


def _folder(kind: str) -> str:
    name = re.sub(r"[^\w.+-]", "_", kind)
    return name if NAME.fullmatch(name) else f"value_{name}".rstrip(".")
