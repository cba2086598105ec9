"""Orchestration: sessions, compaction runs and listeners, over ports that the composition root fills."""
