"""Limits and prices of known models."""
