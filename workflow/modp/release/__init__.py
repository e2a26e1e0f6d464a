"""A release: synthetic records in the form of the file that the true ones came from, and nothing else."""
