"""The command line, `ullage`."""
