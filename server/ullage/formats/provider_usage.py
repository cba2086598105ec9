"""Converts a provider's usage into the meaning of Anthropic's fields.

Anthropic's `input_tokens` exclude the tokens that the cache served or stored; OpenAI's `prompt_tokens` and
`input_tokens` include them. So the size of the whole prompt can only be computed if the kind of usage is known.
"""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from ullage.formats.parsing import as_count
from ullage.model.errors import InvalidRequest
from ullage.model.json_values import as_object
from ullage.model.usage import Pass, Usage
from ullage.model.usage_report import billed_passes, cache_writes, filling_pass

# The fields of which a usage has at least one. Anthropic's and OpenAI's Responses have the first two.
USAGE_FIELDS = ("input_tokens", "output_tokens", "prompt_tokens", "completion_tokens")


def read_usage(given: Any) -> Usage:
    """Returns a usage that a program reports. Raises `InvalidRequest` if no field of a provider has a number."""
    fields = as_object(given)
    if not any(as_count(fields.get(name)) or fields.get(name) == 0 for name in USAGE_FIELDS):
        raise InvalidRequest(
            f"the usage is {given!r:.60}; give the answer's `usage` as the provider has it, with fields such as "
            f"{', '.join(USAGE_FIELDS[:2])} or {', '.join(USAGE_FIELDS[2:4])}"
        )
    return convert_usage(fields)


def convert_usage(raw: Mapping[str, Any]) -> Usage:
    """Converts a provider's usage object to `Usage`, the counts of the request that filled the window. Missing or
    invalid fields count as 0.

    The kind is recognised by the fields. OpenAI's chat (`prompt_tokens`), OpenAI's Responses (`input_tokens_details`)
    and Codex (`cached_input_tokens`) include the cache in the input. Any other usage is read as Anthropic's.
    """
    usage, reasoning = _convert(raw), _reasoning(raw)
    return replace(usage, reasoning_tokens=min(reasoning, usage.output_tokens)) if reasoning else usage


def _convert(raw: Mapping[str, Any]) -> Usage:
    if "prompt_tokens" in raw:
        return _convert_chat(raw)
    details = as_object(raw.get("input_tokens_details"))
    if "input_tokens_details" in raw or "cached_input_tokens" in raw:
        cached = as_count(details.get("cached_tokens")) or as_count(raw.get("cached_input_tokens"))
        return exclude_cache(as_count(raw.get("input_tokens")), as_count(raw.get("output_tokens")), cached)
    return _counts(filling_pass(raw))


def convert_passes(raw: Mapping[str, Any]) -> tuple[Pass, ...]:
    """Returns the passes of an answer in Anthropic's form that are paid for, where the usage lists them."""
    return tuple(Pass(usage=_counts(one), model=model) for model, one in billed_passes(raw))


def _counts(raw: Mapping[str, Any]) -> Usage:
    written, for_an_hour = cache_writes(raw)
    return Usage(
        input_tokens=as_count(raw.get("input_tokens")),
        output_tokens=as_count(raw.get("output_tokens")),
        cache_read_input_tokens=as_count(raw.get("cache_read_input_tokens")),
        cache_creation_input_tokens=written,
        cache_creation_1h_input_tokens=for_an_hour,
    )


def exclude_cache(prompt: int, output: int, cache_read: int, cache_creation: int = 0) -> Usage:
    """Returns a usage for a request of `prompt` tokens, of which `cache_read` came from the cache and `cache_creation`
    were written to it."""
    cache_read = min(cache_read, prompt)
    cache_creation = min(cache_creation, prompt - cache_read)
    return Usage(
        input_tokens=prompt - cache_read - cache_creation,
        output_tokens=output,
        cache_read_input_tokens=cache_read,
        cache_creation_input_tokens=cache_creation,
    )


def _reasoning(raw: Mapping[str, Any]) -> int:
    """Returns the reasoning tokens, or 0 if the usage has none.

    OpenAI's two APIs and Codex each have a field for them; Anthropic has none.
    """
    details = as_object(raw.get("completion_tokens_details")) or as_object(raw.get("output_tokens_details"))
    return as_count(details.get("reasoning_tokens")) or as_count(raw.get("reasoning_output_tokens"))


def _convert_chat(raw: Mapping[str, Any]) -> Usage:
    details = as_object(raw.get("prompt_tokens_details"))
    # LiteLLM adds Anthropic's fields to a usage of OpenAI's kind, whose `prompt_tokens` still include the cache.
    cached = as_count(details.get("cached_tokens")) or as_count(raw.get("cache_read_input_tokens"))
    return exclude_cache(
        as_count(raw.get("prompt_tokens")),
        as_count(raw.get("completion_tokens")),
        cached,
        as_count(raw.get("cache_creation_input_tokens")),
    )
