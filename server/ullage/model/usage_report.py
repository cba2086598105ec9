"""Judges what a usage report says: which of its counts fill the window, which are billed, of which answer it is, and
whether it can be true.

Readers of logs, the status line, the proxy and the library all ask here. The functions take and return plain values and
import no msgspec, because `ullage statusline` has only a few milliseconds.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

# The largest integer that all readers of JSON agree on (RFC 8259 §6), and its digits.
LARGEST_COUNT, _DIGITS = 2**53 - 1, 16
# Fifty times the largest window in the list of models. What a program reports above it is no count of tokens.
LARGEST_CONTEXT = 100_000_000
# Passes of an answer in which its own model read the context. Others are an adviser's or a compaction's.
_OWN_PASSES = ("message", "fallback_message")
_PROMPT = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
# A prompt of fewer tokens than this share of the local count is not that of the context. Of the tokenizers in
# `tokens.families`, the most frugal needs 0.8 tokens per counted one, and no prompt is smaller than its visible part.
_LEAST_SHARE = 0.5
# Tokens by which a report may be below the count of a small context without being wrong.
_MAY_DIFFER = 2_000
# Bytes for a token: English has four, code and Chinese three. Where a text has fewer, such as one of digits, a
# placeholder that is nearly half of the true size is only found by a count.
_BYTES = 3
# Two reports in a row that are far too small are believed if the second has grown as its messages have: the provider
# left out a part of the context then. A gateway's placeholder stays where it is.
_LEAST_ADDED, _GROWN_LEAST, _GROWN_MOST = 100, 0.5, 2.0


def count_of(value: "Any") -> int:
    """Returns a number of at least 0 as an integer. Returns 0 for any other value, and for a number above
    `LARGEST_COUNT`. The JSON of protocol buffers has integers of 64 bits as text."""
    if value.__class__ is str and len(value) <= _DIGITS and value.isdecimal():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= LARGEST_COUNT:
        return 0
    return int(value)


# The times of a subscription's limits by the names that Claude Code gives them on its status line, and the largest
# share of one, in per cent, that can be meant.
_LIMITS = {"five_hour": "5h", "seven_day": "7d"}
_MOST_USED = 999


def rate_limits_of(said: "Mapping[str, Any]") -> "list[tuple[str, int, int | None]]":
    """Returns the limits of a user's subscription that an agent says to its status line: the name of each, its used
    share in per cent, and when its time ends in Unix milliseconds, None if the agent does not say that."""
    limits: list[tuple[str, int, int | None]] = []
    given = _object(said.get("rate_limits"))
    for key, name in _LIMITS.items():
        used, ends = (_object(given.get(key)).get(field) for field in ("used_percentage", "resets_at"))
        if isinstance(used, int | float) and not isinstance(used, bool) and 0 <= used <= _MOST_USED:
            limits.append((name, round(used), count_of(ends) * 1_000 or None))
    return limits


def filling_pass(raw: "Mapping[str, Any]") -> "Mapping[str, Any]":
    """Returns the counts of the pass that filled the window, from a usage in Anthropic's form.

    An answer with server tools or an adviser is made in several passes, which `iterations` lists. The usage's own
    counts are then their sum, in which the prompt counts once for each pass. The context is what the last pass of the
    answer's own model read and wrote. Without such a list, that is the usage itself.
    """
    own = [one for one in _passes(raw) if one.get("type", "message") in _OWN_PASSES and prompt_of(one)]
    return own[-1] if own else raw


def billed_passes(raw: "Mapping[str, Any]") -> "list[tuple[str, Mapping[str, Any]]]":
    """Returns all passes of an answer, each with the name of its model, empty for the answer's own. They are what is
    paid for. Returns nothing if the usage lists no passes."""
    return [(name if isinstance(name := one.get("model"), str) else "", one) for one in _passes(raw)]


def _passes(raw: "Mapping[str, Any]") -> "Iterator[Mapping[str, Any]]":
    listed = raw.get("iterations")
    if listed.__class__ is list:
        yield from (one for one in map(_object, listed or ()) if one)


def _object(value: "Any") -> "Mapping[str, Any]":
    return value if value.__class__ is dict else {}


def cache_writes(raw: "Mapping[str, Any]") -> tuple[int, int]:
    """Returns the tokens that a request wrote to Anthropic's cache, and how many of them are kept for an hour. The
    detailed counts, one for each time for which tokens are kept, decide if their sum is missing."""
    parts = _object(raw.get("cache_creation"))
    hour = count_of(parts.get("ephemeral_1h_input_tokens"))
    written = count_of(raw.get("cache_creation_input_tokens")) or sum(map(count_of, parts.values()))
    return written, min(hour, written)


def prompt_of(counts: "Mapping[str, Any]") -> int:
    """Returns the tokens of the whole prompt by one pass in Anthropic's form; 0 if it does not say, because no prompt
    has 0 tokens, or more than any window holds."""
    given = count_of(counts.get("input_tokens")) + count_of(counts.get("cache_read_input_tokens"))
    prompt = given + cache_writes(counts)[0]
    return prompt if prompt <= LARGEST_CONTEXT else 0


def context_of(raw: "Mapping[str, Any]") -> int | None:
    """Returns the tokens in the context after the answer that a usage in Anthropic's form reports, or None if it does
    not say."""
    counts = filling_pass(raw)
    prompt = prompt_of(counts)
    return prompt + count_of(counts.get("output_tokens")) if prompt else None


def input_counts(raw: "Any") -> tuple[int, ...]:
    """Returns the counts of a usage that all lines of one streamed answer share: those of its input. Lines of one
    answer repeat them, so lines with other counts are of other answers, whatever their id says."""
    return tuple(count_of(_object(raw).get(name)) for name in _PROMPT)


def can_be_true(prompt: int, counted: int) -> bool:
    """Returns whether a context with `counted` visible tokens can have a prompt of `prompt` tokens.

    Some gateways report a placeholder, or the last message alone. A conversation that believed it would never make
    room.
    """
    return prompt >= counted * _LEAST_SHARE or counted - prompt <= _MAY_DIFFER


def is_doubtful(prompt: int, size: int) -> bool:
    """Returns whether a report may be a placeholder, so that the messages must be counted to know it. Those that its
    prompt had are `size` bytes of text."""
    return not can_be_true(prompt, size // _BYTES)


def confirms(grown: int, added: int) -> bool:
    """Returns whether a report that is far too small is true all the same: it exceeds the report before, which was too
    small as well, by `grown` tokens, and messages of about as many (`added`) came between them."""
    return added >= _LEAST_ADDED and added * _GROWN_LEAST <= grown <= added * _GROWN_MOST


def holding_window(used: int, window: int, wider: "Sequence[int]") -> int:
    """Returns the window that holds a context of `used` tokens: `window`, or if that is smaller, the smallest of the
    `wider` ones that holds it, or else the context's own size. So no context fills more than its window."""
    return window if used <= window else next((size for size in wider if size >= used), used)
