"""What a summary holds, and the summariser that needs no model."""
