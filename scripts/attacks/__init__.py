"""Attacks on stores, doors, settings and folders, each bounded in time, memory and number."""
