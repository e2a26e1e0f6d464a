"""How faithful, how useful and how private synthetic records are."""
