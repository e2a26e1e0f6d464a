"""The paper's models: non-self-predicting blades combined by a gate."""
