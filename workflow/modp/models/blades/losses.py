"""What a stage of training minimises."""

from collections.abc import Collection

import torch

Z_FLOOR = 1e-5
Z_PSEUDOCOUNT = 0.01

RARITY_OFFSET = 10.0
SPECIAL_FACTOR = 10.0
"""What the author's notebook multiplies the weights of hand-picked categories by."""


def mean_square(
    predictions: torch.Tensor, records: torch.Tensor, weights: torch.Tensor | None = None
) -> torch.Tensor:
    """Return the mean over all n x K cells of the squared error (the paper's first stage).

    ``weights``, shape (K,), multiply the categories' errors, as in the author's notebook.
    """
    squares = (predictions - records) ** 2
    return torch.mean(squares if weights is None else squares * weights)


def rarity_weights(counts: torch.Tensor, specials: Collection[int]) -> torch.Tensor:
    """Return the notebook's weights of the categories, shape (K,), their mean one.

    Parameters
    ----------
    counts : shape (K,), the records in each category
    specials : indices of categories that count ten times as much
    """
    weights = 1 / torch.sqrt(counts.double() + RARITY_OFFSET)
    weights[list(specials)] *= SPECIAL_FACTOR
    return weights / weights.mean()


def cross_entropy(predictions: torch.Tensor, records: torch.Tensor, blocks: torch.Tensor) -> torch.Tensor:
    """Return the mean over records and questions of -ln P(true answer).

    Parameters
    ----------
    predictions : (n, K), positive; a question's are scaled to sum to one, as they are for drawing
    records : (n, K), one-hot blocks
    blocks : (K, Q), one where the category belongs to the question
    """
    tiny = torch.finfo(predictions.dtype).tiny
    totals = (predictions @ blocks).clamp(min=tiny)
    chosen = ((predictions * records) @ blocks).clamp(min=tiny)
    return torch.mean(torch.log(totals) - torch.log(chosen))


def z_loss(
    predicted: torch.Tensor,
    true: torch.Tensor,
    n: int,
    between: torch.Tensor,
    floor: float = Z_FLOOR,
    pseudocount: float = Z_PSEUDOCOUNT,
) -> torch.Tensor:
    """Return the paper's ``zval_loss_function`` of two crosstabs.

    Parameters
    ----------
    predicted : (K, K), sum over records of the products of predictions
    true : (K, K), the true crosstab
    n : number of records in each
    between : (K, K), one between questions and zero within; cells within count as 0 in the mean
    floor : added to the variance
    pseudocount : added to both counts

    Returns
    -------
    scalar : mean over the K x K cells of z squared
    """
    p_true = (true + pseudocount) / n
    p_predicted = (predicted + pseudocount) / n
    pooled = (p_true + p_predicted) / 2
    variance = pooled * (1 - pooled) * (2 / n)
    return torch.mean((p_true - p_predicted) ** 2 / (variance + floor) * between)
