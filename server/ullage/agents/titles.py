"""Gives a conversation its title: the name that its records have, or the first line that the user typed."""

import re
from collections.abc import Iterable
from itertools import islice

from ullage.agents.inserted import is_typed, without_inserted
from ullage.model.json_values import JsonObject, as_object, as_objects, as_text

# Characters of a prompt in which its first lines are looked for.
_LONGEST = 10_000
# A slash command, also of a plugin, with nothing after it: "/clear", "/plugin:plan".
_COMMAND_ALONE = re.compile(r"/[\w:.-]{1,100}")


def first_line(text: str) -> str:
    """Returns the first line of a prompt that is not blank, cut to 200 characters, to serve as a title. A line that
    ends with a colon is followed by the next one, and gives its place to a heading in Markdown. Returns an empty string
    if every line is blank."""
    lines = [*islice((line.strip() for line in text[:_LONGEST].splitlines() if not line.isspace() and line), 2)]
    if len(lines) > 1 and lines[0].endswith((":", "\uff1a")):
        heading = lines[1].lstrip("#").strip()
        return (heading if heading != lines[1] and heading else f"{lines[0]} {lines[1]}")[:200]
    return lines[0][:200] if lines else ""


def is_lone_command(text: str) -> bool:
    """Returns whether a text is a slash command without a word after it. It is a title only if nothing else was
    typed."""
    return _COMMAND_ALONE.fullmatch(text.rstrip()) is not None


def first_prompt(contents: Iterable[object]) -> str:
    """Returns the first line of the first content that a user typed (see `first_line`), or an empty string if there is
    none. A lone command gives its place to what was typed after it.

    A content is text, an object with a `text`, or a list of such objects. What programs insert is left out.
    """
    command = ""
    for content in contents:
        parts = [as_text(part.get("text")) for part in as_objects(content)]
        for text in (as_text(content), as_text(as_object(content).get("text")), *parts):
            said = without_inserted(text).lstrip() if text else ""
            if said and not said.startswith("<") and is_typed(said):
                if not is_lone_command(said):
                    return first_line(said)
                command = command or first_line(said)
    return command


def last_text(records: Iterable[JsonObject], key: str) -> str:
    """Returns the value under `key` of the last record that has a text there which is not blank, without surrounding
    spaces. Returns an empty string if no record has one."""
    return next((text for record in reversed(list(records)) if (text := as_text(record.get(key)).strip())), "")
