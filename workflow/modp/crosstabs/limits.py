"""What is counted of three questions at once; apart from the counting, so that others can say it."""

MOST = 2000
"""Triples of questions that are counted; a random sample of so many if there are more."""

FEWEST = 20
"""True records that a cell must have to be judged; smaller ones are mostly noise."""

FALSE_DISCOVERIES = 0.1
"""Expected share of the contrasts found that are chance."""
