"""Synthetic survey records by minus-one data prediction (W. H. Press)."""
