"""Shared by all tests: where things are, and tiny tables worked out by hand."""

import os

# Before NumPy and torch are loaded: beside other workers their threads mostly wait for one another.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Where a test wants more threads than there are cores, they sleep while they wait.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import functools
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from modp.base import seeds
from modp.base.config import check, load
from modp.pums.read import read
from modp.survey import coding
from modp.survey.codebook import Category, Codebook, Question
from modp.survey.questions import QuestionSet
from modp.survey.records import Records

# Times are measured in benchmarks; a busy machine fails no test.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT / ".." / "shared"
PIPELINE = ("test_pipeline.py", "test_runs.py", "test_docs.py", "test_families.py", "test_warm.py")
"""Files of which every test is marked ``pipeline``."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as ``unit`` what is not marked as ``pipeline``, by itself or by its file."""
    for item in items:
        if item.path.name in PIPELINE:
            item.add_marker(pytest.mark.pipeline)
        if item.path.name == "test_soak.py" or item.path.parent.name == "cluster":
            item.add_marker(pytest.mark.slow)
        if item.get_closest_marker("pipeline") is None:
            item.add_marker(pytest.mark.unit)


@functools.cache
def codebook_of(*sizes: int) -> Codebook:
    """A codebook of questions A, B, C … with so many categories each, coded 1, 2, 3 …"""
    made = [
        Question(
            chr(65 + q),
            f"question {chr(65 + q)}",
            chr(65 + q),
            "as coded",
            tuple(Category(str(c + 1), f"answer {c + 1}", str(c + 1)) for c in range(size)),
        )
        for q, size in enumerate(sizes)
    ]
    return Codebook("test", tuple(made))


def codes_of(sizes: Iterable[int], n: int, rng: np.random.Generator) -> np.ndarray:
    """So many records of independent answers to questions with so many categories each."""
    return np.column_stack([rng.integers(0, size, n) for size in sizes]).astype(np.int16)


def records_of(codes: np.ndarray, sizes: Iterable[int]) -> Records:
    """These codes as records, under :func:`codebook_of` these sizes."""
    return Records(codes, codebook_of(*map(int, sizes)))


def question_set(*recipes: dict, **more: object) -> QuestionSet:
    """A question set of these questions."""
    content = {"name": "t", "title": "t", "records": "persons", "questions": list(recipes), **more}
    return check(content, QuestionSet, "test.yaml")


def shared(*parts: str) -> Path:
    """A file of the shared folder; the test is skipped where it is missing."""
    path = SHARED.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"needs shared/{'/'.join(parts)}, which is not here")
    return path


@pytest.fixture(scope="session")
def stums() -> QuestionSet:
    return load(ROOT / "workflow/questions/stums.yaml", QuestionSet)


@pytest.fixture(scope="session")
def sample(stums: QuestionSet) -> Records:
    """The embedded sample, coded."""
    raw = read([ROOT / "data/sample/sample_csv_p.zip"], stums.columns)
    return Records(*coding.code(raw, stums, seeds.generator(1, "deciles")))
