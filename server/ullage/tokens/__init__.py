"""Counts tokens and tracks how full a context is: `counter_choice.get_counter` gives a counter, and
`tracker.ContextTracker` tracks."""
