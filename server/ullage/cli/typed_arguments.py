"""Parsed arguments as typed values."""

from argparse import Namespace
from pathlib import Path
from typing import Literal, TypeVar

import msgspec
from msgspec import Struct

T = TypeVar("T")


class StoreOptions(Struct, frozen=True, kw_only=True):
    """The arguments of every command on stored sessions. `store` is the store's file or address, or None for the one in
    the user's data folder; `json` prints for programs."""

    store: str | None = None
    json: bool = False


class ReadingOptions(StoreOptions, frozen=True, kw_only=True):
    """Which transcript a command reads, and how.

    `target` is a file, `-` for standard input, or a stored session; None means the newest session of this folder.
    `format` is the file's format and `run` the number of the conversation in it. `model` and `window` (tokens) replace
    those of the transcript. `at` is the number of messages to read, from the first on.
    """

    target: str | None = None
    format: str | None = None
    run: int | None = None
    model: str | None = None
    window: int | None = None
    at: int | None = None

    @property
    def as_stored(self) -> bool:
        """Whether a stored session is read as it is: with its own model and window, and with all of its messages."""
        return self.model is None and self.window is None and self.at is None


class ContextOptions(ReadingOptions, frozen=True, kw_only=True):
    """The arguments of `ullage context`."""

    provider: str
    messages: bool


class MessagesOptions(ReadingOptions, frozen=True, kw_only=True):
    """The arguments of `ullage messages`."""

    context: bool
    biggest: bool
    limit: int | None


class LostOptions(ReadingOptions, frozen=True, kw_only=True):
    """The arguments of `ullage lost`."""

    limit: int | None


class BriefOptions(ReadingOptions, frozen=True, kw_only=True):
    """The arguments of `ullage brief`."""

    chars: int


class CompactOptions(ReadingOptions, frozen=True, kw_only=True):
    """The arguments of `ullage compact`."""

    provider: str
    budget: int | None
    first: str | None
    last: str | None
    focus: str
    output: Path | None


class ContinueOptions(ReadingOptions, frozen=True, kw_only=True):
    """The arguments of `ullage continue`. `from_message` is a message's number, counted from 1,
    and `agent` the name of the agent that resumes it, "" for the conversation's own."""

    agent: str
    compacted: bool
    before_compaction: bool
    from_message: int | None
    budget: int | None
    focus: str
    preview: bool

    @property
    def is_compacted(self) -> bool | None:
        """True if a compacted context is asked for, else None."""
        return self.compacted or self.budget is not None or bool(self.focus) or None


class ImportOptions(StoreOptions, frozen=True, kw_only=True):
    """The arguments of `ullage import`. `file` may be `-` for standard input."""

    file: str
    format: str | None
    run: int | None


class UndoOptions(StoreOptions, frozen=True, kw_only=True):
    """The arguments of `ullage undo`."""

    session: str
    edit: str | None
    dry_run: bool


class ForgetOptions(StoreOptions, frozen=True, kw_only=True):
    """The arguments of `ullage forget`. `names` are what the user calls conversations. `older_than` is in days, `to` in
    bytes, `folder` a path, and `matching` a pattern with shell wildcards."""

    names: tuple[str, ...]
    older_than: int | None
    folder: Path | None
    matching: str | None
    to: int | None
    yes: bool

    @property
    def chooses(self) -> bool:
        """Whether conversations are chosen by what they are, and not by their names."""
        return any(one is not None for one in (self.older_than, self.folder, self.matching, self.to))


class HereOptions(StoreOptions, frozen=True, kw_only=True):
    """The arguments of `ullage here`."""

    limit: int
    all: bool


class ListOptions(StoreOptions, frozen=True, kw_only=True):
    """The arguments of `ullage sessions`."""

    limit: int
    cwd: str | None = None
    ids: bool = False


class WatchOptions(StoreOptions, frozen=True, kw_only=True):
    """The arguments of `ullage watch`. `since` is in seconds."""

    since: int


class SearchOptions(StoreOptions, frozen=True, kw_only=True):
    """The arguments of `ullage search`."""

    query: str | None
    session: str | None
    limit: int
    show: str | None
    team: bool = False
    archive: str | None = None
    embeddings: tuple[str, str] | None = None


class ExportOptions(StoreOptions, frozen=True, kw_only=True):
    """The arguments of `ullage export`. `version` counts from 1."""

    session: str
    shape: str
    original: bool
    version: int | None
    output: Path | None


class ArchiveOptions(StoreOptions, frozen=True, kw_only=True):
    """The arguments of `ullage archive`."""

    action: Literal["on", "off"] | None


class StoreCopyOptions(Struct, frozen=True, kw_only=True):
    """The arguments of `ullage store copy`: the places of two stores."""

    source: str
    target: str
    json: bool


class TeamOptions(StoreOptions, frozen=True, kw_only=True):
    """The arguments of `ullage team`."""

    action: Literal["share", "unshare", "send"] | None = None
    folder: str | None = None
    archive: str | None = None
    members: tuple[str, ...] = ()
    private: tuple[str, ...] = ()
    by_hand: bool = False


class UnwireOptions(Struct, frozen=True, kw_only=True):
    """The arguments of `ullage unwire`. `agents` are the words by which agents are named."""

    store: str | None = None
    agents: tuple[str, ...]
    yes: bool


class WireOptions(UnwireOptions, frozen=True, kw_only=True):
    """The arguments of `ullage wire`."""

    statusline: bool
    fill_notes: bool
    mcp: bool


def read_options(args: Namespace, kind: type[T]) -> T:
    """Returns the parsed arguments as a struct of the type `kind`."""
    return msgspec.convert(vars(args), kind)
