"""Ullage's own methods: one table that both doors read."""
