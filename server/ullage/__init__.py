"""Ullage: knows how full a model's context is, warns in time, and compacts it without losing a message."""

__version__ = "0.1.0"
