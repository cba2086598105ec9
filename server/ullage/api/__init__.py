"""Ullage's own methods: one table that the Language Server and the ACP agent read."""
