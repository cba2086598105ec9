"""Counts tokens and tracks how full a context is: `counter.get_counter` gives a counter, and
`tracker.ContextTracker` tracks."""
