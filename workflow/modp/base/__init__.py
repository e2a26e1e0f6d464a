"""What everything stands on: strict configuration, errors, seeds, devices, checkpoints, compiled loops."""
