"""Plans: which ways of making room are tried, and what a compaction archives."""
