"""For programs that run their own agent: the context engine as plain, synchronous objects."""
