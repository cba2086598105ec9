"""The parts of a session that are in its log and not in its context: search, recall, undo and restore, export."""
