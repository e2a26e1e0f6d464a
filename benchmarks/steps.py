"""Print how long the steps take at the paper's size: 300,000 records, 38 questions, 233 categories.

The records are the embedded sample repeated with a tenth of the answers shuffled.
Run: python benchmarks/steps.py
"""

import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from modp.base import seeds
from modp.base.config import load
from modp.crosstabs.cells import structural_zeros
from modp.crosstabs.pairs import crosstab
from modp.draws import independent, postprocess
from modp.measures import attacks
from modp.models.blades.drawing import instances
from modp.models.blades.network import Blades
from modp.models.blades.recipe import Shape
from modp.models.family import Work
from modp.pums.read import read
from modp.survey import coding
from modp.survey.questions import QuestionSet
from modp.survey.records import Records

N = 300_000
ROOT = Path(__file__).parent.parent


def sample() -> Records:
    """The embedded sample, coded."""
    question_set = load(ROOT / "workflow/questions/stums.yaml", QuestionSet)
    raw = read([ROOT / "data/sample/sample_csv_p.zip"], question_set.columns)
    return Records(*coding.code(raw, question_set, seeds.generator(1, "deciles")))


def enlarged(records: Records, rng: np.random.Generator) -> Records:
    rows = records.codes[rng.integers(0, len(records), N)]
    return records.of(np.where(rng.random(rows.shape) < 0.1, independent.shuffled(rows, rng), rows))


def timed(name: str, work: Callable[[], object]) -> object:
    began = time.perf_counter()
    result = work()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"| {name} | {time.perf_counter() - began:.2f} | {peak:.2f} |", flush=True)
    return result


def main() -> None:
    rng = np.random.default_rng(1)
    records = enlarged(sample(), rng)
    codes, starts = records.codes, records.block_starts
    torch.set_num_threads(1)
    shape = Shape(blades=5, reduced=15)
    model = Blades(torch.from_numpy(starts), shape, torch.Generator().manual_seed(1))
    work = Work("benchmark", seed=1, device="cpu")

    print(f"{N:,} records x {starts[-1]} categories\n\n| step | seconds | peak GB so far |\n|---|--:|--:|")
    counts = timed("crosstab", lambda: crosstab(records))
    zeros = structural_zeros(counts, starts)
    timed("records with a structural zero", lambda: postprocess.violations(records, zeros))
    (drawn,) = timed("draw an instance from 5 blades", lambda: instances(model, records, 1, work))
    instance = drawn.codes
    timed(
        "choose between two instances",
        lambda: postprocess.select([records.of(instance), records], counts, 0.5),
    )
    people, one, other = codes[:5000], codes[:50_000], codes[-50_000:]
    timed(
        "nearest of 5,000 among 50,000 and 50,000", lambda: attacks.closest(instance[:5000], one, other, rng)
    )
    timed("nearest of 10,000 among all", lambda: [attacks.nearness(people, instance) for _ in range(2)])
    timed("guess an answer of 4,000", lambda: [attacks.guessed(people[:2000], instance, 0) for _ in range(2)])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "records.parquet")
        timed("write Parquet", lambda: records.write(path))
        timed("read Parquet", lambda: Records.read(path, records.codebook))


if __name__ == "__main__":
    main()
