"""PUMS files: where they are, how they are fetched, checked and read."""
