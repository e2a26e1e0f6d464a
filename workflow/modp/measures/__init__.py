"""How faithful and how private synthetic records are."""
