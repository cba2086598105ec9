"""What a shell command shows of itself: a line for people, whether it tests or only looks, the files it touches."""

import re

from msgspec import Struct

from ullage.agents.shell import Touch, first_line, is_test, only_looks, touched_files
from ullage.redaction.clean import clean
from ullage.summary.reading.excerpts import clip

_SHOWN_LIMIT, _FIRST_LIMIT = 140, 200
# A commit's message is often a here-document; its first line says what was done.
_COMMIT_MESSAGE = re.compile(r"\bgit commit\b[^\n]{0,200}<<-?\s*['\"]?\w+['\"]?\n\s*([^\n]{3,200})")
_LOOKED_AT = 4000
_SPACES = re.compile(r"\s+")


class Command(Struct, frozen=True, kw_only=True):
    """A command as shown (empty for none), and its `first` line; `looks` when it only shows something and changes
    nothing."""

    shown: str
    first: str
    looks: bool
    is_test: bool
    touches: tuple[Touch, ...]


def read_command(line: str) -> Command:
    """The command of a whole command line, which may have several lines."""
    looks = only_looks(line)
    return Command(
        shown=_shown(line),
        # Half a secret is not known for one.
        first=clip(clean(first_line(line)), _FIRST_LIMIT),
        looks=looks,
        is_test=is_test(line) and not looks,
        touches=tuple(touched_files(line)),
    )


def _shown(line: str) -> str:
    commit = _COMMIT_MESSAGE.search(line[:_LOOKED_AT])
    first = f"git commit: {commit[1]}" if commit else first_line(line)
    return clip(_SPACES.sub(" ", clean(first)).strip().replace("`", "'"), _SHOWN_LIMIT)
