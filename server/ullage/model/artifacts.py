"""The artifact ledger: what a conversation touched in the world, kept by code rather than by a summary.

Summaries lose file paths and outcomes first (the lowest score of every product measured in public studies),
so they are collected from the tool calls and survive each compaction as data.
"""

from enum import StrEnum

from msgspec import Struct


class FileAction(StrEnum):
    """The strongest thing that happened to a file, weakest first."""

    READ = "read"
    MODIFIED = "modified"
    CREATED = "created"
    DELETED = "deleted"


class Outcome(StrEnum):
    """How a command ended, as far as its output tells."""

    PASSED = "passed"
    FAILED = "failed"
    UNKNOWN = "unknown"


class FileArtifact(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A file: what happened to it, how often, and the index of the message that touched it last."""

    path: str
    action: FileAction
    times: int = 1
    last_index: int = 0


class CommandArtifact(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A command or test run, its last outcome, and the line of its output that tells most."""

    command: str
    outcome: Outcome
    is_test: bool = False
    detail: str = ""
    times: int = 1
    last_index: int = 0


class IdentifierArtifact(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A name the conversation keeps coming back to (function, class, flag, hash, URL), and where it stood."""

    name: str
    context: str = ""
    times: int = 1
    last_index: int = 0


class ArtifactLedger(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """All artifacts of a stretch of conversation, each list ranked: most important first."""

    files: tuple[FileArtifact, ...] = ()
    commands: tuple[CommandArtifact, ...] = ()
    identifiers: tuple[IdentifierArtifact, ...] = ()
