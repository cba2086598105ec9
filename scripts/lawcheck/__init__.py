"""The laws of shrinking, held against every edit on random histories. `./scripts/laws` runs it."""
