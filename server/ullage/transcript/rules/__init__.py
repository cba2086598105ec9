"""Provider rules, one per file: what must not be parted when a transcript is cut."""
