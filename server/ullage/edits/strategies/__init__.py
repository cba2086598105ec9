"""Strategies: which whole messages leave the context, and in what order. One strategy, one file; `chain` runs them."""
