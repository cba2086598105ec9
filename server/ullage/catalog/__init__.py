"""Limits of known models."""
