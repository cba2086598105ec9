"""A team's archive: redacted copies of the sessions of chosen folders, for others to search."""
