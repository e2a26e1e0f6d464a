"""The names of the two ends between which every synthetic table lies."""

BOOTSTRAP = "bootstrap"
"""A resample of the true records: the ideal of fidelity."""

MARGINALS = "marginals"
"""Records of independent answers: as little as a table can tell of anybody."""
