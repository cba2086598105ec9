"""Continues without the server of a store, in a copy on this machine, which is sent when the server is back."""
