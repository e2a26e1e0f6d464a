"""Drawing records, and what is done to drawn ones."""
