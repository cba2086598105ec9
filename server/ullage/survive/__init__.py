"""What a compaction leaves an agent able to do: replays recorded actions against what was carried over."""
