"""What a summary holds, and the summarizer that needs no model. See README.md in this folder."""
