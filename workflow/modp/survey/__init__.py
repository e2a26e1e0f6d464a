"""Question sets, coding, codebooks, coded records, the holdout."""
