"""What passes by, recorded as a session."""
