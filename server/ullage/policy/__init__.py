"""When to act: thresholds, budgets, decisions. Pure."""
