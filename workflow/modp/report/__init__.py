"""What a run is shown as: one page for a browser, and a card for each model."""
