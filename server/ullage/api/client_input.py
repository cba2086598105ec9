"""Reads what clients write: a prompt (ACP content blocks), and a section of settings (the fields of `Settings`)."""

import base64
import re
from collections.abc import Sequence
from typing import Any, cast

import msgspec

from ullage.formats.requests.turns import IMAGE_TYPES
from ullage.model.blocks import PDF, Block, ImageBlock, ResourceBlock, TextBlock
from ullage.model.errors import InvalidRequest
from ullage.model.json_values import JsonObject, as_object, as_text
from ullage.model.settings import Settings, check_settings


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
