"""What an agent's last compaction left out: found among all that was said before it, and given back as a brief."""
