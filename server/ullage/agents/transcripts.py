"""Reads a transcript file of any known format. The format is recognised by the file's content, never by its name."""

from collections.abc import Sequence
from difflib import get_close_matches
from functools import lru_cache

from ullage.agents.agent import Agent
from ullage.agents.table import AGENTS
from ullage.formats.parsing import EMPTY, Document, Line, parse_document
from ullage.formats.transcripts.builder import ImportedTranscript
from ullage.formats.transcripts.format import Format
from ullage.formats.transcripts.message_lists import GENERAL, SPECIFIC
from ullage.model.errors import UnknownFormat
from ullage.model.json_values import JsonObject

# How the name of a file of records ends, to which its agent only adds.
RECORDS = ".jsonl"
# In the order in which they are tried. A specific format comes before general ones that would match its files too.
FORMATS: tuple[Format, ...] = (*SPECIFIC, *(known for agent in AGENTS for known in agent.formats), *GENERAL)


def read(data: bytes, name: str = "", format: str | None = None, run: int | None = None) -> ImportedTranscript:  # noqa: A002
    """Converts another program's transcript into Ullage's events.

    `name` is the input's name in errors. `format` is the name of a format, which is then used without detection. If a
    file contains several conversations, `run` chooses one, counted from 1; by default the newest or the longest is
    read. The other conversations are listed in the result's `skipped`.

    Raises `UnknownFormat` if no format matches or `format` is not known, `UnreadableTranscript` if the input contains
    no message, and `InvalidRequest` if it has no such run.
    """
    return read_document(parse_document(data, name or "input", run), format)


def read_document(document: Document, format: str | None = None) -> ImportedTranscript:  # noqa: A002
    """Converts a parsed transcript file into Ullage's events. `format` and the errors are as in `read`."""
    return (format_named(format) if format else detect_format(document)).read(document)


def companions_of(path: str) -> tuple[str, ...]:
    """Returns the files that belong to a transcript file, as glob patterns relative to its folder, for all known
    agents. Judged by the path alone."""
    return tuple(pattern for agent in AGENTS for pattern in agent.companions(path))


_REPORTING = tuple(agent for agent in AGENTS if agent.reports_beside)


@lru_cache(10_000)
def read_with(path: str) -> tuple[str, ...]:
    """Returns the paths of the files that are read again with the transcript file at `path` whenever one of them
    changes: those of fixed names that belong to it. To records, which are only added, such files say facts alone,
    unless they have the reports (`Agent.reports_beside`). All paths have forward slashes."""
    folder, _, _ = path.rpartition("/")
    agents = _REPORTING if path.endswith(RECORDS) else AGENTS
    names = (name for agent in agents for name in agent.companions(path))
    return tuple(f"{folder}/{name}" for name in names if not {"*", "?", "["} & set(name))


def kept_beside(path: str) -> tuple[str, ...]:
    """Returns all files that belong to a conversation's file, read or not, as patterns of the same kind as those of
    `companions_of`."""
    return (*companions_of(path), *(pattern for agent in AGENTS for pattern in agent.kept_beside(path)))


def references_of(document: Document) -> tuple[str, ...]:
    """Returns the files that a transcript's content refers to, as glob patterns relative to its folder. The document's
    name is its path."""
    return tuple(pattern for agent in AGENTS for pattern in agent.references(document))


def conversation_tables() -> frozenset[str]:
    """Returns the names of the database tables in which any agent keeps conversations."""
    return frozenset(table for agent in AGENTS for table in agent.tables)


def format_of(agent: Agent, path: str, records: Sequence[JsonObject]) -> str:
    """Returns the name of the format of one of an agent's files, judged by some of its records. If they don't show
    which it is, returns the agent's last format.

    For an agent without formats of its own, returns the format of its `sessions`, or "" if it has none.
    """
    if not agent.formats:
        return agent.sessions.format if agent.sessions else ""
    *others, last = agent.formats
    lines = tuple(Line(number=number, value=record) for number, record in enumerate(records, start=1))
    document = Document(name=path, value=records[0] if len(records) == 1 else list(records), lines=lines)
    return next((known.name for known in others if known.matches(document)), last.name)


def known_format(document: Document) -> Format | None:
    """Returns the document's format, or None if no format matches."""
    return next((known for known in FORMATS if known.matches(document)), None)


def format_names() -> tuple[str, ...]:
    """Returns the names of all known formats, in the order in which they are tried."""
    return tuple(known.name for known in FORMATS)


def detect_format(document: Document) -> Format:
    """Returns the document's format. Raises `UnknownFormat` if no format matches."""
    known = known_format(document)
    if known is not None:
        return known
    raise _refusal(document)


# What users give for a format to see which there are.
_LIST = "list"


def _refusal(document: Document) -> UnknownFormat:
    if document.problem == EMPTY:
        return UnknownFormat(f"{document.name} {EMPTY}: there is no transcript in it")
    if not (document.problem or document.lines or document.value is not None):
        return UnknownFormat(
            f"{document.name} is a folder or database without a conversation of a known agent; name a transcript"
        )
    # If any line is JSON, the input isn't JSON as a whole, and the parse error would mislead.
    problem = "" if document.objects else document.problem
    return UnknownFormat(
        f"{document.name} is not a transcript of a known format{f' ({problem})' if problem else ''}; "
        "if it is one, name its format",
        in_shell=f" (`--format {_LIST}` lists them)",
    )


def format_named(name: str) -> Format:
    """Returns the format with this name. Raises `UnknownFormat`, which names the nearest."""
    for known in FORMATS:
        if known.name == name:
            return known
    known_names = f"known: {', '.join(format_names())}"
    if name == _LIST:
        raise UnknownFormat(f"formats {known_names}")
    near = get_close_matches(name, format_names(), n=1)
    raise UnknownFormat(f"unknown format {name!r}; {f'did you mean {near[0]}?' if near else known_names}")
