"""How a number is drawn inside its class."""

from typing import Literal

Inside = Literal["shape", "uniform", "public"]
"""From the class's smoothed shape, evenly between its limits, or from what a public table has there."""
