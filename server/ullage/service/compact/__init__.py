"""Making room: automatically, by hand, to a budget."""
