"""What a stage of training minimises."""

import torch

Z_FLOOR = 1e-5
Z_PSEUDOCOUNT = 0.01


def mean_square(predictions: torch.Tensor, records: torch.Tensor) -> torch.Tensor:
    """Return the mean over all n x K cells of the squared error (the paper's first stage)."""
    return torch.mean((predictions - records) ** 2)


def z_loss(predicted: torch.Tensor, true: torch.Tensor, n: int, between: torch.Tensor) -> torch.Tensor:
    """Return the paper's ``zval_loss_function`` of two crosstabs.

    Parameters
    ----------
    predicted : (K, K), sum over records of the products of predictions
    true : (K, K), the true crosstab
    n : number of records in each
    between : (K, K), one between questions and zero within; cells within count as 0 in the mean

    Returns
    -------
    scalar : mean over the K x K cells of z squared, with pseudocount 0.01 and variance floor 1e-5
    """
    p_true = (true + Z_PSEUDOCOUNT) / n
    p_predicted = (predicted + Z_PSEUDOCOUNT) / n
    pooled = (p_true + p_predicted) / 2
    variance = pooled * (1 - pooled) * (2 / n)
    return torch.mean((p_true - p_predicted) ** 2 / (variance + Z_FLOOR) * between)
