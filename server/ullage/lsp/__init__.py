"""The Language Server Protocol door. Ullage's own request engine serves every method; for `initialize`, pygls computes
the result."""
