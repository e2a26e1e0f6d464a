"""How near to its people each part of a scattered data set is: states as tiles of a map, others as dots."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from modp.figures import style
from modp.figures.given import Given
from modp.measures.table import RATIO, of_population

ROWS = (
    "ak .. .. .. .. .. .. .. .. .. .. me",
    ".. .. .. .. .. .. .. .. .. vt nh ..",
    ".. wa id mt nd mn wi mi .. ny ma ri",
    ".. or nv wy sd ia il in oh pa nj ct",
    ".. ca ut co ne mo ky wv va md de ..",
    ".. .. az nm ks ar tn nc sc dc .. ..",
    ".. .. .. .. ok la ms al ga .. .. ..",
    "hi .. .. .. tx .. .. .. .. fl .. pr",
)
TILES = {
    state: (x, y) for y, line in enumerate(ROWS) for x, state in enumerate(line.split()) if state != ".."
}
"""Where each state's tile is: column from the left, row from above."""

NAMED = 60
"""Parts that get a line and a name each; of more, only the distribution is seen."""


def parts_figure(given: Given) -> Figure:
    """Draw a panel a row of the accuracy table; frames: the table of parts."""
    (table,) = given.frames
    near, said = of_population().name, "distance from people held out, × the true records' own"
    if not table.get(near, pd.Series(dtype=float)).notna().any():
        near, said = f"{RATIO}median", "median |ln ratio|, × a bootstrap resample's"
    some = [table[(table["row"] == name) & (table["part"] != "")] for name in given.names]
    mapped = set(some[0]["part"]) <= set(TILES)
    style.use()
    height = 0.74 if mapped else max(0.5, 0.035 * min(len(some[0]), NAMED) + 0.2)
    size = (1.25 * style.COLUMN_IN, (0.2 + height * len(some)) * style.COLUMN_IN)
    figure, axes = plt.subplots(len(some), figsize=size, layout="constrained", squeeze=False)
    values = pd.concat(some)[near].dropna().to_numpy(float)
    scale = Normalize(*((values.min(), values.max()) if len(values) else (0, 1)))
    for axis, name, lines in zip(axes[:, 0], given.shown, some, strict=True):
        national = table.loc[(table["row"] == name.replace(", ", "/")) & (table["part"] == ""), near]
        draw = _map if mapped else _dots
        draw(axis, lines["part"].tolist(), lines[near].to_numpy(float), scale)
        together = f"; all together {national.iloc[0]:.2f}" if national.notna().any() else ""
        style.note(axis, f"{name}{together}")
    if mapped:
        bar = figure.colorbar(ScalarMappable(scale, "cividis"), ax=axes[:, 0], location="bottom", aspect=40)
        bar.set_label(said)
        bar.outline.set_visible(False)
    else:
        axes[-1, 0].set_xlabel(said)
    style.head(figure, f"{given.title}\nfidelity by part")
    return figure


def _map(axis: Axes, parts: Sequence[str], values: np.ndarray, scale: Normalize) -> None:
    """Tiles of all states, coloured where there is a value."""
    found = dict(zip(parts, values, strict=True))
    for state, (x, y) in TILES.items():
        value = found.get(state, np.nan)
        known = np.isfinite(value)
        colour = plt.get_cmap("cividis")(scale(value)) if known else "0.94"
        axis.add_patch(plt.Rectangle((x - 0.47, y - 0.47), 0.94, 0.94, facecolor=colour, linewidth=0))
        dark = known and scale(value) < 0.55
        ink = "white" if dark else "black" if known else "0.6"
        axis.text(x, y - 0.12, state.upper(), color=ink, ha="center", va="center", fontsize=8)
        if known:
            axis.text(x, y + 0.24, f"{value:.2f}", color=ink, ha="center", va="center", fontsize=6.5)
    axis.set_xlim(-0.6, len(ROWS[0].split()) - 0.4)
    axis.set_ylim(len(ROWS) - 0.4, -0.6)
    axis.set_aspect("equal")
    axis.axis("off")


def _dots(axis: Axes, parts: Sequence[str], values: np.ndarray, _: Normalize) -> None:
    """A dot a part, the nearest above."""
    order = np.argsort(values, kind="stable")
    at = np.arange(len(order))
    axis.axvline(1, color=style.GUIDE, linewidth=0.9, zorder=0)
    axis.plot(values[order], at, "o", color=style.CELLS, markersize=4 if len(at) <= NAMED else 1.5)
    axis.invert_yaxis()
    if len(at) <= NAMED:
        axis.set_yticks(at, [parts[place] for place in order], fontsize=7)
    else:
        axis.set_ylabel(f"{len(at):,} parts, the nearest first")
