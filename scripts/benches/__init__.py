"""Measurements of Ullage, each a module with `run(paths)` that returns a `Report`."""
