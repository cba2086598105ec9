"""Installs what a release publishes on systems that have nothing else, as their users would."""
