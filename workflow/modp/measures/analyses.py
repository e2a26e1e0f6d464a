"""Regressions as analysts run them, of several tables alike: coefficients with their standard errors."""

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import statsmodels.api as sm
from formulaic import Formula, ModelMatrices, model_matrix
from formulaic.errors import FormulaicError
from statsmodels.tools.sm_exceptions import (
    ConvergenceWarning,
    IterationLimitWarning,
    PerfectSeparationError,
    PerfectSeparationWarning,
)

from modp.base.errors import InputError
from modp.measures.formulas import COLUMNS, Analysis

ROBUST = "HC1"
"""Standard errors that are right also where the spread is not the same everywhere (White, 1980)."""

WHOLE = re.compile(r"(\[(?:T\.)?-?\d+)\.0\]")
"""A category that is a whole number, as a term names it."""

ITERATIONS = 200
FEWEST_A_TERM = 5
"""Records for each coefficient; with fewer nothing is estimated."""

FAILED = (ConvergenceWarning, IterationLimitWarning, PerfectSeparationWarning)
NOT_FOUND = "no estimate was found: the answer follows from the others, or the search for it did not end"
SINGULAR = "its terms say the same twice among these records"
FEW = "there are too few records"
NOBODY = "no record has it"


@dataclass(frozen=True)
class Fit:
    """Estimates of k terms and their standard errors, (k,), NaN where there is none, and why: k sentences."""

    estimates: np.ndarray
    errors: np.ndarray
    said: Sequence[str]


def estimated(analysis: Analysis, tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return an analysis of every table, with the same terms.

    Parameters
    ----------
    tables : name -> records, with the questions as columns, as :func:`modp.measures.frames.frames` makes them

    Returns
    -------
    a line a term and table, and quantile where there are such: ``analysis``, ``model`` (``ols``,
    ``quantile 0.5``), ``term``, ``row`` (the table), ``records`` (that have all the answers), ``estimate``,
    ``error`` and ``said``, why they are NaN. Standard errors are robust: HC1, of quantiles by kernels.

    Raises
    ------
    InputError
        if the formula or the subset cannot be read or computed, or the answer is none for such a model
    """
    chosen = {name: _subset(analysis, table) for name, table in tables.items()}
    y, x, starts = _matrices(analysis, list(chosen.values()))
    _require_answers(analysis, y)
    parts = []
    for at, name in enumerate(chosen):
        own = slice(starts[at], starts[at + 1])
        for model, fit in _fitted(analysis, y[own], x.to_numpy(float)[own]):
            numbers = {"estimate": fit.estimates, "error": fit.errors, "said": list(fit.said)}
            known = {
                "analysis": analysis.name,
                "model": model,
                "term": [WHOLE.sub(r"\1]", term) for term in x.columns],
                "row": name,
            }
            parts.append(pd.DataFrame({**known, "records": starts[at + 1] - starts[at], **numbers}))
    return pd.concat(parts, ignore_index=True)[list(COLUMNS)]


def _subset(analysis: Analysis, table: pd.DataFrame) -> pd.DataFrame:
    if analysis.subset is None:
        return table
    try:
        return table.query(analysis.subset, engine="python")
    except Exception as fault:  # whatever Python raises that evaluates a person's words
        raise InputError(f"analyses: {analysis.name}: subset {analysis.subset!r}: {fault}") from None


def _matrices(
    analysis: Analysis, tables: Sequence[pd.DataFrame]
) -> tuple[np.ndarray, pd.DataFrame, np.ndarray]:
    """The answer (n,) and the terms (n, k) of all tables one below the other, and where each begins.

    So that categories are the same; records that lack an answer, or where one is not finite, are left out.
    """
    together = pd.concat(tables, ignore_index=True)
    ends = np.cumsum([len(table) for table in tables])
    try:
        with np.errstate(all="ignore"):
            made = model_matrix(Formula(analysis.formula), together, na_action="drop", context={})
    except FormulaicError as fault:
        raise InputError(f"analyses: {analysis.name}: {analysis.formula!r}: {_plain(fault)}") from None
    assert isinstance(made, ModelMatrices)
    left, right = pd.DataFrame(made.lhs), pd.DataFrame(made.rhs)
    if left.shape[1] != 1:
        raise InputError(
            f"analyses: {analysis.name}: what stands before ~ is of categories; say which, as in "
            "{HICOV == 1} ~ …"
        )
    numbers = np.column_stack([left.to_numpy(float), right.to_numpy(float)])
    finite = np.isfinite(numbers).all(axis=1)
    rows = right.index.to_numpy()[finite]
    return numbers[finite, 0], right[finite], np.concatenate([[0], np.searchsorted(rows, ends)])


def _plain(fault: Exception) -> str:
    """An error's words without colours, in one line."""
    return " ".join(str(fault).replace("\x1b[1;31m", "").replace("\x1b[0m", "").split())


def _require_answers(analysis: Analysis, y: np.ndarray) -> None:
    if analysis.model == "logit" and not np.isin(y, (0, 1)).all():
        raise InputError(f"analyses: {analysis.name}: a logit is of 0 and 1, as in {{HICOV == 1}} ~ …")
    if analysis.model == "poisson" and np.any(y < 0):
        raise InputError(f"analyses: {analysis.name}: a Poisson model is of counts, and some are below zero")


def _fitted(analysis: Analysis, y: np.ndarray, x: np.ndarray) -> Iterator[tuple[str, Fit]]:
    """Each model of an analysis, by its name."""
    if analysis.model == "quantile":
        for share in analysis.quantiles:
            yield f"quantile {share:g}", fit(y, x, "quantile", share)
    else:
        yield analysis.model, fit(y, x, analysis.model)


def fit(y: np.ndarray, x: np.ndarray, model: str, quantile: float = 0.5) -> Fit:
    """Regress an answer (n,) on terms (n, k).

    A term that no record has is left out, and has no estimate; where the others say the same twice, or the
    search for estimates does not end well, none has one.
    """
    there = np.any(x != 0, axis=0)
    said = np.where(there, "", NOBODY).astype(object)
    estimates, errors = np.full((2, x.shape[1]), np.nan)
    some = x[:, there]
    if len(y) < FEWEST_A_TERM * max(some.shape[1], 1):
        said[there] = FEW
    elif np.linalg.matrix_rank(some / np.linalg.norm(some, axis=0)) < some.shape[1]:
        said[there] = SINGULAR
    else:
        found = _search(y, some, model, quantile)
        if found is None or not np.isfinite(found).all():
            said[there] = NOT_FOUND
        else:
            estimates[there], errors[there] = found
    return Fit(estimates, errors, said.tolist())


def _search(y: np.ndarray, x: np.ndarray, model: str, quantile: float) -> np.ndarray | None:
    """Estimates and standard errors, (2, k); None where none are found."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for kind in FAILED:
            warnings.simplefilter("error", kind)
        try:
            if model == "ols":
                found = sm.OLS(y, x).fit(cov_type=ROBUST)
            elif model == "logit":
                found = sm.Logit(y, x).fit(cov_type=ROBUST, disp=False, maxiter=ITERATIONS)
            elif model == "poisson":
                family = sm.families.Poisson()
                found = sm.GLM(y, x, family=family).fit(cov_type=ROBUST, maxiter=ITERATIONS)
            else:
                found = sm.QuantReg(y, x).fit(q=quantile, max_iter=5 * ITERATIONS)
        except (*FAILED, PerfectSeparationError, np.linalg.LinAlgError, ValueError):
            return None
    return np.stack([found.params, found.bse])
