"""The Language Server Protocol door. Requests run on our own engine; pygls answers `initialize`."""
