"""The artifact ledger: files, commands and names that a conversation touched, collected by code and not by a summary.

Summaries lose file paths and outcomes first (the lowest score of every product measured in public studies). The ledger
is collected from the tool calls and survives each compaction as data.
"""

from enum import StrEnum

from msgspec import Struct


class FileAction(StrEnum):
    """What a conversation did to a file. The ledger keeps one action per file: its last change, but a file that was
    created and then modified stays `created`, and a later `read` replaces no change."""

    READ = "read"
    MODIFIED = "modified"
    CREATED = "created"
    DELETED = "deleted"


class Outcome(StrEnum):
    """How a command ended, as far as its output shows; `unknown` if the output does not show it."""

    PASSED = "passed"
    FAILED = "failed"
    UNKNOWN = "unknown"


class FileArtifact(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A file that archived messages touched, or that the messages after them changed: its path, the action on it (see
    `FileAction`), the number of actions in archived messages (`times`), and the index in the transcript of the last
    message that touched it."""

    path: str
    action: FileAction
    times: int = 1
    last_index: int = 0


class CommandArtifact(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A command or test run in archived messages: its last outcome, the most informative line of its output (`detail`),
    how often it ran (`times`), and the index in the transcript of the last message that ran it."""

    command: str
    outcome: Outcome
    is_test: bool = False
    detail: str = ""
    times: int = 1
    last_index: int = 0


class IdentifierArtifact(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A name that the agent wrote in archived messages (function, class, flag, hash, URL, but no path): text around its
    last occurrence (`context`), how often it occurs (`times`), and the index in the transcript of the last message that
    has it."""

    name: str
    context: str = ""
    times: int = 1
    last_index: int = 0


class ArtifactLedger(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The files, commands and names of a range of messages, collected by code. Each list begins with the most important
    one."""

    files: tuple[FileArtifact, ...] = ()
    commands: tuple[CommandArtifact, ...] = ()
    identifiers: tuple[IdentifierArtifact, ...] = ()
