"""Reads a transcript file of any known format. The format is recognised by the file's content, never by its name."""

from ullage.agents.table import AGENTS
from ullage.formats.parsing import Document, parse_document
from ullage.formats.transcripts import (
    anthropic_messages,
    litellm_log,
    mini_swe,
    openai_messages,
    swe_agent,
    tau_bench,
    trae,
    ullage_jsonl,
)
from ullage.formats.transcripts.imported import Format, ImportedTranscript
from ullage.model.errors import UnknownFormat

# In the order in which they are tried. A specific format comes before general ones that would match its files too.
FORMATS: tuple[Format, ...] = (
    ullage_jsonl.FORMAT,
    trae.FORMAT,
    mini_swe.FORMAT,
    swe_agent.FORMAT,
    tau_bench.FORMAT,
    litellm_log.FORMAT,
    *(known for agent in AGENTS for known in agent.formats),
    anthropic_messages.FORMAT,
    openai_messages.FORMAT,
)


def read(data: bytes, name: str = "", format: str | None = None, run: int | None = None) -> ImportedTranscript:  # noqa: A002
    """Converts another program's transcript into Ullage's events.

    `name` is the input's name in errors. `format` is the name of a format, which is then used without detection. If a
    file contains several conversations, `run` chooses one, counted from 1; by default the longest is read. The other
    conversations are listed in the result's `skipped`.

    Raises `UnknownFormat` if no format matches or `format` is not known, `UnreadableTranscript` if the input contains
    no message, and `InvalidRequest` if it has no such run.
    """
    document = parse_document(data, name or "input", run)
    return (_named(format) if format else _detect(document)).read(document)


def detect(data: bytes, name: str = "") -> str:
    """Returns the name of the input's format. Raises `UnknownFormat` if no format matches."""
    return _detect(parse_document(data, name or "input")).name


def format_names() -> tuple[str, ...]:
    """Returns the names of all known formats, in the order in which they are tried."""
    return tuple(known.name for known in FORMATS)


def _detect(document: Document) -> Format:
    for known in FORMATS:
        if known.matches(document):
            return known
    # If any line is JSON, the input isn't JSON as a whole, and the parse error would mislead.
    problem = "" if document.objects else document.problem
    raise UnknownFormat(
        f"{document.name}: no known transcript format recognised{f' ({problem})' if problem else ''}; "
        f"known: {', '.join(format_names())}. Name one with --format."
    )


def _named(name: str) -> Format:
    for known in FORMATS:
        if known.name == name:
            return known
    raise UnknownFormat(f"unknown format {name!r}; known: {', '.join(format_names())}")
