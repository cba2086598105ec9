"""Summarizers: who writes a summary, and summaries written before they are needed."""
