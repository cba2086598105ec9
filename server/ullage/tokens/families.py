"""Families of models whose tokens are counted the same way: their encoding, its error, and the cost of a message beyond
its text.

Sources: OpenAI's cookbook and tiktoken's model table for OpenAI. For the others, ratios measured with their public
tokenizers on code, prose, tool output, CJK text and coloured output; for Claude, ratios derived from Anthropic's
published counts, and for coloured output that of tool output, which the tokenizer of Claude 2 counts alike.
"""

import re
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from ullage.tokens.kinds import KindRatios


class ImageRule(StrEnum):
    """The formula in `images` that gives a picture's tokens."""

    OPENAI_TILES = "openai_tiles"
    OPENAI_TILES_MINI = "openai_tiles_mini"
    OPENAI_TILES_GPT5 = "openai_tiles_gpt5"
    OPENAI_TILES_O = "openai_tiles_o"
    OPENAI_PATCHES = "openai_patches"
    OPENAI_PATCHES_MINI = "openai_patches_mini"
    CLAUDE = "claude"
    CLAUDE_LARGE = "claude_large"
    GEMINI = "gemini"
    GEMINI_TILES = "gemini_tiles"


class Family(Struct, frozen=True, kw_only=True):
    """How the tokens of one family of models are counted. Sizes are tokens.

    A text counts as its tokens in `encoding` times the ratio of its kind in `ratios`. `error_share` is the mean error
    of a single text as a share, 0.0 where counts are exact. `per_message`, `per_tool_call`, `per_tool_result` and
    `per_tool` are added for each message, call, result and offered tool; `tool_prompt` once if any tool is offered, and
    `reply` once per request, for the opening of the answer (source: OpenAI's cookbook; unknown of other providers).

    `tools_as_typescript` says that the model is shown tool definitions as TypeScript, else as JSON; only the latter
    adds `per_tool` and `tool_prompt`. `escaped_input` says that it is shown a tool use's input as JSON, else as names
    and bare values. `images` is the formula for a picture.
    """

    name: str
    encoding: str = "o200k_base"
    ratios: KindRatios = KindRatios()
    error_share: float = 0.0
    per_message: int = 4
    per_tool_call: int = 3
    per_tool_result: int = 4
    per_tool: int = 0
    tool_prompt: int = 0
    reply: int = 0
    tools_as_typescript: bool = True
    escaped_input: bool = True
    images: ImageRule = ImageRule.OPENAI_TILES

    def counted_with(self, encoding: str) -> "Family":
        """Returns the family with another encoding, which is taken to be the model's own."""
        return replace(self, encoding=encoding, ratios=KindRatios(), error_share=0.0)


_OPENAI = Family(name="openai", reply=3)
_OPENAI_PATCHES = replace(_OPENAI, name="gpt-5.2", images=ImageRule.OPENAI_PATCHES)
# For a tokenizer that is not published: the mean ratio of the published ones, with their spread as error.
UNKNOWN = Family(name="unknown", ratios=KindRatios(1.08, 1.08, 1.12, 1.1, 1.05, 1.0), error_share=0.12)
# The framing of a call (60) and of its result (25) in Claude's prompt are fitted to the growth between consecutive
# recorded requests of Claude Sonnet 4 whose tools and messages are all known; Anthropic does not publish them.
_CLAUDE = Family(
    name="claude",
    ratios=KindRatios(prose=1.22, code=1.18, output=1.15, cjk=1.36, listing=1.15, coloured=1.15),
    error_share=0.06,
    per_message=4,
    per_tool_call=60,
    per_tool_result=25,
    tool_prompt=346,
    tools_as_typescript=False,
    escaped_input=False,
    images=ImageRule.CLAUDE,
)
_CLAUDE_NEW = replace(
    _CLAUDE,
    name="claude-4.7",
    ratios=KindRatios(prose=1.72, code=1.47, output=1.40, cjk=1.36, listing=1.40, coloured=1.40),
    error_share=0.12,
    images=ImageRule.CLAUDE_LARGE,
)
_GEMINI = Family(
    name="gemini",
    ratios=KindRatios(prose=1.12, code=1.20, output=1.28, cjk=0.95, listing=1.10, coloured=0.98),
    error_share=0.06,
    per_message=0,
    images=ImageRule.GEMINI,
)
_GEMINI_2 = replace(_GEMINI, name="gemini-2", images=ImageRule.GEMINI_TILES)


def _open(name: str, error_share: float, ratios: KindRatios) -> Family:
    return Family(name=name, ratios=ratios, error_share=error_share)


# Matched in this order against the bare, lower-case name (see `model_names.bare_name`); the first match counts.
_FAMILIES: tuple[tuple[str, Family], ...] = (
    (r"gpt-3\.5|gpt-4(-turbo|-32k|-\d{4}.*)?$|text-embedding", replace(_OPENAI, name="gpt-4", encoding="cl100k_base")),
    (r"gpt-4o-mini", replace(_OPENAI, name="gpt-4o-mini", images=ImageRule.OPENAI_TILES_MINI)),
    (r"gpt-4\.1-(mini|nano)|o4-mini", replace(_OPENAI, name="gpt-4.1-mini", images=ImageRule.OPENAI_PATCHES_MINI)),
    (r"gpt-4|chatgpt-4o|gpt-oss", replace(_OPENAI, name="gpt-4o")),
    (r"gpt-5(\.1)?(-|$)", replace(_OPENAI, name="gpt-5", images=ImageRule.OPENAI_TILES_GPT5)),
    (r"gpt-|codex|chat-latest|computer-use", _OPENAI_PATCHES),
    (r"o[1-9](-|$)", replace(_OPENAI, name="o", images=ImageRule.OPENAI_TILES_O)),
    (r"claude.*(opus-4[-.][7-9]|opus-[5-9]|sonnet-[5-9]|haiku-[5-9]|fable|mythos)", _CLAUDE_NEW),
    (r"claude|sonnet$|opus$|haiku$", _CLAUDE),
    (r"gemini-[12]", _GEMINI_2),
    (r"gemini|gemma", _GEMINI),
    (r"llama-?2", _open("llama-2", 0.08, KindRatios(1.25, 1.31, 1.35, 1.62, 1.16, 1.17))),
    (r"llama|hermes", _open("llama-3", 0.01, KindRatios(1.00, 0.99, 1.01, 1.01, 1.00, 0.86))),
    (r"qwen|qwq", _open("qwen", 0.04, KindRatios(1.02, 1.02, 1.15, 0.99, 1.17, 0.97))),
    (r"glm", _open("glm", 0.01, KindRatios(1.00, 1.00, 1.03, 1.00, 1.03, 0.87))),
    (r"kimi|moonshot", _open("kimi", 0.01, KindRatios(0.99, 0.99, 0.99, 1.00, 1.00, 0.85))),
    (r"deepseek", _open("deepseek", 0.03, KindRatios(1.04, 1.07, 1.04, 0.98, 0.90, 1.01))),
    (r"mixtral|open-mistral-7b", _open("mistral-v1", 0.07, KindRatios(1.25, 1.30, 1.35, 1.39, 1.16, 1.16))),
    (
        r"mistral|codestral|devstral|magistral|ministral|pixtral",
        _open("mistral", 0.05, KindRatios(1.05, 1.08, 1.20, 1.13, 1.18, 1.14)),
    ),
)
_COMPILED = tuple((re.compile(pattern), family) for pattern, family in _FAMILIES)


def family_of(bare_name: str) -> Family:
    """Returns the family of a model by its bare name, or `UNKNOWN` if nothing is known of its tokenizer."""
    return next((family for pattern, family in _COMPILED if pattern.match(bare_name)), UNKNOWN)
