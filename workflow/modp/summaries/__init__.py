"""Tables and metrics made of measures."""
