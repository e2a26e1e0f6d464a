"""Fit and draw by a method that is not this project's, in an environment of its own, without this package.

Run by peers.py: PYTHON benchmarks/others.py mostlyai|dpmm CODES.csv FOLDER SEED
"""

import json
import sys
import time
from pathlib import Path

import pandas as pd

MINUTES = 4.5
"""After which mostlyai-engine's training is stopped."""


def mostlyai(codes: pd.DataFrame, sizes: dict[str, int], seed: int):
    """The autoregressive network of mostlyai-engine, medium size, its protection of rare values off."""
    from mostlyai.engine import TabularARGN

    words = ("a" + codes.astype(str)).astype(object)
    kinds = dict.fromkeys(codes, "TABULAR_CATEGORICAL")
    keys = {"max_training_time": MINUTES, "value_protection": False, "tgt_encoding_types": kinds}
    model = TabularARGN(model="MOSTLY_AI/Medium", device="cpu", random_state=seed, verbose=0, **keys)
    yield model.fit(words)
    drawn = model.sample(n_samples=len(codes))
    yield drawn[list(codes)].apply(lambda column: column.str[1:].astype(int))


def dpmm(codes: pd.DataFrame, sizes: dict[str, int], seed: int):
    """MST with a formal guarantee, epsilon 1, delta 1e-5; the categories count as known to all."""
    from dpmm.pipelines import MSTPipeline

    model = MSTPipeline(epsilon=1.0, delta=1e-5, disable_processing=True)
    yield model.fit(codes, domain=sizes, random_state=seed)
    yield model.generate(n_records=len(codes), random_state=seed)


def main() -> None:
    name, path, folder, seed = sys.argv[1:]
    codes = pd.read_csv(path)
    sizes = json.loads(Path(folder, "sizes.json").read_text(encoding="utf-8"))
    work, seconds = {"mostlyai": mostlyai, "dpmm": dpmm}[name](codes, sizes, int(seed)), []
    for _ in ("fit", "draw"):
        began = time.process_time()
        drawn = next(work)
        seconds.append(time.process_time() - began)
    drawn[list(codes)].astype("int16").to_csv(Path(folder, "drawn.csv"), index=False)
    Path(folder, "seconds.json").write_text(json.dumps(seconds), encoding="utf-8")


if __name__ == "__main__":
    main()
