"""What a job asks of the machine, or of a cluster: memory and time, as functions of records and categories.

The numbers are an upper bound of what ``benchmarks/memory.py`` measures. A job that needed more all the same
asks for twice as much at each further attempt, where the profile has such (``retries``).
"""

import zipfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path

import pyarrow.parquet as pq

from modp.pums.places import NATION
from modp.pums.where import Dataset, at_hand
from modp.survey.questions import QuestionSet

START = 1 << 16
"""Bytes at the start of a text, whose lines are taken to be as long as the others."""

ROW_AT_LEAST = 20
"""Bytes of a row in a file that is neither text nor Parquet: of few such are rows shorter."""

MOST_OF_A_STATE, MOST_OF_THE_NATION = 420_000, 3_600_000
"""Persons in a year's file, at most: California's, and that of all states."""


@dataclass(frozen=True)
class Size:
    """How large a data set is: records n, questions Q, categories K."""

    records: int
    questions: int
    categories: int


@dataclass(frozen=True)
class Need:
    """What a step asks for: base + per_answer · n · Q + per_cell · K².

    base, per_answer, per_cell : megabytes, bytes, bytes
    minutes : the same for time: minutes, minutes a million answers, minutes a million cells
    """

    base: float
    per_answer: float = 0.0
    per_cell: float = 0.0
    minutes: tuple[float, float, float] = (10, 1, 2)

    def megabytes(self, size: Size, attempt: int = 1) -> int:
        """Return memory in MB (1e6 bytes), rounded up to hundreds, doubled at each further attempt."""
        used = self.base + (self.per_answer * _answers(size) + self.per_cell * size.categories**2) / 1e6
        return 100 * ceil(used / 100) * 2 ** (attempt - 1)

    def time(self, size: Size, attempt: int = 1) -> int:
        """Return minutes, doubled likewise."""
        base, answer, cell = self.minutes
        used = base + (answer * _answers(size) + cell * size.categories**2) / 1e6
        return ceil(used) * 2 ** (attempt - 1)


def _answers(size: Size) -> int:
    return size.records * size.questions


FITS = (20, 6, 30)
NEEDS = {
    "acquire": Need(500, minutes=(60, 5, 0)),
    "code": Need(450, 15, 150),
    "bootstrap": Need(500, 40, 50),
    "fit": Need(600, 80, 1000, FITS),
    "instances": Need(600, 60, 300),
    "draw": Need(500, 60, 500),
    "measure": Need(800, 15, 500),
    "frontier": Need(800, 80, 1000, FITS),
    "mixing": Need(600, 80, 1000),
    "epsilon": Need(800, 80, 1000, (60, 30, 150)),
    "releases": Need(800, 120, 1000),
    "weigh": Need(600, 80, 1000),
    "estimate": Need(700, 150, 100),
    "tables": Need(800, 60, 1500),
    "repeat": Need(1000, 120, 2000, (60, 60, 300)),
    "listed": Need(500, 2),
    "part": Need(1000, 120, 2000, (60, 60, 300)),
    "together": Need(600, 60, 50),
    "parts": Need(600, 5, 50),
    "figure": Need(700, 10, 300),
    "report": Need(700, 10, 1500),
    "gather": Need(500, 150, 150, (10, 2, 2)),
    "draw_households": Need(600, 80, 1000, FITS),
    "tables_households": Need(800, 200, 2000, (20, 10, 10)),
    "report_households": Need(700, 20, 1500),
    "release_households": Need(700, 120, 100),
    "card": Need(500, 10, 300),
    "values": Need(700, 120, 100),
    "release": Need(700, 60),
}
"""Of each step that rules run, by its name in :data:`modp.pipeline.steps.STEPS`. Those of code, fit,
instances, draw and measure hold what was measured, a fifth to spare; the others are set after the like."""


def memory(step: str, size: Size) -> Callable[..., int]:
    """Return what Snakemake asks, of a job's attempt, for ``mem_mb``."""
    return lambda wildcards, attempt: NEEDS[step].megabytes(size, attempt)


def minutes(step: str, size: Size) -> Callable[..., int]:
    """Return what Snakemake asks, of a job's attempt, for ``runtime``."""
    return lambda wildcards, attempt: NEEDS[step].time(size, attempt)


def gpus(device: str) -> dict[str, int]:
    """Ask for one GPU where the parameters demand one; ``auto`` takes what is there, and asks for none.

    Nothing is said of the number where it is none: some executors ask for a GPU wherever they find the word.
    """
    return {"gpu": 1} if device.startswith("cuda") else {}


def size_of(dataset: Dataset, questions: QuestionSet, raw: str) -> Size:
    """Tell a data set's size before anything is read: from its files, or from what Census's hold at most.

    Parameters
    ----------
    questions : as the data set wants it
    raw : the folder that files are fetched to

    Returns
    -------
    all records, those to be held out too, and the categories that the question set has; more of both than
    there turn out to be, if anything
    """
    records = sum(_records(dataset, name, raw) for name in [*dataset.names, *dataset.held_names])
    categories = sum(len(question.codes) for question in questions.questions)
    return Size(records, len(questions.questions), categories)


def size_of_a_part(dataset: Dataset, whole: Size) -> Size:
    """Tell how large the largest part of a scattered data set may be: where they are states, one's most."""
    if dataset.parts is None or dataset.census is None:
        return whole
    return replace(whole, records=min(whole.records, MOST_OF_A_STATE * int(dataset.census.span[0])))


def _records(dataset: Dataset, name: str, raw: str) -> int:
    local = dataset.path(name)
    path = Path(at_hand(local)) if local else Path(raw, name)
    if path.is_file():
        return rows(path)
    source = dataset.census
    if source is None:
        return MOST_OF_A_STATE
    nation = source.states[source.files.index(name) % len(source.states)] == NATION
    return (MOST_OF_THE_NATION if nation else MOST_OF_A_STATE) * int(source.span[0])


def rows(path: Path) -> int:
    """Tell about how many records a file holds without reading it: by its footer, or its first lines.

    A file that cannot be opened counts by its bytes; that it is damaged is said by the step that reads it.
    """
    try:
        if path.suffix == ".parquet":
            return int(pq.read_metadata(path).num_rows)
        if path.suffix == ".zip":
            return _rows_of_zip(path)
    except (OSError, ValueError, zipfile.BadZipFile):
        pass
    else:
        with path.open("rb") as file:
            start = file.read(START)
        if b"\0" not in start:
            return _lines(start, path.stat().st_size)
    return ceil(path.stat().st_size / ROW_AT_LEAST)


def _rows_of_zip(path: Path) -> int:
    found = 0
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            if member.filename.lower().endswith((".csv", ".txt", ".tsv")):
                with archive.open(member) as file:
                    found += _lines(file.read(START), member.file_size)
    return found


def _lines(start: bytes, size: int) -> int:
    """Lines of a text of so many bytes, by those that lie whole in its start, without the first, a header."""
    whole = start[start.find(b"\n") + 1 : start.rfind(b"\n") + 1]
    lines = whole.count(b"\n")
    return ceil(size / (len(whole) / lines)) if lines else 1
