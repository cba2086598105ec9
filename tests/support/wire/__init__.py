"""Providers on the loopback: servers that speak the wire formats of Anthropic Messages, OpenAI Chat Completions and
OpenAI Responses, check every request, and fail on demand."""
