"""Goes on without the server of a store: a copy on this machine, which is sent when the server is back."""
