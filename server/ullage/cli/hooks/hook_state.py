"""The files next to the store that the hooks of one session and their worker share.

`ID.summary` is the summary of a compaction that waits for the worker, or empty if the worker is to look in the agent's
own file; `ID.taken` the one that the worker writes a brief for; `ID.guide` what a
summary that is about to be written must keep; `ID.worker` the worker's process; `ID.pending` a brief
that is not given yet, `ID.brief` one that was; `ID.owed` the time of a compaction whose summary was not handed over;
`ID.figure` how full the context is, `ID.emptied` the time of the last compaction, after which an older figure counts
no more, `ID.reading` how far the agent's file was read for it, and `ID.fill` which notes of the fill were given;
`ID.mark` the beginning of the last summary in the agent's file, or the id of the compaction, and `ID.searched` up to
where it was looked for.
"""

import os
import time

from ullage.bounds import LARGEST_VALUE, OWN_FILE, open_plain, read_plain
from ullage.cli.statusline.files import as_object, parse, remove, remove_old
from ullage.host import this_system, write_whole
from ullage.host.side_files import HOOKS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Seconds. An agent asks for the next hook at once; an older summary is that of a compaction that was given up.
_FRESH = 600
# Seconds. A session that rests longer is hardly resumed; agents remove its file by then.
_LASTS = 30 * 86_400
# Seconds. A reading takes up to a third of the agent's file, and a session that rests longer is read once more.
_CONTINUED = 86_400
# Bytes of a summary by which it is distinguished from another one.
_LONGEST = 2_000
# Bytes before the place up to which a file was searched. If they have changed, the agent has written all of it again.
_SAMPLE = 200


class HookState:
    """The files of a session, for the store at `store`. The session's id is one that a file can be named after."""

    def __init__(self, store: str, session: str) -> None:
        self._folder = store + HOOKS
        self._base = f"{self._folder}/{session}"

    def ask(self, summary: str) -> None:
        """Keeps a summary for the worker, and drops the brief of the compaction before. If it is empty, the worker
        looks in the agent's file. Raises `OSError`."""
        self._write("summary", summary.encode("utf-8", "replace"))
        for kind in ("pending", "brief", *(["owed"] if summary else [])):
            self._remove(kind)

    def take_summary(self) -> str | None:
        """Returns the summary that waits. Returns None if there is none, or only that of a compaction long ago."""
        if not os.path.exists(f"{self._base}.summary"):  # noqa: PTH110
            return None
        # A brief that was left after this one was asked for is for the summary before.
        self._remove("pending")
        try:
            this_system.replace(f"{self._base}.summary", f"{self._base}.taken")
        except OSError:
            return None
        return self._read("taken").decode("utf-8", "replace") if self._is_fresh("taken") else None

    def is_asked(self) -> bool:
        """Returns whether a summary waits for the worker."""
        return self._is_fresh("summary")

    def is_unanswered(self) -> bool:
        """Returns whether a summary waits for the worker, or the worker writes its brief."""
        return self._is_fresh("summary") or self._is_fresh("taken")

    def leave_guide(self, guide: bytes) -> None:
        """Keeps what the summary that the agent is about to write must keep, a JSON object. Raises `OSError`."""
        self._write("guide", guide)

    def guide(self) -> "dict[str, Any] | None":
        """Returns what `leave_guide` has kept, None if there is nothing yet."""
        return self._object("guide")

    def leave(self, brief: bytes) -> None:
        """Keeps the brief for the summary that was taken, a JSON object, until a hook gives it. At any moment a hook
        sees either the summary or the brief. Raises `OSError`."""
        self._write("taken", brief)
        this_system.replace(f"{self._base}.taken", f"{self._base}.pending")

    def has_brief(self) -> bool:
        """Returns whether a brief waits to be given. One that is older than a waiting summary does not count."""
        return not self.is_asked() and os.path.exists(f"{self._base}.pending")  # noqa: PTH110

    def claim(self) -> "dict[str, Any] | None":
        """Returns the waiting brief once; the next caller gets None. It is kept for when the session is resumed."""
        if not self.has_brief():
            return None
        try:
            this_system.replace(f"{self._base}.pending", f"{self._base}.brief")
        except OSError:
            return None
        return self.given()

    def given(self) -> "dict[str, Any] | None":
        """Returns the brief that was given last, or None if the newest compaction has none."""
        return self._object("brief")

    def owe(self) -> None:
        """Notes that a compaction's summary is not known yet. Raises `OSError`."""
        self._write("owed", str(time.time_ns() // 1_000_000).encode())

    def owed(self) -> int:
        """Returns the time of the compaction whose summary was not known, in Unix milliseconds, or 0."""
        return self._time("owed")

    def settle(self) -> None:
        """Removes the note of `owe`."""
        self._remove("owed")

    def set_mark(self, mark: bytes) -> bool:
        """Keeps what marks the last compaction, and returns whether it is another than before. Raises `OSError`."""
        if self._read("mark") == mark:
            return False
        self._write("mark", mark)
        return True

    def note_searched(self, end: int, before: bytes) -> None:
        """Keeps how far the agent's file was searched for a mark, and the bytes before it. Raises `OSError`."""
        self._write("searched", b"%d\n" % end + before)

    def searched(self) -> "tuple[int, bytes]":
        """Returns what `note_searched` has kept last; 0 and no bytes if there is nothing."""
        end, _, before = self._read("searched").partition(b"\n")
        return (int(end), before) if end.isdigit() and before and int(end) >= len(before) else (0, b"")

    def give_up(self) -> None:
        """Removes the summary that waits, of a compaction that was given up, and what it had to keep."""
        self._remove("summary")
        self._remove("guide")

    def note_figure(self, figure: bytes) -> None:
        """Keeps the figure that was counted after a turn: a JSON object, with the time at which it was asked for as
        `asked_at`, in Unix nanoseconds. Raises `OSError`."""
        self._write("figure", figure)

    def figure(self) -> "dict[str, Any] | None":
        """Returns the figure that was last asked for and counted since the last compaction."""
        figure = self._object("figure")
        return figure if figure and int(figure.get("asked_at") or 0) > self._time("emptied") else None

    def note_reading(self, reading: bytes) -> None:
        """Keeps how far the agent's file was read for the figure, and with what. Raises `OSError`."""
        self._write("reading", reading)
        remove_old(self._folder, _CONTINUED, ".reading")

    def reading(self) -> bytes:
        """Returns what `note_reading` has kept last; no bytes if there is nothing."""
        return self._read("reading")

    def note_fill(self, given: str) -> None:
        """Keeps which notes of its fill the agent was given, a JSON object. Raises `OSError`."""
        self._write("fill", given.encode())

    def fill(self) -> "dict[str, Any] | None":
        """Returns which notes were given since the last compaction."""
        return self._object("fill")

    def forget_fill(self) -> None:
        """Forgets the figure and the notes: the context was compacted. A count that has not ended has no effect,
        unless the disk is full: the brief that is given next is worth more."""
        try:  # noqa: SIM105  (importing contextlib takes a hook's time)
            self._write("emptied", str(time.time_ns()).encode())
        except OSError:
            pass
        self._remove("figure")
        self._remove("fill")

    def set_worker(self, process_id: int) -> None:
        """Names the process that is the session's worker from now on. Raises `OSError`."""
        self._write("worker", str(process_id).encode())

    def worker(self) -> int:
        """Returns the id of the worker's process, or 0 if none was started lately. It may have ended."""
        text = self._read("worker") if self._is_fresh("worker") else b""
        return int(text) if text.isdigit() else 0

    def end_worker(self) -> None:
        """Notes that this process, if it is the session's worker, is so no longer."""
        if self.worker() == os.getpid():
            self._remove("worker")

    def _is_fresh(self, kind: str) -> bool:
        try:
            return os.stat(f"{self._base}.{kind}").st_mtime >= time.time() - _FRESH  # noqa: PTH116
        except OSError:
            return False

    def _write(self, kind: str, data: bytes) -> None:
        path = f"{self._base}.{kind}"
        if not os.path.isdir(self._folder):  # noqa: PTH112
            os.makedirs(self._folder, 0o700, exist_ok=True)  # noqa: PTH103
        if not os.path.exists(path):  # noqa: PTH110
            remove_old(self._folder, _LASTS)
        write_whole(path, data)

    def _object(self, kind: str) -> "dict[str, Any] | None":
        data = self._read(kind)
        try:
            return as_object(parse(data)) if data else None
        except (ValueError, RecursionError):
            return None

    def _time(self, kind: str) -> int:
        text = self._read(kind)
        return int(text) if text.isdigit() else 0

    def _read(self, kind: str) -> bytes:
        try:
            return read_plain(f"{self._base}.{kind}", OWN_FILE)
        except OSError:
            return b""

    def _remove(self, kind: str) -> None:
        remove(f"{self._base}.{kind}")


def has_new_mark(kept: "HookState", path: str, mark: str) -> bool:
    """Returns whether the last text in a file of JSON that begins with `mark` is another one than when this was last
    asked for the session. The agent may have written the text several times. Of a file that has grown since, only the
    lines that are new are read. A file that the agent has not written yet has none. Raises `OSError`."""
    try:
        file = open_plain(path)
    except FileNotFoundError:
        return False
    with file:
        at, before = kept.searched()
        if at:
            file.seek(at - len(before))
            if file.read(len(before)) != before:
                at = 0
        file.seek(at)
        data = file.read(LARGEST_VALUE)
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
