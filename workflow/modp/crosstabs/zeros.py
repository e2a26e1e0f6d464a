"""Which pairs of answers are structural zeros, by the parameter ``zeros``."""

import numpy as np

from modp.base.errors import InputError
from modp.crosstabs.cells import likely_zeros, structural_zeros
from modp.crosstabs.pairs import crosstab
from modp.survey.records import Records


def zeros_of(kind: str, records: Records, counts: np.ndarray | None = None) -> np.ndarray:
    """Return the mask of the structural zeros, bool (K, K).

    Parameters
    ----------
    kind : ``sample`` for the cells that no true record is in, ``stated`` for those that the question set
        calls impossible, ``likely`` for the empty ones that it calls so, that are between questions of which
        one follows from the other, or that chance does not explain
    records : the true ones
    counts : their crosstab (K, K), where it has been counted before

    Raises
    ------
    InputError
        if ``kind`` is ``stated`` and true records are in cells that the question set calls impossible
    """
    counts, codebook = crosstab(records) if counts is None else counts, records.codebook
    if kind == "sample":
        return structural_zeros(counts, codebook.block_starts)
    if kind == "likely":
        known = codebook.stated_zeros | codebook.of_functions
        empty = structural_zeros(counts, codebook.block_starts)
        return (known & empty) | likely_zeros(counts, codebook.block_starts)
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
