"""Adds Ullage to the text of a settings file, and takes it out again, in the file's own syntax."""

from ullage.wire import json_added, toml_added
from ullage.wire.entries import Added

_ROOMS = {"json": json_added, "toml": toml_added}


def add(text: str, added: Added) -> str:
    """Returns the settings with what is added. Raises `InvalidRequest` if this can't be added to the text."""
    return text if added.is_empty else _ROOMS[added.syntax].add(text, added)


def take_out(text: str, added: Added, before: str) -> str:
    """Returns the settings without what was added to `before`, whatever else has changed since. Raises
    `InvalidRequest` if the text can't be read, or the addition can't be taken out of it."""
    return text if added.is_empty else _ROOMS[added.syntax].take_out(text, added, before)
