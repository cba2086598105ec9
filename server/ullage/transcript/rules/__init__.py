"""Provider rules, one per file: which messages must stay together when a transcript is cut."""
