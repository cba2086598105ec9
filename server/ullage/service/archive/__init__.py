"""What is in the log and not in the context: search, recall, undo, export."""
