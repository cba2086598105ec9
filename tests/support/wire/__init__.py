"""Providers on the loopback: servers that speak the wire formats of Anthropic Messages, OpenAI Chat Completions and
OpenAI Responses, judge every request, and fail as they are told."""
