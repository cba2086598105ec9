"""Frozen values that all packages share. A value has no behaviour beyond what follows from its own fields."""
