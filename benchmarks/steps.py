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
from modp.models.blades import network as blades
from modp.pums.read import read
from modp.survey import coding, records
from modp.survey.questions import QuestionSet

N = 300_000
ROOT = Path(__file__).parent.parent


def enlarged(codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    rows = codes[rng.integers(0, len(codes), N)]
    others = np.column_stack([rng.permutation(rows[:, q]) for q in range(rows.shape[1])])
    return np.where(rng.random(rows.shape) < 0.1, others, rows)


def timed(name: str, work: Callable[[], object]) -> object:
    began = time.perf_counter()
    result = work()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"| {name} | {time.perf_counter() - began:.2f} | {peak:.2f} |", flush=True)
    return result


def main() -> None:
    question_set = load(ROOT / "workflow/questions/stums.yaml", QuestionSet)
    raw = read([ROOT / "data/sample/sample_csv_p.zip"], question_set.columns)
    codes, codebook = coding.code(raw, question_set, seeds.generator(1, "deciles"))
    starts = codebook.block_starts
    rng = np.random.default_rng(1)
    codes = enlarged(codes, rng)
    torch.set_num_threads(1)
    model = blades.Blades(torch.from_numpy(starts), blades.Shape(5, 15), torch.Generator().manual_seed(1))

    def drawn() -> np.ndarray:
        parts = []
        for chunk in np.array_split(codes, N // 4096):
            predictions = blades.predict(model, records.one_hot(chunk, starts), torch.device("cpu"))
            probabilities = independent.normalised(predictions, starts)
            independent.entropy_bits(probabilities)
            parts.append(independent.independent(probabilities, starts, rng.random(chunk.shape)))
        return np.concatenate(parts)

    print(f"{N:,} records x {starts[-1]} categories\n\n| step | seconds | peak GB so far |\n|---|--:|--:|")
    counts = timed("crosstab", lambda: crosstab(codes, starts))
    zeros = structural_zeros(counts, starts)
    timed("records with a structural zero", lambda: postprocess.violations(codes, zeros, starts))
    instance = timed("draw an instance from 5 blades", drawn)
    timed("choose between two instances", lambda: postprocess.select([instance, codes], counts, starts, 0.5))
    people, one, other = codes[:5000], codes[:50_000], codes[-50_000:]
    timed(
        "nearest of 5,000 among 50,000 and 50,000", lambda: attacks.closest(instance[:5000], one, other, rng)
    )
    timed("nearest of 10,000 among all", lambda: [attacks.nearness(people, instance) for _ in range(2)])
    timed("guess an answer of 4,000", lambda: [attacks.guessed(people[:2000], instance, 0) for _ in range(2)])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "records.parquet")
        timed("write Parquet", lambda: records.write(path, codes, codebook))
        timed("read Parquet", lambda: records.read(path, codebook))


if __name__ == "__main__":
    main()
