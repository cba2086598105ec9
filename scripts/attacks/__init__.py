"""Attacks on stores, doors, providers and folders, each bounded in time, memory and number."""
