"""The model families that there are."""

import functools
import importlib

from modp.models.family import Family

FAMILIES = ("blades", "stationary", "private", "households", "private_households")
"""Each a room, or a module, of :mod:`modp.models` with a ``FAMILY``."""


@functools.cache
def family(name: str) -> Family:
    """Return the family called ``name``, one of FAMILIES."""
    found: Family = importlib.import_module(f"modp.models.{name}").FAMILY
    return found


def families() -> list[Family]:
    """Return all families."""
    return [family(name) for name in FAMILIES]
