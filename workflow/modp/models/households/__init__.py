"""Whole households: persons who belong together, and their household, in one distribution."""
