"""The names of the ends between which every synthetic table lies, and of those whom it is compared with."""

BOOTSTRAP = "bootstrap"
"""A resample of the true records: the ideal of fidelity."""

MARGINALS = "marginals"
"""Records of independent answers: as little as a table can tell of anybody."""

SAMPLE = "sample"
"""The true records themselves, where they are measured as a synthetic table is."""

HELD_OUT = "held out"
"""People who were in no fit, where the same is estimated of them."""
