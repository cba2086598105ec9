"""Reads what clients write: a prompt (ACP content blocks), a message to append (Ullage's own form, Anthropic's or
OpenAI's), and a section of settings (the fields of `Settings`).
"""

import base64
import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal, cast

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from ullage.formats.provider import Provider, read_messages, write_messages
from ullage.formats.requests.turns import IMAGE_TYPES
from ullage.formats.verbatim import is_chat
from ullage.model.blocks import PDF, Block, ImageBlock, Provided, ResourceBlock, TextBlock, ThinkingBlock
from ullage.model.errors import InvalidRequest
from ullage.model.json_values import MOST_LEVELS, JsonObject, as_object, as_objects, as_text, is_too_deep
from ullage.model.message import Message, Role
from ullage.model.settings import Settings, check_settings
from ullage.service.ports.world import Ports


def read_prompt(prompt: Sequence[dict[str, Any]]) -> tuple[Block, ...]:
    """Returns a prompt, given as ACP content blocks, as Ullage's blocks. Raises `InvalidRequest` if the prompt is empty
    or has a kind of content that Ullage cannot send to a model."""
    if not prompt:
        raise InvalidRequest("session/prompt needs at least one content block in `prompt`")
    blocks = tuple(_read_block(at, block) for at, block in enumerate(prompt))
    said = tuple(block for block in blocks if not isinstance(block, TextBlock) or block.text.strip())
    if not said:
        raise InvalidRequest("session/prompt needs something to ask: the text in `prompt` is empty")
    return said


def _read_block(at: int, block: dict[str, Any]) -> Block:
    match block.get("type"):
        case "text" if isinstance(block.get("text"), str):
            return TextBlock(text=block["text"])
        case "image" if isinstance(block.get("data"), str):
            return ImageBlock(media_type=as_text(block.get("mimeType")) or "image/png", data=block["data"])
        case "resource_link" if isinstance(block.get("uri"), str):
            return ResourceBlock(uri=block["uri"], mime_type=as_text(block.get("mimeType")) or None)
        case "resource" if "uri" in (resource := as_object(block.get("resource"))):
            return _read_resource(resource)
        case kind:
            raise InvalidRequest(
                f"prompt[{at}]: a content block of type {kind!r} cannot be used; text, image, resource_link and "
                "resource can"
            )


def _read_resource(resource: JsonObject) -> Block:
    """Returns an embedded resource as a block. Of one whose content is in base64 (`blob`), a picture becomes an image
    and text in UTF-8 its text; any other content is kept as it is."""
    kind, blob, text = as_text(resource.get("mimeType")), as_text(resource.get("blob")), resource.get("text")
    uri = as_text(resource["uri"])
    if blob and kind in IMAGE_TYPES:
        return ImageBlock(media_type=kind, data=blob)
    if not isinstance(text, str):
        # A PDF may be all ASCII.
        text = None if kind == PDF else _decoded(blob)
    return ResourceBlock(uri=uri, text=text, mime_type=kind or None, data=blob or None if text is None else None)


def _decoded(blob: str) -> str | None:
    """Returns the text that a blob holds, or None if it holds none."""
    try:
        text = base64.b64decode(blob, validate=True).decode()
    except ValueError:
        return None
    return text if text and "\0" not in text else None


# How msgspec names a field that a struct does not have.
_UNKNOWN = re.compile(r"unknown field `(.*)`")


def read_settings(section: Any) -> Settings:
    """Returns the settings in a client's `ullage` section. Raises `InvalidRequest`, whose text names the wrong field
    and the remedy."""
    try:
        settings = msgspec.convert(_without_empty_lists(section), Settings)
        check_settings(settings)
    except msgspec.ValidationError as error:
        raise InvalidRequest(_explain(str(error))) from None
    return settings


def _explain(fault: str) -> str:
    what, _, path = fault.partition(" - at ")
    path = path.strip("`") or "$"
    unknown = _UNKNOWN.search(what)
    if unknown is not None:
        what = f"there is no setting {unknown[1]!r}"
    return f"{path} cannot be used ({what[:1].lower()}{what[1:]}). Correct it or remove it to get the default."


def _without_empty_lists(value: Any) -> Any:
    """Returns the value without fields that are empty lists, because Lua writes an empty table as `[]`. For every
    setting an empty list or object is the default."""
    if not isinstance(value, dict):
        return value
    items = cast("dict[str, Any]", value).items()
    return {key: _without_empty_lists(item) for key, item in items if item != []}


_OWN_KINDS = ("resource", "context_compaction")
_PLAIN_FIELDS = {"role", "content", "id", "timestamp"}
# A hundred times as many as a long answer has. Reading them takes a second, in which no other session is served.
_MOST_BLOCKS = 20_000
_ROLES = {role.value: role for role in Role}


class MessageInput(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A message from a client, as Anthropic's Messages API or OpenAI's Chat Completions has it, or with Ullage's own
    blocks. `content` may be plain text; OpenAI's answers may have none. `name`, `tool_calls`, `tool_call_id`,
    `function_call`, `refusal` and `audio` are OpenAI's. If `id` or `timestamp` (Unix milliseconds) is left out, the
    server sets it."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: Annotated[
        str | tuple[dict[str, Any], ...] | None, Meta(description="Text, or content blocks of one of the formats.")
    ] = None
    id: str | None = None
    timestamp: int | None = None
    name: str | None = None
    tool_calls: tuple[dict[str, Any], ...] | None = None
    tool_call_id: str | None = None
    function_call: dict[str, Any] | None = None
    refusal: str | None = None
    audio: dict[str, Any] | None = None

    def to_message(self, ports: Ports, place: str) -> Message:
        """Returns the message with id and timestamp set. Raises `InvalidRequest`, whose text begins with `place`, if it
        is not a message of Anthropic's or OpenAI's format or with Ullage's own blocks, or is nested too deeply."""
        blocks = () if isinstance(self.content, str) else self.content or ()
        _require_few_blocks(place, len(blocks) + len(self.tool_calls or ()))
        require_shallow(place, [*(self.content or ()), *(self.tool_calls or ()), self.function_call, self.audio])
        fields: JsonObject = msgspec.to_builtins(self)
        if isinstance(self.content, str) and self.role in _ROLES and fields.keys() <= _PLAIN_FIELDS:
            # All formats agree on a plain text, so that no reader is needed.
            content = (TextBlock(text=self.content),) if self.content else ()
            return self._message(ports, _ROLES[self.role], content)
        fields.pop("timestamp", None)
        if self.tool_calls or self.function_call:
            # An answer of OpenAI's without a content has null there.
            fields.setdefault("content", None)
        # The readers know JSON's lists only.
        lists = (name for name in ("content", "tool_calls") if isinstance(fields.get(name), tuple))
        raw: JsonObject = {**fields, **{name: list(fields[name]) for name in lists}}
        blocks = as_objects(raw.get("content"))
        if any(map(_is_own, blocks)):
            return self._message(ports, _own_role(self.role, place), _own_blocks(blocks, place))
        provider = Provider.OPENAI if is_chat([raw]) or self.name else Provider.ANTHROPIC
        (read,) = read_messages(provider, [raw], place)
        # Clients get every message again, so that what its blocks say already is not sent twice. Thinking without a
        # signature is in Ullage's form: Anthropic's API refuses it.
        is_said = read.provided and write_messages(provider, replace(read, provided=None)) == [read.provided.fields]
        is_own = provider is Provider.ANTHROPIC and any(map(_is_unsigned, read.content))
        return self._message(ports, read.role, read.content, None if is_said or is_own else read.provided)

    def _message(
        self, ports: Ports, role: Role, content: tuple[Block, ...], provided: Provided | None = None
    ) -> Message:
        return Message(
            id=self.id or ports.ids.new("m"),
            role=role,
            content=content,
            timestamp=ports.clock.now() if self.timestamp is None else self.timestamp,
            provided=provided,
        )


def _require_few_blocks(place: str, blocks: int) -> None:
    if blocks > _MOST_BLOCKS:
        raise InvalidRequest(f"{place}: a message has at most {_MOST_BLOCKS:,} content blocks and tool calls")


def require_shallow(place: str, values: list[Any]) -> None:
    """Raises `InvalidRequest`, whose text begins with `place`, if a value is nested in more than `MOST_LEVELS` levels.
    A recursion through it would fail wherever the session is read."""
    if is_too_deep(values):
        raise InvalidRequest(f"{place}: at most {MOST_LEVELS} levels of objects and lists in one another are possible")


def _is_own(block: JsonObject) -> bool:
    """Returns whether the content block, or one in it, has a shape that only Ullage uses."""
    nested = as_objects(block.get("content"))
    return (
        block.get("type") in _OWN_KINDS
        or (block.get("type") == "image" and "source" not in block)
        or "provided" in block
        or "redacted" in block
        or any(map(_is_own, nested))
    )


def _is_unsigned(block: Block) -> bool:
    return isinstance(block, ThinkingBlock) and not block.signature and not block.redacted


def _own_role(role: str, place: str) -> Role:
    if role not in _ROLES:
        raise InvalidRequest(f"{place}: a message of role {role!r} cannot hold Ullage's own blocks")
    return _ROLES[role]


def _with_parts(block: JsonObject) -> JsonObject:
    """Returns the block, and a tool result whose content is a plain text with a text block in its place."""
    content = block.get("content")
    return {**block, "content": [{"type": "text", "text": content}]} if isinstance(content, str) else block


def _own_blocks(blocks: list[JsonObject], place: str) -> tuple[Block, ...]:
    try:
        return msgspec.convert([*map(_with_parts, blocks)], tuple[Block, ...])
    except msgspec.ValidationError as error:
        raise InvalidRequest(f"{place}.content: {error}") from None
