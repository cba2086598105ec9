"""Who writes a summary, and how it is prepared ahead."""
