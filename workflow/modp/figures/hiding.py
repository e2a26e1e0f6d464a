"""How well the records hide: entropy, multiplicities and causal ranks (the paper's Figures 13 to 16)."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from modp.figures import style
from modp.figures.given import Given
from modp.measures.effective import effective_multiplicity
from modp.measures.ends import BOOTSTRAP

BITS_LIMIT, BITS_BINS = 25.0, 50
ALTERNATIVES_LIMIT = 1e7
MULTIPLICITY_LIMITS = 0.3, 700.0
JITTER = 0.5
GUIDES = (10, 1_000, 100_000)
EFFECTIVE_BINS = 50
RANK_LIMIT, RANK_SHARE = 1e5, 1e-3
NEAREST = (1, 10)


def entropy_figure(given: Given) -> Figure:
    """Draw the entropy of the given row's records; frames: how they hide."""
    (hidden,) = given.frames
    return entropy_histogram(hidden["entropy_bits"].to_numpy(), given.headed)


def multiplicities_figure(given: Given) -> Figure:
    """Draw both crowds of the given row's records; frames: how they hide."""
    (hidden,) = given.frames
    crowds = hidden["multiplicity"].to_numpy(), hidden["entropy_bits"].to_numpy()
    return two_multiplicities(*crowds, given.rng, given.headed)


def effective_multiplicity_figure(given: Given) -> Figure:
    """Draw the effective multiplicity of the given row's records; frames: how they hide."""
    (hidden,) = given.frames
    crowds = hidden["multiplicity"].to_numpy(), hidden["entropy_bits"].to_numpy()
    return effective_histogram(effective_multiplicity(*crowds), given.headed)


def causal_rank_figure(given: Given) -> Figure:
    """Draw the ranks of the given rows' causal partners; frames: the accuracy table, then how each hides."""
    table, *hidden = given.frames
    return causal_ranks(ranks(given.shown, hidden), records(table), given.title)


def ranks(names: Sequence[str], hidden: Sequence[pd.DataFrame]) -> dict[str, np.ndarray]:
    """Return name -> ranks of the records that were ranked, int64, of columns causal_rank."""
    known = [frame["causal_rank"].dropna().to_numpy(np.int64) for frame in hidden]
    return dict(zip(names, known, strict=True))


def records(table: pd.DataFrame) -> int:
    """Return the number of true records, which the bootstrap of the accuracy table has too."""
    return int(table.loc[table["model"] == BOOTSTRAP, "records"].iloc[0])


def entropy_histogram(bits: np.ndarray, title: str) -> Figure:
    """Draw how many bits of entropy the records were drawn with (Figure 13).

    0 to 25 bits in 50 bins; data beyond 25 get further bins of the same width.

    Parameters
    ----------
    bits : shape (n,); NaN is left out
    """
    bits = bits[np.isfinite(bits)]
    width = BITS_LIMIT / BITS_BINS
    bins = max(BITS_BINS, int(np.floor(bits.max(initial=0) / width)) + 1)
    figure, axis = _histogram(bits, width * np.arange(bins + 1), title)
    axis.set(xlabel="entropy of the record's draws, bits", ylabel=f"records per {width:g} bit")
    among = f": one of about {_rounded(2 ** np.median(bits))} alternatives" if len(bits) else ""
    style.note(axis, f"median {style.median(bits, '.1f')} bits{among}")
    return figure


def two_multiplicities(
    multiplicity: np.ndarray, bits: np.ndarray, rng: np.random.Generator, title: str
) -> Figure:
    """Draw the two crowds to hide in: identical true records and possible partners (Figure 14).

    Both axes are logarithmic, x from 1 to 10^7, y from 0.3 to 700, farther where the data reach
    farther. Multiplicities are broadened by ±0.5, so that small whole numbers show as bands. Of
    more than 20,000 records every tenth is drawn; the shares are of all records. Along each
    guide the effective multiplicity, the product of the two, is the same.

    Parameters
    ----------
    multiplicity, bits : shape (n,); records with NaN are left out
    rng : draws the broadening
    """
    figure, axis = style.single(title, 0.85)
    known = np.isfinite(bits)
    multiplicity, bits = multiplicity[known], bits[known]
    shown = style.thinned(np.column_stack([np.exp2(bits), multiplicity]))
    x, y = shown[:, 0], shown[:, 1] + rng.uniform(-JITTER, JITTER, len(shown))
    axis.set(xscale="log", yscale="log")
    axis.set_xlim(1, max(ALTERNATIVES_LIMIT, 2 * x.max(initial=0)))
    axis.set_ylim(MULTIPLICITY_LIMITS[0], max(MULTIPLICITY_LIMITS[1], 1.3 * y.max(initial=0)))
    _guides(axis)
    axis.plot(
        x,
        y,
        ".",
        color=style.CELLS,
        markersize=3,
        alpha=0.4,
        markeredgewidth=0,
        rasterized=True,
        gid="records",
    )
    if not len(x):
        style.absent(axis)
    axis.set_xlabel(r"alternatives to the synthetic record, $2^{\mathrm{bits}}$")
    axis.set_ylabel("true records identical to the true one (±0.5)")
    effective = np.log2(multiplicity) + bits
    shares = [f"{limit:,}: {style.share(effective < np.log2(limit))}" for limit in GUIDES[:2]]
    style.note(
        axis,
        f"{style.share(multiplicity == 1)} of the true records are unique; effective multiplicity\n"
        f"(the product of both, see the lines) below {', below '.join(shares)}",
    )
    return figure


def effective_histogram(log10_effective: np.ndarray, title: str) -> Figure:
    """Draw the effective multiplicity, multiplicity × 2^bits (Figure 15): 50 bins over the data's range.

    Parameters
    ----------
    log10_effective : shape (n,), decimal logarithms; NaN is left out
    """
    values = log10_effective[np.isfinite(log10_effective)]
    low, high = (values.min(), values.max()) if len(values) else (0.0, 1.0)
    if high - low < 1e-9:
        low, high = low - 0.5, high + 0.5
    figure, axis = _histogram(values, np.linspace(low, high, EFFECTIVE_BINS + 1), title)
    axis.set(
        xlabel=r"log10 of the effective multiplicity, multiplicity × $2^{\mathrm{bits}}$", ylabel="records"
    )
    below = [f"below {limit:,}: {style.share(values < np.log10(limit))}" for limit in GUIDES[:2]]
    style.note(axis, f"median $10^{{{style.median(values, '.1f')}}}$; {', '.join(below)}")
    return figure


def causal_ranks(ranks: Mapping[str, np.ndarray], n_true: int, title: str) -> Figure:
    """Draw how often the causal partner is among the x nearest true records (Figure 16).

    A curve for each table: the share of its synthetic records whose rank is at most x. Both axes
    are logarithmic, x from 1 to 10^5 (to ``n_true`` where that is less, to the largest rank
    where that is more), y from 10^-3 to 1. The guide is the rank of any record taken at random.

    Parameters
    ----------
    ranks : name -> ranks, each of any length
    n_true : number of true records
    """
    figure, axis = style.single(title, 0.85)
    largest = max((r.max(initial=1) for r in ranks.values()), default=1)
    upper = max(10, min(n_true, RANK_LIMIT), largest)
    for (name, values), line in zip(ranks.items(), style.lines(len(ranks)), strict=True):
        near = ", ".join(f"{style.share(values <= k)} at {k}" for k in NEAREST)
        label = f"{name}: {near}, median {style.median(values, ',.0f')}"
        axis.step(*_cumulative(values, upper), where="post", label=label, **line)
        for k in NEAREST:
            share = np.count_nonzero(values <= k) / max(len(values), 1)
            if share >= RANK_SHARE:
                axis.plot(k, share, "o", color=line["color"], markersize=4, clip_on=False)
    chance = np.array([1, max(n_true, 1)])
    axis.plot(chance, chance / chance[-1], color=style.GUIDE, linewidth=0.8, zorder=0, label="by chance")
    for k in NEAREST:
        axis.axvline(k, color="0.85", linewidth=0.8, zorder=0)
    axis.set(xscale="log", yscale="log", xlim=(1, upper), ylim=(RANK_SHARE, 1))
    axis.set_xlabel("true records as close or closer, x")
    axis.set_ylabel("share of synthetic records with at most x")
    figure.legend(loc="outside lower left", frameon=False, fontsize=8)
    sizes = {len(values) for values in ranks.values()}
    counted = " or ".join(f"{size:,}" for size in sorted(sizes)) or "no"
    style.note(axis, f"{counted} synthetic records against {n_true:,} true ones")
    return figure


def _histogram(values: np.ndarray, edges: np.ndarray, title: str) -> tuple[Figure, Axes]:
    figure, axis = style.single(title, 0.66)
    axis.stairs(np.histogram(values, edges)[0], edges, color=style.CELLS, linewidth=1.2)
    axis.set_xlim(edges[0], edges[-1])
    axis.set_ylim(bottom=0)
    if not len(values):
        style.absent(axis)
    return figure, axis


def _guides(axis: Axes) -> None:
    """Draw and name lines of equal effective multiplicity."""
    low = axis.get_ylim()[0]
    for limit in GUIDES:
        axis.plot([limit / low, limit / 1e9], [low, 1e9], color=style.GUIDE, linewidth=0.7, zorder=3)
        x = limit / (1.12 * low)
        axis.annotate(
            f"{limit:,}",
            (x, limit / x),
            xytext=(4, 0),
            textcoords="offset points",
            fontsize=7,
            color="0.25",
            zorder=4,
        )
    axis.xaxis.set_major_locator(LogLocator(numticks=10))
    axis.xaxis.set_minor_formatter(NullFormatter())


def _rounded(value: float) -> str:
    """Write a large number with two figures that count."""
    return f"{float(f'{value:.2g}'):,.0f}"


def _cumulative(values: np.ndarray, upper: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the corners of a cumulative distribution, which ends at ``upper``."""
    at, counts = np.unique(values, return_counts=True)
    share = np.cumsum(counts) / max(len(values), 1)
    return np.append(at, upper), np.append(share, share[-1:] if len(at) else np.nan)
