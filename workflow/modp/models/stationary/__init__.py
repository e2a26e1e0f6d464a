"""The stationary model: one distribution whose crosstabs are the true ones."""
