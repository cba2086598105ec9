"""Sends malformed, truncated, oversized, deeply nested, wrong-typed and out-of-order frames to both doors."""
