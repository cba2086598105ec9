"""Makes the documentation site of the documents that are in the repository."""
