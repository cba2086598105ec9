"""Measurements of Ullage. Each module has `run(paths)`, which returns a `Report`."""
