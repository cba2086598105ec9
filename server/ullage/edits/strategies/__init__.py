"""Strategies: which whole messages leave the context, in what order. One strategy, one file; `chain` runs them."""
