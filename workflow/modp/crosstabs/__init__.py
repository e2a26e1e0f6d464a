"""Counting: pairs and triples of answers, structural zeros."""
