"""The stationary model with a formal guarantee."""
