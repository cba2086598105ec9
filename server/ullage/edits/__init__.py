"""How to shrink a context: each file makes one kind of edit from a counted view. Pure."""
