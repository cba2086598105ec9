"""Adds Ullage to the text of a settings file, and takes it out again, in the file's own syntax."""

from ullage.model.errors import InvalidRequest
from ullage.wire import json_files, toml_files
from ullage.wire.json_files import has_comments, is_blank, read_text
from ullage.wire.plan import Added

_SCHEMA = "$schema"
_FILES = {"json": json_files, "toml": toml_files}


def add(text: str, added: Added) -> str:
    """Returns the settings with what is added. Raises `InvalidRequest` if this can't be added to the text."""
    if added.is_empty:
        return text
    return _whole(text, added) if added.syntax == "whole" else _FILES[added.syntax].add(text, added)


def take_out(text: str, added: Added, before: str) -> str:
    """Returns the settings without what was added to `before`, whatever else has changed since. Raises
    `InvalidRequest` if the text can't be read, or the addition can't be taken out of it."""
    if added.is_empty:
        return text
    if added.syntax == "whole":
        if text in (added.text, before):
            return before
        raise InvalidRequest("it was changed after Ullage made it; move it away first")
    return _FILES[added.syntax].take_out(text, added, before)


def names_only_schema(text: str, added: Added) -> bool:
    """Returns whether settings from which `added` was taken out have nothing but the address of the schema that checks
    them. Some agents add it by themselves to the settings that they find."""
    if added.syntax != "json" or is_blank(text) or has_comments(text):
        return False
    return read_text(text).keys == (_SCHEMA,)


def _whole(text: str, added: Added) -> str:
    if is_blank(text) or text == added.text:
        return added.text
    raise InvalidRequest("it is not Ullage's; move it away first")
