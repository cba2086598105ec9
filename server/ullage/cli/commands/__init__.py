"""One command per file: `run(args)` carries it out and returns the exit status."""
