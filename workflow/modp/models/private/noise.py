"""Where noise comes from: the operating system's entropy through OpenDP, or, for trials, a seed.

Counts and scores are whole numbers, and so is what is added to counts: no low-order bits of floating-point
numbers can give one away (Mironov, 2012). OpenDP samples the discrete Gaussian of Canonne, Kamath and Steinke
(2020) and Gumbel noise exactly, in integer arithmetic, from a generator made for cryptography; its own map of
each measurement, a second account of what it costs (in zero-concentrated differential privacy), is held
against the price paid.
"""

from fractions import Fraction
from typing import Protocol

import numpy as np
from opendp.domains import atom_domain, vector_domain
from opendp.measurements import make_gaussian, make_noisy_max
from opendp.measures import zero_concentrated_divergence
from opendp.metrics import l2_distance, linf_distance
from opendp.mod import disable_features, enable_features


class Noise(Protocol):
    """A source of noise."""

    def gaussian(self, counts: np.ndarray, sigma: float, sensitivity: float, rho: Fraction) -> np.ndarray:
        """Add to each count, int64, a whole number with probability ∝ exp(-x²/2σ²).

        Parameters
        ----------
        sensitivity : by how much, in L2, neighbours' counts differ at most
        rho : the price that σ was computed from
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
    """Noise that derives from a seed, rounded normal numbers: it hides nothing from who knows the seed."""

    def __init__(self, rng: np.random.Generator):
        self._rng = rng

    def gaussian(self, counts: np.ndarray, sigma: float, sensitivity: float, rho: Fraction) -> np.ndarray:
        """See :class:`Noise`."""
        return counts + np.rint(self._rng.normal(0.0, sigma, counts.shape)).astype(np.int64)

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


def _hold(cost: float, rho: Fraction) -> None:
    if not cost <= rho:
        raise ArithmeticError(f"OpenDP counts rho = {cost} for what {float(rho)} was paid for")
