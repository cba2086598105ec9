"""Counting tokens and knowing how full a context is. `registry.get_counter` counts, `tracker.ContextTracker` knows."""
