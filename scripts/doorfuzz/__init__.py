"""Malformed, truncated, oversized, deeply nested, wrong-typed and out-of-order frames at both doors."""
