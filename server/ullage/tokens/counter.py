r"""Counts the tokens of texts: exactly with a packed vocabulary if the model's encoding is public, else scaled by its
family's ratios, and approximately by words as the last resort. `CounterRegistry` chooses.

A text is cut where a tokenizer never joins tokens, so that the counts of the pieces sum to the count of the whole, and
the counts of pieces are remembered. Byte-level BPE first splits text by a pattern. The patterns of cl100k and o200k
(and of llama3, qwen3, glm4, kimi, deepseek, mistral_v3, gemma) never match across a newline that is followed by
neither whitespace nor `/` (in o200k, punctuation may take following `\r`, `\n` and `/` with it).

`TokenCounter` has the cost of messages and tool definitions beyond their bare text, which is the same for all
counters."""

import logging
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Iterator, Sequence
from functools import lru_cache
from lzma import LZMAError
from math import ceil
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, cast

import msgspec

from ullage.model.message import (
    Block,
    CompactionBlock,
    ImageBlock,
    Message,
    ResourceBlock,
    ResultPart,
    Role,
    TextBlock,
    ThinkingBlock,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
    is_memory_file,
    render_marker,
)
from ullage.model.usage import Breakdown
from ullage.tokens.families import UNKNOWN, Family, KindRatios, TextKind, bare_name, family_of, kind_of
from ullage.tokens.images import count_image, count_page, count_pages
from ullage.tokens.vocabulary import load_encoding

if TYPE_CHECKING:
    from tiktoken import Encoding


# Encrypted reasoning is base64 of about four bytes a token, plus what the encryption adds (about 10 %).
_CHARACTERS_PER_REDACTED_TOKEN = 6


class TokenCounter(ABC):
    """The base of the counters, which count tokens for one model: messages and tools block by block. Equal input always
    gives an equal count. Subclasses define `count`, for a text. `family` has the tokens that the provider's framing
    adds.

    `name` is the name of the way of counting, as users see it: `o200k_base`, `approximate`. `error_share` is the
    counter's stated mean error as a share of the true count, 0.0 if counts are exact.
    """

    name: str
    error_share: float

    def __init__(self, family: Family) -> None:
        self.family = family

    @abstractmethod
    def count(self, text: str) -> int:
        """Returns the tokens of a text. Takes any `str`, lone surrogates included; never raises."""

    def count_message(self, message: Message) -> int:
        """Returns the tokens of a message in a prompt, with framing. A marker counts as the text that is sent."""
        return self.break_down(message).total

    def count_messages(self, messages: Sequence[Message]) -> int:
        """Returns the sum of `count_message` over the messages."""
        return sum(map(self.count_message, messages))

    def count_prompt(self, messages: Sequence[Message], tools: Sequence[ToolDefinition]) -> int:
        """Returns the tokens of a request: of its messages, its tools, and the opening of the answer. Without messages
        there is no request, and the count is that of the tools."""
        return self.count_messages(messages) + self.count_tools(tools) + (self.family.reply if messages else 0)

    def count_tools(self, tools: Sequence[ToolDefinition]) -> int:
        """Returns the tokens that the definitions of offered tools add to a prompt."""
        if not tools:
            return 0
        if self.family.tools_as_typescript:
            return self.count(render_typescript(tools)) + TYPESCRIPT_OVERHEAD
        return self.count(render_json(tools)) + self.family.tool_prompt + self.family.per_tool * len(tools)

    def break_down(self, message: Message, memory_uses: Container[str] = ()) -> Breakdown:
        """Returns a message's tokens by kind. Results of the tool uses with an id in `memory_uses`, and resources that
        are memory files, count as memory. The tokens of the provider's framing count with the messages, or with the
        system prompt."""
        framing = self.family.per_message + self._count_name(message)
        if message.role is Role.SYSTEM and message.compaction is None:
            memory = sum(self._count_block(block) for block in message.content if _kind(block, memory_uses) == "memory")
            whole = framing + sum(map(self._count_block, message.content))
            return Breakdown(system_prompt=whole - memory, memory=memory)
        tokens = {"messages": 0, "memory": 0, "tool_results": 0, "summary": 0}
        for block in message.content:
            tokens[_kind(block, memory_uses)] += self._count_block(block)
        # A provider frames each tool result by itself, so a message with nothing else has no frame of its own.
        if not message.content or any(not isinstance(block, ToolResultBlock) for block in message.content):
            tokens["messages"] += framing
        return Breakdown(**tokens)

    def _count_name(self, message: Message) -> int:
        """Returns the tokens of the field `name` that OpenAI's messages may have: those of its text and one more
        (source: OpenAI's cookbook, "How to count tokens with tiktoken"). 0 without a name."""
        name = message.provided.fields.get("name") if message.provided else None
        return self.count(name) + 1 if isinstance(name, str) and name else 0

    def _count_block(self, block: Block) -> int:
        match block:
            case ToolUseBlock():
                text = render_input(block, escaped=self.family.escaped_input)
                return self.family.per_tool_call + self.count(block.name) + self.count(text)
            case ToolResultBlock():
                return self.family.per_tool_result + sum(map(self._count_part, block.content))
            case ThinkingBlock():
                return self.count(block.thinking) + ceil(len(block.redacted or "") / _CHARACTERS_PER_REDACTED_TOKEN)
            case CompactionBlock():
                # The provider that made the sealed compaction is sent it, every other provider is sent the text.
                return max(self.count(render_marker(block)), block.sealed.tokens if block.sealed else 0)
            case _:
                return self._count_part(block)

    def _count_part(self, part: ResultPart) -> int:
        match part:
            case TextBlock():
                return self.count(part.text)
            case ImageBlock():
                return count_image(part, self.family.images)
            case ResourceBlock(data=str(data)) if part.is_document:
                return self.count(part.name) + count_pages(data) * count_page(self.family.images)
            case ResourceBlock(data=str(data)) if data:
                # No provider takes it, so the model is sent its title alone.
                return self.count(part.title)
            case ResourceBlock():
                return self.count(part.uri) + self.count(part.text or "")


def _kind(block: Block, memory_uses: Container[str]) -> str:
    match block:
        case ToolResultBlock() if block.tool_use_id in memory_uses:
            return "memory"
        case ToolResultBlock():
            return "tool_results"
        case CompactionBlock():
            return "summary"
        case ResourceBlock() if is_memory_file(block.uri):
            return "memory"
        case _:
            return "messages"


# Tokens around the rendered definitions in OpenAI's prompt (source: gpt-tokenizer, litellm).
TYPESCRIPT_OVERHEAD = 9

_TYPES = {"integer": "number", "number": "number", "boolean": "boolean", "null": "null", "string": "string"}


def render_typescript(tools: Sequence[ToolDefinition]) -> str:
    """Returns the definitions of tools as OpenAI's models are shown them: a TypeScript namespace."""
    lines = ["namespace functions {", ""]
    for tool in tools:
        if tool.description:
            lines.append(f"// {tool.description}")
        fields = list(_render_fields(tool.input_schema))
        if fields:
            lines += [f"type {tool.name} = (_: {{", *fields, "}) => any;", ""]
        else:
            lines += [f"type {tool.name} = () => any;", ""]
    return "\n".join([*lines, "} // namespace functions"])


def render_json(tools: Sequence[ToolDefinition]) -> str:
    """Returns the definitions of tools as most other models are shown them: one JSON object per line."""
    return "\n".join(
        to_json({"name": tool.name, "description": tool.description, "parameters": tool.input_schema}) for tool in tools
    )


def render_input(block: ToolUseBlock, *, escaped: bool) -> str:
    """Returns the input of a tool use as a model is shown it: as one JSON object if `escaped`, else each name on one
    line with its bare value on the next lines."""
    if escaped:
        return to_json(block.input)
    return "\n".join(
        f"{name}\n{value if isinstance(value, str) else to_json(value)}" for name, value in block.input.items()
    )


def to_json(value: Any) -> str:
    """Returns compact JSON, or Python's `repr` if JSON can't hold the value, such as a lone surrogate."""
    try:
        return msgspec.json.encode(value).decode()
    except (UnicodeEncodeError, TypeError, RecursionError):
        return repr(value)


def _render_fields(schema: dict[str, Any]) -> Iterator[str]:
    required = _strings(schema.get("required"))
    for name, field in _objects(schema.get("properties")).items():
        if description := field.get("description"):
            yield f"// {description}"
        yield f"{name}{'' if name in required else '?'}: {_render_type(field)},"


def _render_type(schema: dict[str, Any]) -> str:
    if choices := _list(schema.get("enum")):
        return " | ".join(to_json(choice) for choice in choices)
    if options := _list(schema.get("anyOf")) or _list(schema.get("oneOf")):
        return " | ".join(
            _render_type(cast("dict[str, Any]", option)) for option in options if isinstance(option, dict)
        )
    kind = schema.get("type")
    if isinstance(kind, list):
        return " | ".join(_TYPES.get(str(one), str(one)) for one in cast("list[Any]", kind))
    if kind == "array":
        items = schema.get("items")
        return f"{_render_type(cast('dict[str, Any]', items))}[]" if isinstance(items, dict) else "any[]"
    if kind == "object" or "properties" in schema:
        fields = list(_render_fields(schema))
        return "\n".join(["{", *fields, "}"]) if fields else "object"
    return _TYPES.get(str(kind), "any")


def _objects(value: Any) -> dict[str, dict[str, Any]]:
    if not isinstance(value, dict):
        return {}
    return {
        str(name): cast("dict[str, Any]", field) if isinstance(field, dict) else {}
        for name, field in cast("dict[Any, Any]", value).items()
    }


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _strings(value: Any) -> set[str]:
    return {item for item in _list(value) if isinstance(item, str)}


V = TypeVar("V")

# Cutting costs little compared with counting 1-4 kB; smaller pieces would make the cache larger than it is worth.
TARGET = 2_000
# tiktoken's pattern fails (a Rust panic) on about a million spaces, and one word of a megabyte takes seconds.
LONGEST = 32_000
# About 150 bytes per entry: 10 MB for 130 MB of text, several times the largest sessions seen.
CACHE_ENTRIES = 65_536

_SAFE_CUT = re.compile(r"\n(?=[^\s/])")


def cut(text: str) -> Iterator[str]:
    """Yields consecutive pieces of a text, each at most `LONGEST` characters (128 kB as UTF-8).

    The tokens of the pieces sum to those of the whole text, except where `LONGEST` characters hold no safe newline: a
    cut there may change the sum by one token. Appending to a text leaves all pieces but the last unchanged.
    """
    start = 0
    while len(text) - start > TARGET:
        found = _SAFE_CUT.search(text, start + TARGET, start + LONGEST)
        end = found.end() if found else start + LONGEST
        yield text[start:end]
        start = end
    if start < len(text):
        yield text[start:]


def well_formed(text: str) -> str:
    """Returns the text with lone surrogates replaced by U+FFFD, because no tokenizer's UTF-8 can hold them."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class PieceCache(Generic[V]):
    """A cache in memory, from the hash of a piece of text to a value. When full it drops the half that was not used for
    longest. It can be used by several threads."""

    def __init__(self, entries: int = CACHE_ENTRIES) -> None:
        # Two dicts take a third of the memory of one that is ordered by use.
        self._half = max(1, entries // 2)
        self._known: dict[int, V] = {}
        self._older: dict[int, V] = {}
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._known.keys() | self._older.keys())

    def clear(self) -> None:
        with self._lock:
            self._known, self._older = {}, {}

    def get(self, key: int) -> V | None:
        """Returns the value of a key, or None if it was never stored or was dropped."""
        # Without the lock, because it is called for every entry of a page. Another thread may drop the value meanwhile.
        known = self._known.get(key)
        if known is None and (known := self._older.get(key)) is not None:
            self.put(key, known)
        return known

    def put(self, key: int, value: V) -> None:
        """Stores a value. When the cache is full, the values that were not used for longest are dropped."""
        with self._lock:
            self._known[key] = value
            if len(self._known) > self._half:
                self._older, self._known = self._known, {}


def key_of(piece: str, salt: int) -> int:
    """Returns the key of a piece of text in the cache: its hash and its length, so that the cache holds no text. Texts
    are hashed with a secret of the process (SipHash, PEP 456), so no client can make two texts that share a key.
    `salt` is a hash of what the value depends on besides the text."""
    return (hash(piece) ^ salt) + (len(piece) << 64)


class PieceCount(NamedTuple):
    """What the cache holds of a piece of text: its tokens in the encoding, unscaled, and its kind."""

    tokens: int
    kind: TextKind


# Most pieces have one of some hundred counts.
_piece_count = lru_cache(maxsize=4_096)(PieceCount)
# One cache for all counters: the keys include the encoding.
_pieces: PieceCache[PieceCount] = PieceCache()


def forget_pieces() -> None:
    """Empties the cache of counts, so that a measurement starts as in a new process."""
    _pieces.clear()


class TiktokenCounter(TokenCounter):
    """Counts with a vocabulary that is packed with Ullage. Counts are exact for OpenAI's models, and scaled by kind of
    text for other families.

    Making one raises `OSError`, `lzma.LZMAError` or `ImportError` if the vocabulary cannot be loaded. A text in which
    32,000 characters hold no safe newline is cut there, which may change the count by one token per cut.
    """

    def __init__(self, family: Family) -> None:
        super().__init__(family)
        self._encoding = load_encoding(family.encoding)
        self._salt = hash(self._encoding.name)
        # The encoding and the typical ratio by which it is scaled: `o200k_base`, `o200k_base×1.18`.
        scaled = "" if family.ratios == KindRatios() else f"×{family.ratios.typical:.2f}"
        self.name = f"{self._encoding.name}{scaled}"
        self.error_share = family.error_share

    def count(self, text: str) -> int:
        """Returns the tokens of a text. Special tokens written out in the text count as ordinary text."""
        if len(text) <= TARGET:
            tokens = self._count_piece(text) if text else 0.0
        else:
            tokens = sum(map(self._count_piece, cut(text)))
        return ceil(tokens - 1e-6)

    def _count_piece(self, piece: str) -> float:
        """Returns the tokens of a piece, which `cut` would not cut, scaled by its kind."""
        key = key_of(piece, self._salt)
        known = _pieces.get(key)
        if known is None:
            try:
                data = piece.encode()
            except UnicodeEncodeError:
                piece = well_formed(piece)
                data = piece.encode()
            known = _piece_count(count_piece(self._encoding, piece), kind_of(data))
            _pieces.put(key, known)
        return known.tokens * self.family.ratios[known.kind]


def count_piece(encoding: "Encoding", piece: str) -> int:
    """Returns the tokens of one piece. If tiktoken panics, returns the upper bound: one token per byte."""
    try:
        return len(encoding.encode_ordinary(piece))
    except BaseException as error:
        # PyO3's PanicException cannot be imported and is not an Exception. The known panics need longer pieces than
        # ours.
        if type(error).__name__ != "PanicException":
            raise
        return len(piece.encode())


# OpenAI's rule of thumb for English: 100 tokens are about 75 words.
TOKENS_PER_WORD = 1.3
# Words are a poor measure of code, CJK or text without spaces. Byte-level BPE needs one token for about this many bytes
# of code and tool output, so no text counts for fewer.
BYTES_PER_TOKEN = 4.0
# Mean error against o200k over 3,189 messages of recorded agent conversations; counting words alone is off by 45 %
# (`scripts/bench accuracy`). One message in twenty is off by more than 35 %.
ERROR_SHARE = 0.14


class ApproximateCounter(TokenCounter):
    """Counts without a vocabulary: `tokens_per_word` tokens per word, and at least one token per `BYTES_PER_TOKEN`
    bytes of UTF-8. Used if no exact or scaled counter can be made."""

    name = "approximate"
    error_share = ERROR_SHARE

    def __init__(self, family: Family = UNKNOWN, tokens_per_word: float = TOKENS_PER_WORD) -> None:
        super().__init__(family)
        self._tokens_per_word = tokens_per_word

    def count(self, text: str) -> int:
        words = len(text.split()) * self._tokens_per_word
        return ceil(max(words, len(text.encode("utf-8", "surrogatepass")) / BYTES_PER_TOKEN))


_log = logging.getLogger(__name__)

MakeCounter = Callable[[Family], TokenCounter]


class CounterRegistry:
    """Makes one counter per family of models and encoding, and keeps it. If an exact or scaled counter cannot be made,
    logs one warning and gives approximate counters."""

    def __init__(self, make_exact: MakeCounter = TiktokenCounter) -> None:
        self._make_exact = make_exact
        self._counters: dict[tuple[str, str], TokenCounter] = {}
        self._warned = False

    def get_counter(self, model: str, encoding: str | None = None) -> TokenCounter:
        """Returns the counter for a model's name as any provider spells it. `encoding` (`cl100k_base`, `o200k_base`,
        `approximate`) replaces the family's own; its counts are then not scaled."""
        family = family_of(bare_name(model))
        key = (family.name, encoding or "")
        if key not in self._counters:
            self._counters[key] = self._make(family, encoding)
        return self._counters[key]

    def _make(self, family: Family, encoding: str | None) -> TokenCounter:
        if encoding == "approximate":
            return ApproximateCounter(family)
        try:
            return self._make_exact(family.counted_with(encoding) if encoding else family)
        except (ImportError, OSError, LZMAError) as error:
            self._warn(error)
            return ApproximateCounter(family)

    def _warn(self, error: Exception) -> None:
        if not self._warned:
            self._warned = True
            _log.warning("Token counts are approximate, the packed vocabulary cannot be used: %s", error)


_registry = CounterRegistry()


def get_counter(model: str, encoding: str | None = None) -> TokenCounter:
    """Returns the counter that this process uses for a model; see `CounterRegistry.get_counter`."""
    return _registry.get_counter(model, encoding)
