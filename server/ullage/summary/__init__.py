"""What a compaction leaves in place of old messages: pages of the ledger, by code alone or below a model's words."""
