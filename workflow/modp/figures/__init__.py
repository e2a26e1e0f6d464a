"""Figures, each drawn from the run's own files by a function over arrays or data frames."""
