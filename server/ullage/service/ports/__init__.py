"""The interfaces that the service needs and other packages fill. Tests fill each with an in-memory twin."""
