"""The artifact ledger: files, commands and names that a conversation touched, collected by code and not by a summary.

Summaries lose file paths and outcomes first (the lowest score of every product measured in public studies). The ledger
is collected from the tool calls and survives each compaction as data.
"""

from enum import StrEnum

from msgspec import Struct


class FileAction(StrEnum):
    """The strongest thing that happened to a file. Members are ordered from the weakest to the strongest."""

    READ = "read"
    MODIFIED = "modified"
    CREATED = "created"
    DELETED = "deleted"


class Outcome(StrEnum):
    """How a command ended, as far as its output shows."""

    PASSED = "passed"
    FAILED = "failed"
    UNKNOWN = "unknown"


class FileArtifact(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A file: the strongest action on it, the number of actions, and the index of the last message that touched it."""

    path: str
    action: FileAction
    times: int = 1
    last_index: int = 0


class CommandArtifact(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A command or test run, its last outcome, and the most informative line of its output."""

    command: str
    outcome: Outcome
    is_test: bool = False
    detail: str = ""
    times: int = 1
    last_index: int = 0


class IdentifierArtifact(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A name that the conversation repeats (function, class, flag, hash, URL), and where it occurred."""

    name: str
    context: str = ""
    times: int = 1
    last_index: int = 0


class ArtifactLedger(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """All artifacts of a range of messages. Each list begins with the most important one."""

    files: tuple[FileArtifact, ...] = ()
    commands: tuple[CommandArtifact, ...] = ()
    identifiers: tuple[IdentifierArtifact, ...] = ()
