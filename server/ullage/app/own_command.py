"""The command lines by which an agent runs Ullage. They do no harm where Ullage is gone."""

import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from ullage.agents.wiring import Wiring
from ullage.wire.added import Added, HookEntry


def own_words() -> tuple[str, ...]:
    """Returns the words that start this Ullage from any folder: its installed program, or Python with its module."""
    program = Path(sys.argv[0])
    found = program if program.is_file() else Path(shutil.which(sys.argv[0]) or "")
    if found.is_file() and found.stem == "ullage" and os.access(found, os.X_OK):
        return (str(found.absolute()).replace("\\", "/"),)
    return (sys.executable.replace("\\", "/"), "-m", "ullage")


def added_by(wiring: Wiring, store: Path | None, words: Sequence[str], line: str | None) -> Added:
    """Returns what is added to an agent's settings. `words` start Ullage, `store` is the session store's file if it is
    not the usual one. `line` is the command of the status line until now; None leaves the status line alone."""
    chosen = ("--store", str(store.absolute())) if store else ()
    command = _silent(words, ("hook", wiring.word, *chosen))
    return Added(
        hooks=tuple(
            HookEntry(event=place.event, matcher=place.matcher, command=command, timeout=place.timeout)
            for place in wiring.hooks
        ),
        status_line="" if line is None or not wiring.status_line else _chained(words, ("statusline", *chosen), line),
    )


def _silent(words: Sequence[str], arguments: Sequence[str]) -> str:
    """Returns a shell's command that prints no error and never fails."""
    program, whole = shlex.quote(words[0]), shlex.join([*words, *arguments])
    return f"[ -x {program} ] && {whole} 2>/dev/null || true"


def _chained(words: Sequence[str], arguments: Sequence[str], line: str) -> str:
    """Returns a shell's command for a status line that also runs the one of before, by itself if Ullage is gone."""
    if not line:
        return _silent(words, arguments)
    whole = shlex.join([*words, *arguments, "--", line])
    return f"[ -x {shlex.quote(words[0])} ] && {whole} 2>/dev/null || eval {shlex.quote(line)}"
