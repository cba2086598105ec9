"""How to shrink: each file makes one kind of edit from a view and its counts. Pure."""
