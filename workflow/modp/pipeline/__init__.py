"""Parameters, and what Snakemake and DVC need to be told."""
