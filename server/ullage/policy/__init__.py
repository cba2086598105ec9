"""When to act: budgets, thresholds and decisions, worked out from figures alone. Pure."""
