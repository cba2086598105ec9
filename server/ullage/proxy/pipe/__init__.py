"""Forwards lines between the client and the agent, byte for byte."""
