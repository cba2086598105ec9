"""Reads transcripts that providers and benchmarks define, and Ullage's own export."""
