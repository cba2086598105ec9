"""Asking a provider."""
