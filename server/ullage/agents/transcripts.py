"""Reads a transcript file of any known format. The format is told by the file's content, never by its name."""

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

# In the order in which they are tried: a format comes before the formats that its files would match, too.
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
    """A foreign transcript as events. `name` is what errors call the input, `format` overrules detection.

    Where a file holds several conversations, `run` says which, from 1; without it the longest is read. The others
    are named in `skipped`.

    Raises `UnknownFormat`, or `UnreadableTranscript` when nothing in it can be read.
    """
    document = parse_document(data, name or "input", run)
    return (_named(format) if format else _detect(document)).read(document)


def detect(data: bytes, name: str = "") -> str:
    """The name of the input's format. Raises `UnknownFormat`."""
    return _detect(parse_document(data, name or "input")).name


def format_names() -> tuple[str, ...]:
    """All known formats."""
    return tuple(known.name for known in FORMATS)


def _detect(document: Document) -> Format:
    for known in FORMATS:
        if known.matches(document):
            return known
    # Of lines, most of which are JSON, it says nothing that the file as a whole is not.
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
