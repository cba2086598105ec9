"""Finds out, from an agent's file alone, that the agent has compacted: the file has a mark that it did not have before.
Agents that run no hook after a compaction need it."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ullage.cli.hooks.kept import Kept

# Bytes of a summary by which it is distinguished from another one.
_LONGEST = 2_000


def has_new_mark(kept: "Kept", path: str, mark: str) -> bool:
    """Returns whether the last text in a file of JSON that begins with `mark` is another one than when this was last
    asked for the session. The agent may have written the text several times. Raises `OSError`."""
    with open(path, "rb") as file:  # noqa: PTH123
        data = file.read()
    at = data.rfind(b'"' + mark.encode())
    if at < 0:
        return False
    found = data[at : _end_of_text(data, at + 1)]
    return kept.set_mark(found)


def _end_of_text(data: bytes, start: int) -> int:
    """Returns the place of the quotation mark that ends a JSON text, or the place where enough of it is known."""
    at = start
    while (at := data.find(b'"', at, start + _LONGEST)) >= 0:
        before = data[start:at]
        if (len(before) - len(before.rstrip(b"\\"))) % 2 == 0:
            return at
        at += 1
    return min(start + _LONGEST, len(data))
