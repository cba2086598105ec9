"""Builds and checks what a release publishes, each channel from the one version and description of `pyproject.toml`."""
