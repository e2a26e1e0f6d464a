"""Synthetic survey records by minus-one data prediction (W. H. Press).

What programs use is here, and loaded only when it is used: records, models that are fitted to them and
sampled, and the comparison of synthetic records with true ones. ``docs/python.md`` shows how.
"""

TYPE_CHECKING = False  # which type checkers take for true; to import it would take longer than all the rest

if TYPE_CHECKING:
    from modp.face import Blades, Private, Records, Stationary, Synthesizer, compare, pool
    from modp.households import (
        HouseholdModel,
        Households,
        PrivateHouseholds,
        compare_households,
        household_privacy,
    )

__all__ = [
    "Blades",
    "HouseholdModel",
    "Households",
    "Private",
    "PrivateHouseholds",
    "Records",
    "Stationary",
    "Synthesizer",
    "compare",
    "compare_households",
    "household_privacy",
    "pool",
]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    home = "modp.households" if "ousehold" in name else "modp.face"
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
