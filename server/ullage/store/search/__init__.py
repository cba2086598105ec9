"""The search for messages, on an index of words of either database."""
