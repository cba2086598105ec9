"""One module per command: `run(args)` runs the command and returns the exit status."""
