"""The Language Server door, on pygls."""
