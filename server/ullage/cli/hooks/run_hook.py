"""Runs `ullage hook`."""

import os
import sys
import time
from _thread import allocate_lock, start_new_thread

from ullage.cli.hooks.kept import keep_summary, note_arrival, take_summary, was_given
from ullage.cli.statusline.files import default_store, is_safe
from ullage.cli.statusline.line_figure import as_object
from ullage.cli.statusline.plain_json import parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

# Seconds. A user waits for an agent's hook; what needs longer is left out.
LIMIT = 2.0
# Characters of the longest summary that is kept.
_LONGEST = 1_000_000


def run(words: "Sequence[str]") -> int | None:
    """Answers the hook that an agent describes on standard input. Returns 0, whatever happens; prints nothing unless
    there is something to give back. Returns None if the arguments are not valid."""
    options = _parse(words)
    if options is None:
        return None
    hook = _Hook(*options)
    start_new_thread(hook.end_late, ())
    try:
        hook.answer()
    except Exception:  # noqa: BLE001  (an agent would show the traceback, or stop)
        hook.note("failed")
    return 0


class _Hook:
    """One hook of an agent, until it is answered or too late."""

    def __init__(self, agent: str, store: str) -> None:
        self._agent = agent
        self._store = store
        self._session = self._event = ""
        # Held by what ends the hook first: the answer, or the time limit.
        self._ending = allocate_lock()

    def end_late(self) -> None:
        """Ends the process without a word when the time is over."""
        time.sleep(LIMIT)
        if self._ending.acquire(blocking=False):
            self._write_note("late")
            os._exit(0)

    def answer(self) -> None:
        """Reads what the agent says, and prints the answer if there is one."""
        said = as_object(parse(sys.stdin.buffer.read()))
        self._session = session if isinstance(session := said.get("session_id"), str) and is_safe(session) else ""
        event, source = said.get("hook_event_name"), said.get("source")
        if event == "SubagentStop":
            self._keep(said)
        elif event == "SessionStart" and source in ("compact", "resume"):
            self._event = f"SessionStart {source}"
            self._give_back(said, after_compaction=source == "compact")

    def note(self, outcome: str, text: str = "", given: "dict[str, int] | None" = None) -> None:
        """Writes the line of this hook, and prints the answer, unless the time is over."""
        if self._ending.acquire(blocking=False):
            _print(text)
            self._write_note(outcome, len(text.encode("utf-16-le")) // 2, given)

    def _keep(self, said: "dict[str, Any]") -> None:
        """Keeps the summary of a compaction. It is handed over as the last words of a sub-agent without a type, before
        the session starts again; no file has it then."""
        summary = said.get("last_assistant_message")
        if self._session and said.get("agent_type") == "" and isinstance(summary, str) and 0 < len(summary) <= _LONGEST:
            self._event = "SubagentStop"
            keep_summary(self._store, self._session, summary)
            self.note("kept")

    def _give_back(self, said: "dict[str, Any]", *, after_compaction: bool) -> None:
        summary, path = take_summary(self._store, self._session), said.get("transcript_path")
        if not isinstance(path, str) or not self._session:
            self.note("failed")
        elif after_compaction or was_given(self._store, self._session):
            # Imports the readers of transcripts.
            from ullage.cli.hooks.giving_back import brief_of, is_summary_known  # noqa: PLC0415

            if after_compaction and not is_summary_known(self._agent, summary):
                self.note("no summary")
                return
            text, given = brief_of(self._agent, path, summary if after_compaction else "")
            self.note("given" if text else "nothing", text, given)

    def _write_note(self, outcome: str, characters: int = 0, given: "dict[str, int] | None" = None) -> None:
        try:
            texts = {"agent": self._agent, "session": self._session, "event": self._event, "outcome": outcome}
            note_arrival(self._store, texts, characters, given or {})
        except OSError:
            pass


def _print(text: str) -> None:
    """Prints the answer to a `SessionStart` hook, if it isn't empty: an object with the text to add."""
    if not text:
        return
    import json  # noqa: PLC0415

    answer = {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": text}}
    try:
        sys.stdout.buffer.write(json.dumps(answer).encode())
        sys.stdout.buffer.flush()
    except OSError:
        # The agent no longer waits for it. Python would try again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parse(words: "Sequence[str]") -> "tuple[str, str] | None":
    """Returns the agent's word and the store, or None if the arguments are not valid or ask for help."""
    agent, store = "", ""
    left = iter(words)
    for word in left:
        if word == "--store":
            store = next(left, "")
        elif word.startswith("--store="):
            store = word.removeprefix("--store=")
        elif word.startswith("-") or agent:
            return None
        else:
            agent = word
    # A line of the list of arrivals has the word as it is.
    known = agent.replace("-", "").isalnum() and agent.isascii()
    return (agent, store or default_store()) if known else None
