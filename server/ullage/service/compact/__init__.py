"""Running compactions: automatic, by hand, to a budget."""
