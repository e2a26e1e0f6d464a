"""The one table of a private model."""

from collections.abc import Sequence

import numpy as np

from modp.models.family import Drawn, Row, Work
from modp.models.private.fitting import Released
from modp.survey.records import Records


def draw(model: Released, _: Records, row: Row, work: Work, drawn: Sequence[Drawn] = ()) -> Drawn:
    """Return the table that the fit released, which no true record is the start of."""
    none = np.ma.masked_all(len(model.codes), np.int64)
    return Drawn(model.codes, none, np.ma.array(model.entropy_bits))
