"""The commands and their arguments. Fast to import: the commands themselves are in `commands/<name>.py`."""
