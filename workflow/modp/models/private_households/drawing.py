"""The one set of households of a private model."""

import numpy as np

from modp.models.family import Work
from modp.models.private_households.fitting import Released
from modp.models.private_households.recipe import PrivateHouseholdsRow
from modp.survey.households import Households


def draw(
    model: Released, _: Households, __: PrivateHouseholdsRow, ___: Work
) -> tuple[Households, np.ma.MaskedArray]:
    """Return the households that the fit released; no true one is the start of any."""
    return model.households, np.ma.masked_all(len(model.households), np.int64)
