"""How wide a table is, and so how much more a fit and a draw have to do."""

WIDE = 40
"""Questions from which on a table is wide. Each answer hangs on more others then, so that chains need more
exchanges to forget where they began, the start more steps to come near, and the fit longer ones, of chains
that go on, to arrive."""


def wideness(questions: int) -> float:
    """Return how many times as many questions as that a table has from which on it is wide, at least 1."""
    return max(1.0, questions / WIDE)
