"""Which formats are known, and which one a file has. Told by content, never by the file's name."""

from collections.abc import Callable

from msgspec import Struct

from ullage.formats import (
    anthropic_messages,
    claude_code,
    codex_log,
    codex_rollout,
    litellm_log,
    mini_swe,
    openai_messages,
    swe_agent,
    tau_bench,
    trae,
    ullage_jsonl,
)
from ullage.formats.imported import ImportedTranscript
from ullage.formats.parsing import Document, parse_document
from ullage.model.errors import UnknownFormat


class Format(Struct, frozen=True, kw_only=True):
    """A format by its name: how its files are known, and how one is read."""

    name: str
    matches: Callable[[Document], bool]
    read: Callable[[Document], ImportedTranscript]


# In the order in which they are tried: the more particular shapes before those they contain.
FORMATS: tuple[Format, ...] = (
    Format(name=ullage_jsonl.NAME, matches=ullage_jsonl.matches, read=ullage_jsonl.read),
    Format(name=trae.NAME, matches=trae.matches, read=trae.read),
    Format(name=mini_swe.NAME, matches=mini_swe.matches, read=mini_swe.read),
    Format(name=swe_agent.NAME, matches=swe_agent.matches, read=swe_agent.read),
    Format(name=tau_bench.NAME, matches=tau_bench.matches, read=tau_bench.read),
    Format(name=litellm_log.NAME, matches=litellm_log.matches, read=litellm_log.read),
    Format(name=claude_code.NAME, matches=claude_code.matches, read=claude_code.read),
    Format(name=codex_log.NAME, matches=codex_log.matches, read=codex_log.read),
    Format(name=codex_rollout.NAME, matches=codex_rollout.matches, read=codex_rollout.read),
    Format(name=anthropic_messages.NAME, matches=anthropic_messages.matches, read=anthropic_messages.read),
    Format(name=openai_messages.NAME, matches=openai_messages.matches, read=openai_messages.read),
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
