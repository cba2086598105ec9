"""Windows to assume for models that are not listed but belong to a known family: the smallest window among its members.

Sources: the providers' model pages. Members with larger windows are listed, or the user sets the window.
"""

import re

from msgspec import Struct


class FamilyLimits(Struct, frozen=True, kw_only=True):
    """The limits assumed for a family; `input` and `total` are tokens."""

    name: str
    input: int
    total: int


def _one_window(name: str, tokens: int) -> FamilyLimits:
    return FamilyLimits(name=name, input=tokens, total=tokens)


# Matched in this order against the bare, lower-case name; the first match counts.
_FAMILIES = (
    (r"claude|(sonnet|opus|haiku)$", _one_window("claude", 200_000)),
    (r"gpt-oss", _one_window("gpt-oss", 131_072)),
    (r"gpt-([6-9]|5(?!.*chat))", FamilyLimits(name="gpt-5", input=272_000, total=400_000)),
    (r"(chatgpt-4o|gpt-4o|gpt-4\.|gpt-5|gpt-4-turbo|codex|o1-(mini|preview))", _one_window("gpt-4o", 128_000)),
    (r"gpt-4-32k", _one_window("gpt-4-32k", 32_768)),
    (r"gpt-4", _one_window("gpt-4", 8_192)),
    (r"gpt-3\.5", _one_window("gpt-3.5", 4_096)),
    (r"o[1-9](-|$)", _one_window("o", 200_000)),
    (r"gemini-([2-9]|\d\d)", FamilyLimits(name="gemini", input=1_048_576, total=1_114_112)),
    (r"gemma-?[34]", _one_window("gemma", 131_072)),
    (r"(gemini|gemma)", _one_window("gemini-1", 8_192)),
    (r"deepseek", _one_window("deepseek", 65_536)),
    (r"(meta-)?llama-?(3[.-][1-9]|4)", _one_window("llama-3.1", 131_072)),
    (r"(meta-)?llama-?3", _one_window("llama-3", 8_192)),
    (r"(meta-)?llama", _one_window("llama", 4_096)),
    (r"(qwen|qwq)", _one_window("qwen", 32_768)),
    (r"(mistral|mixtral|codestral|devstral|magistral|ministral|pixtral)", _one_window("mistral", 32_000)),
    (r"grok", _one_window("grok", 131_072)),
    (r"glm", _one_window("glm", 128_000)),
    (r"(kimi|moonshot)", _one_window("kimi", 131_072)),
)
_COMPILED = tuple((re.compile(pattern), limits) for pattern, limits in _FAMILIES)


def family_limits(bare_name: str) -> FamilyLimits | None:
    """Returns the limits to assume for a model by its bare name, or None if it belongs to no known family."""
    return next((limits for pattern, limits in _COMPILED if pattern.match(bare_name)), None)
