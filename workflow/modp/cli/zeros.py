"""What counts as a structural zero, by the parameter ``zeros``."""

import argparse
from typing import get_args

import numpy as np

from modp.base.errors import InputError
from modp.crosstabs.pairs import crosstab, structural_zeros
from modp.pipeline.params import Zeros
from modp.survey.codebook import Codebook


def ask_for_zeros(parser: argparse.ArgumentParser) -> None:
    """Declare the option that :func:`zeros_of` takes."""
    parser.add_argument("--zeros", choices=get_args(Zeros), required=True, help="what counts as such")


def zeros_of(kind: str, codes: np.ndarray, codebook: Codebook) -> np.ndarray:
    """Return the mask of the structural zeros, bool (K, K).

    Parameters
    ----------
    kind : ``sample`` for the cells that no true record is in, ``stated`` for those that the question
        set calls impossible

    Raises
    ------
    InputError
        if true records are in cells that the question set calls impossible
    """
    counts = crosstab(codes, codebook.block_starts)
    if kind == "sample":
        return structural_zeros(counts, codebook.block_starts)
    if not codebook.impossible:
        raise InputError(
            f"'zeros: stated' needs rules, but the question set {codebook.question_set!r} has nothing under "
            "'impossible'"
        )
    broken = codebook.broken(counts)
    if broken:
        raise InputError(
            f"the records hold what the question set {codebook.question_set!r} calls impossible:\n  "
            + "\n  ".join(broken)
            + "\nTake these out of 'impossible' in the question set, or set 'zeros: sample' in params.yaml."
        )
    return codebook.stated_zeros
