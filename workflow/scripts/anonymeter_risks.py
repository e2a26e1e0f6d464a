"""Measure the three risks of Anonymeter, in an environment of its own: it pins old libraries.

Giomi, Boenisch, Wehmeyer and Tasnádi, "A unified framework for quantifying privacy risk in synthetic
data" (2023): singling out, linkability and inference, each as the success of an attack with the
synthetic table beyond that of the same attack on people who were held out. Writes JSON: risk and the
ends of its 95% interval for each.
"""

import argparse
import json
import random
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from anonymeter.evaluators import InferenceEvaluator, LinkabilityEvaluator, SinglingOutEvaluator

Evaluator = InferenceEvaluator | LinkabilityEvaluator | SinglingOutEvaluator


def table(path: Path, questions: list[str]) -> pd.DataFrame:
    """Return the questions' answers as text."""
    return pd.read_parquet(path, columns=questions).astype(str)


def result(evaluator: Evaluator) -> dict[str, float]:
    """Return a risk with its 95% interval."""
    risk = evaluator.risk(confidence_level=0.95)
    return {"risk": float(risk.value), "low": float(risk.ci[0]), "high": float(risk.ci[1])}


def main() -> None:
    """Attack, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=Path, required=True)
    parser.add_argument("--holdout", type=Path, required=True)
    parser.add_argument("--synthetic", type=Path, required=True)
    parser.add_argument("--secret", required=True, help="the question whose answer is inferred")
    parser.add_argument("--attacks", type=int, default=500)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    random.seed(options.seed)
    np.random.seed(options.seed % 2**32)  # noqa: NPY002, what Anonymeter draws from

    questions = list(pd.read_parquet(options.holdout).columns)
    true, holdout, synthetic = (
        table(path, questions) for path in (options.records, options.holdout, options.synthetic)
    )
    secret = options.secret if options.secret in questions else questions[-1]
    others = [name for name in questions if name != secret]
    attacks = min(options.attacks, len(holdout), len(synthetic))
    halves = others[::2], others[1::2]
    # Whether a description fits one record alone depends on how many there are. Anonymeter's correction for
    # unequal tables finds a risk even in independent answers, so both get the same number.
    same = min(len(true), len(holdout))
    some, control = (frame.sample(same, random_state=options.seed % 2**32) for frame in (true, holdout))
    risks = {
        "singling_out": result(
            SinglingOutEvaluator(
                some, synthetic, n_attacks=attacks, n_cols=4, control=control, seed=options.seed
            ).evaluate(mode="multivariate")
        ),
        "linkability": result(
            LinkabilityEvaluator(
                true, synthetic, aux_cols=halves, n_attacks=attacks, n_neighbors=10, control=holdout
            ).evaluate(n_jobs=1)
        ),
        "inference": result(
            InferenceEvaluator(
                true, synthetic, aux_cols=others, secret=secret, n_attacks=attacks, control=holdout
            ).evaluate(n_jobs=1)
        ),
        "secret": secret,
        "attacks": attacks,
    }
    temporary = options.out.with_suffix(".part")
    temporary.write_text(json.dumps(risks, indent=1) + "\n", encoding="utf-8")
    temporary.replace(options.out)


if __name__ == "__main__":
    main()
