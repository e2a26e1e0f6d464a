"""Loss against epoch, a curve a model."""

import itertools

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from modp.figures import style
from modp.figures.given import Given

DASHES = ((1, 0), (4, 1.5), (1, 1), (3, 1, 1, 1))
LOSS_NAMES = {
    "mean_square": "mean square",
    "weighted_mean_square": "weighted mean square",
    "cross_entropy": "cross-entropy",
    "z": "z-loss",
    "discrepancy": "discrepancy of the chains",
}


def training_figure(given: Given) -> Figure:
    """Draw the given models' losses; frames: the history of each."""
    return draw(dict(zip(given.names, given.frames, strict=True)), f"{given.title}: training")


def draw(histories: dict[str, pd.DataFrame], title: str) -> Figure:
    """Draw the loss over all records after each epoch, a panel for each loss used.

    Parameters
    ----------
    histories : model -> its history, with columns loss_name, epoch and loss
    """
    style.use()
    history = pd.concat(histories, names=["model"]).reset_index("model")
    losses = list(dict.fromkeys(history["loss_name"]))
    colours = dict(zip(histories, sns.color_palette("colorblind", len(histories)), strict=True))
    dashes = dict(zip(histories, itertools.cycle(DASHES), strict=False))
    figure, axes = plt.subplots(
        1, len(losses), figsize=(1.7 * style.COLUMN_IN, 3.0), squeeze=False, layout="constrained"
    )
    for axis, loss in zip(axes[0], losses, strict=True):
        part = history[history["loss_name"] == loss]
        shown = [model for model in histories if model in set(part["model"])]
        sns.lineplot(
            part,
            x="epoch",
            y="loss",
            hue="model",
            style="model",
            hue_order=shown,
            dashes={model: dashes[model] for model in shown},
            palette={model: colours[model] for model in shown},
            errorbar=None,
            ax=axis,
        )
        axis.set(
            yscale="log",
            xlabel="sweep" if loss == "discrepancy" else "epoch of the stage",
            ylabel="loss over all records",
        )
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
        axis.set_title(LOSS_NAMES[loss], fontweight="normal")
        axis.legend(title=None, frameon=False)
    figure.suptitle(title, x=0.01, ha="left", fontweight="bold")
    return figure
