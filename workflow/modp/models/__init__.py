"""Model families, one room, or file, each."""
