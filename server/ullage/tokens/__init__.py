"""Counts tokens and tracks how full a context is. `registry.get_counter` gives a counter, `tracker.ContextTracker`
tracks."""
