"""The names that one model goes by, and families of models whose tokens are counted the same way: their encoding, its
error by kind of text, and the cost of a message beyond its text.

Providers, routers and regions put prefixes before a model's name, dates and versions after it. Kinds of text are
recognised by the shares of their bytes.

Sources: OpenAI's cookbook and tiktoken's model table for OpenAI. For the others, ratios measured with their public
tokenizers on code, prose, tool output, CJK text and coloured output; for Claude, ratios derived from Anthropic's
published counts, and for coloured output the ratio of tool output, which the tokenizer of Claude 2 counts alike.
"""

import re
from enum import IntEnum, StrEnum
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace


class TextKind(IntEnum):
    """The kinds of text for which tokenizers differ. `OUTPUT` is logs, JSON and numbered code, with many signs and
    digits; `LISTING` is the output of `ls -l`, `COLOURED` output with the escape codes of terminals."""

    PROSE = 0
    CODE = 1
    OUTPUT = 2
    CJK = 3
    LISTING = 4
    COLOURED = 5


class KindRatios(NamedTuple):
    """A tokenizer's tokens per token of the encoding that Ullage counts with, by kind of text. 1.0 means equal."""

    prose: float = 1.0
    code: float = 1.0
    output: float = 1.0
    cjk: float = 1.0
    listing: float = 1.0
    coloured: float = 1.0

    @property
    def typical(self) -> float:
        """The mean ratio of prose, code and output, which an agent's context mostly consists of."""
        return (self.prose + self.code + self.output) / 3


_LETTERS_AND_SPACES = b" abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_DIGITS = b"0123456789"
# Lead bytes of U+3000..U+9FFF and of Hangul U+A000..U+DFFF in UTF-8.
_CJK_LEAD = bytes(range(0xE3, 0xEE))


def kind_of(piece: bytes) -> TextKind:
    """Returns the kind of a piece of UTF-8 text, by the share of its bytes in these classes, checked in this order:
    over 3 % escape characters is coloured; over 10 % lead bytes of CJK characters is CJK; under 9 % signs and digits is
    prose; up to 6 % digits is code; over 6 % dashes (of permissions) is a listing; the rest is output.

    Signs and digits make 13-18 % of Python files (the middle half) and 6-9 % of English prose. Coloured output of test
    runners, compilers and git has 6-20 % escape characters, one for each change of colour.
    """
    if not piece:
        return TextKind.PROSE
    if piece.count(b"\x1b") > 0.03 * len(piece):
        return TextKind.COLOURED
    if not piece.isascii() and _share(piece, _CJK_LEAD) > 0.1:
        return TextKind.CJK
    signs = len(piece.translate(None, _LETTERS_AND_SPACES)) / len(piece)
    if signs < 0.09:
        return TextKind.PROSE
    if _share(piece, _DIGITS) <= 0.06:
        return TextKind.CODE
    return TextKind.LISTING if _share(piece, b"-") > 0.06 else TextKind.OUTPUT


def _share(piece: bytes, of: bytes) -> float:
    return 1 - len(piece.translate(None, of)) / len(piece)


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


def family_of(bare_name: str) -> Family:
    """Returns the family of a model by its bare name, or `UNKNOWN` if nothing is known of its tokenizer."""
    return next((family for pattern, family in _FAMILIES if re.match(pattern, bare_name)), UNKNOWN)


# `us.anthropic.`, `us-anthropic-`, `eu.meta.`: Bedrock's regions and vendors, with dots or with dashes as in a file
# name.
_REGION = re.compile(
    r"(?:(?:us|eu|apac|jp|au|global)[.-])?(?:anthropic|meta|amazon|mistral|cohere|deepseek|qwen)[.](?=\D)"
)
_REGION_DASHED = re.compile(r"^(?:us|eu|apac|jp|au|global)-(?:anthropic|meta|amazon|mistral|cohere)-")
_BEDROCK_VERSION = re.compile(r"-v\d+(?::\d+)?$|:\d+$")
_VERTEX_DATE = re.compile(r"@(\d{8}|latest|default)$")
_DATE = re.compile(r"-(?:20\d{2}-?[01]\d-?[0-3]\d|latest)$")
# Cursor and Snowflake name the version first: `claude-4.6-opus`. Anthropic itself did so until 3.7.
_VERSION_FIRST = re.compile(r"^claude-([4-9](?:[.-]\d)?)-(opus|sonnet|haiku|fable)\b")
# `claude-sonnet-4-5[1m]` in Claude Code asks for the million-token window; `:free`, `:thinking` are OpenRouter's.
_VARIANT = re.compile(r"\[[^\[\]]*\]$|:(?:free|thinking|nitro|floor|online|beta|extended)$")
# What routers, proxies and editors write after a model's name: routes, efforts and other settings.
_SETTING = re.compile(
    r"(?:[:#](?!\d+b\b)[a-z][\w.-]*|[-:](?:1m|thinking(?:-\d+k?)?|reasoning|minimal|low|medium|high|xhigh|max|fast|maas|preview|exp))$"
    r"|\s*\([^()]*\)$"
)
_MILLION = re.compile(r"(?:\[1m\]|[-:]1m)$")
# The vendors' models that a proxy of another vendor names within a name of its own: `gemini-claude-opus-4-5`.
_INNER = re.compile(r"(?<=[-_.])(?:claude|gpt|gemini|grok|glm|kimi|deepseek)[-.\d]")
# A version in a name, which no number with letters (`70b`), date or further number (`0613`) is.
_VERSION = re.compile(r"(?<![\w.])\d{1,2}(?:[.-]\d{1,2})?(?![\w.]|-\d)")


def asks_for_a_million(model: str) -> bool:
    """Returns whether a model's name asks for its window of a million tokens: it ends in `[1m]`, `:1m` or `-1m`."""
    return _MILLION.search(model.strip().lower()) is not None


def inner_names(model: str) -> list[str]:
    """Returns the names that a model's name may be a variant of, the longest first: without settings at its end, then
    the names of another vendor's model within it."""
    name = without_provider(model)
    inner = [name[found.start() :] for found in _INNER.finditer(name) if "distill" not in name]
    return [shorter for one in (name, *inner) for shorter in _without_settings(one)]


def _without_settings(name: str) -> list[str]:
    names = [name]
    while (shorter := _SETTING.sub("", name)) not in ("", name):
        name = shorter
        names.append(name)
    return names


def series_of(bare_name: str) -> tuple[str, tuple[int, ...]]:
    """Returns series and version: `claude-opus-4-6` gives `claude-opus-*` and (4, 6), or an empty version."""
    found = _VERSION.search(bare_name)
    if found is None:
        return bare_name, ()
    version = tuple(int(part) for part in re.split("[.-]", found[0]))
    return f"{bare_name[: found.start()]}*{bare_name[found.end() :]}", version


def without_provider(model: str) -> str:
    """Returns a model's name in lower case without the prefixes of routers, providers and regions, and without
    deployment versions and variants (`[1m]`, `:free`), with the version of a Claude model after its kind. A date
    stays."""
    name = _VARIANT.sub("", model.strip().lower().rsplit("/", 1)[-1])
    if name.startswith("ft:"):
        # OpenAI's fine-tuned models: `ft:BASE:organisation:suffix:id`
        name = name.split(":")[1]
    name = _REGION_DASHED.sub("", _REGION.sub("", name))
    name = _VERTEX_DATE.sub(r"-\1", _BEDROCK_VERSION.sub("", name)).removesuffix("-default")
    return _VERSION_FIRST.sub(r"claude-\2-\1", name)


def without_date(name: str) -> str:
    """Returns the name without a trailing date (`-20250929`, `-2024-08-06`) or `-latest`."""
    return _DATE.sub("", name)


def bare_name(model: str) -> str:
    """Returns the model's name in lower case without provider, version suffix and date, by which its family is found:
    `anthropic/claude-sonnet-4-20250514` gives `claude-sonnet-4`."""
    return without_date(without_provider(model))
