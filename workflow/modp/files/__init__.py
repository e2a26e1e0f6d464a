"""Everybody's tables: what a file is, what becomes of its columns, and how it is written back."""
