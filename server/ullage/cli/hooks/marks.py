"""Finds out, from an agent's file alone, that the agent has compacted: the file has a mark that it did not have before.
Agents that run no hook after a compaction need it."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ullage.cli.hooks.kept import Kept

# Bytes of a summary by which it is distinguished from another one.
_LONGEST = 2_000
# Bytes before the place up to which a file was searched. If they have changed, the agent has written all of it again.
_SAMPLE = 200


def has_new_mark(kept: "Kept", path: str, mark: str) -> bool:
    """Returns whether the last text in a file of JSON that begins with `mark` is another one than when this was last
    asked for the session. The agent may have written the text several times. Of a file that has grown since, only the
    lines that are new are read. A file that the agent has not written yet has none. Raises `OSError`."""
    try:
        file = open(path, "rb")  # noqa: PTH123, SIM115
    except FileNotFoundError:
        return False
    with file:
        at, before = kept.searched()
        if at:
            file.seek(at - len(before))
            if file.read(len(before)) != before:
                at = 0
        file.seek(at)
        data = file.read()
    end = data.rfind(b"\n") + 1
    if end:
        kept.note_searched(at + end, data[max(0, end - _SAMPLE) : end])
    # A line that the agent is still writing is read at the next time. A file of one line may have no line break.
    found = data.rfind(b'"' + mark.encode(), 0, end if end or at else len(data))
    return found >= 0 and kept.set_mark(data[found : _end_of_text(data, found + 1)])


def _end_of_text(data: bytes, start: int) -> int:
    """Returns the place of the quotation mark that ends a JSON text, or the place where enough of it is known."""
    at = start
    while (at := data.find(b'"', at, start + _LONGEST)) >= 0:
        before = data[start:at]
        if (len(before) - len(before.rstrip(b"\\"))) % 2 == 0:
            return at
        at += 1
    return min(start + _LONGEST, len(data))
