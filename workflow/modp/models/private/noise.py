"""Where noise comes from: the operating system's entropy through OpenDP, or, for trials, a seed.

Counts and scores are whole numbers, and so is what is added to counts: no low-order bits of floating-point
numbers can give one away (Mironov, 2012). OpenDP samples the discrete Gaussian of Canonne, Kamath and Steinke
(2020) and Gumbel noise exactly, in integer arithmetic, from a generator made for cryptography; its own map of
each measurement, a second account of what it costs, is held against the price paid.
"""

import math
from fractions import Fraction
from typing import Protocol

import numpy as np
from opendp.domains import atom_domain, vector_domain
from opendp.measurements import make_gaussian, make_noisy_max
from opendp.measures import zero_concentrated_divergence
from opendp.metrics import l2_distance, linf_distance
from opendp.mod import disable_features, enable_features

TAIL = 10.0
"""Standard deviations beyond which seeded noise is not drawn: a probability of 2e-23."""

WIDE = 1000.0
"""Of seeded noise, the standard deviation from which on it is a rounded normal number."""


class Noise(Protocol):
    """A source of noise."""

    def gaussian(self, counts: np.ndarray, sigma: float, sensitivity: float, rho: Fraction) -> np.ndarray:
        """Add to each count, int64, a whole number with probability ∝ exp(-x²/2σ²).

        Parameters
        ----------
        sensitivity : by how much, in L2, neighbours' counts differ at most
        rho : the price, in zCDP, that σ was computed from
        """
        ...

    def highest(self, scores: np.ndarray, scale: float, sensitivity: int, rho: Fraction) -> int:
        """Return the index of the highest score, int64, once Gumbel noise of this scale is added to each.

        Parameters
        ----------
        sensitivity : by how much any score of neighbours differs at most
        """
        ...


class Seeded:
    """Noise that derives from a seed, in floating-point numbers: it hides nothing from who knows the seed."""

    def __init__(self, rng: np.random.Generator):
        self._rng = rng

    def gaussian(self, counts: np.ndarray, sigma: float, sensitivity: float, rho: Fraction) -> np.ndarray:
        """See :class:`Noise`."""
        return counts + discrete_gaussian(sigma, counts.shape, self._rng)

    def highest(self, scores: np.ndarray, scale: float, sensitivity: int, rho: Fraction) -> int:
        """See :class:`Noise`."""
        return int(np.argmax(scores + scale * self._rng.gumbel(size=len(scores))))


class Secret:
    """OpenDP's exact samplers, on the operating system's entropy."""

    def gaussian(self, counts: np.ndarray, sigma: float, sensitivity: float, rho: Fraction) -> np.ndarray:
        """See :class:`Noise`; raise ArithmeticError if OpenDP finds that this costs more than ρ."""
        domain = vector_domain(atom_domain(T="i64"))
        with contributed():
            measurement = make_gaussian(domain, l2_distance(T="f64"), scale=sigma)
            _hold(measurement.map(sensitivity), rho)
            return np.array(measurement(counts.ravel().tolist()), np.int64).reshape(counts.shape)

    def highest(self, scores: np.ndarray, scale: float, sensitivity: int, rho: Fraction) -> int:
        """See :class:`Noise`; raise ArithmeticError if OpenDP finds that this costs more than ρ."""
        domain = vector_domain(atom_domain(T="i64"))
        with contributed():
            measurement = make_noisy_max(
                domain, linf_distance(T="i64"), zero_concentrated_divergence(), scale=scale
            )
            _hold(measurement.map(sensitivity), rho)
            return int(measurement(scores.tolist()))


class contributed:  # noqa: N801
    """Allows OpenDP's contributed components for a moment."""

    def __enter__(self) -> None:
        enable_features("contrib")

    def __exit__(self, *_: object) -> None:
        disable_features("contrib")


def discrete_gaussian(sigma: float, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Draw whole numbers with probability ∝ exp(-x²/2σ²), up to rounding: int64 of the given shape.

    From σ = ``WIDE`` on these are rounded normal numbers, which are not told apart from it, and of which no
    table is needed.
    """
    if sigma >= WIDE:
        return np.rint(rng.normal(0.0, sigma, shape)).astype(np.int64)
    reach = math.ceil(TAIL * sigma) + 1
    support = np.arange(-reach, reach + 1)
    cumulative = np.cumsum(np.exp(-(support**2) / (2 * sigma**2)))
    at = np.searchsorted(cumulative, rng.random(shape) * cumulative[-1], side="right")
    return support[np.minimum(at, len(support) - 1)]


def _hold(cost: float, rho: Fraction) -> None:
    if not cost <= rho:
        raise ArithmeticError(f"OpenDP counts rho = {cost} for what {float(rho)} was paid for")
