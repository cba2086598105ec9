"""One command a file: `run(args)` does it and returns the exit status."""
