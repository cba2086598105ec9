"""The objects that `--json` prints: one struct per command, in snake_case. `ullage schema output` prints their JSON
Schema.

Programs read these objects. A new field may be added at any time; removing or changing one needs a new `version`. Times
are Unix milliseconds, sizes are tokens.
"""

from typing import Any, Literal, Self

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import asdict

from ullage.agents.discovery import UnreadFile
from ullage.api.values import UsageResult
from ullage.cli.reported_figures import Figures, Report, figures_of
from ullage.model.figure import FollowedRow


class UnreadLine(Struct, frozen=True, kw_only=True):
    """A line of a file that could not be read: its number, counted from 1, and the reason."""

    line: int
    reason: str


class ContextReport(Figures, frozen=True, kw_only=True):
    """What `ullage context --json` prints. `name` is the file's path or the session's id. With `--messages`, `system`
    and `messages` are those of a request to the provider."""

    name: str
    title: str
    cwd: str
    unread_lines: tuple[UnreadLine, ...]
    system: Any | UnsetType = UNSET
    messages: list[Any] | UnsetType = UNSET

    @classmethod
    def of(cls, usage: UsageResult, **beside: Any) -> Self:
        """Returns the report for a context's figures. `beside` are the other fields, by name."""
        return cls(**asdict(figures_of(usage)), **beside)


class EditRow(Struct, frozen=True, kw_only=True):
    """An edit of a context. `before` and `after` are the tokens of the whole context, 0 if unknown. `undone_at` is null
    while the edit is in force, and 0 if it was undone at an unknown time. `part_of` is the id of the action's last edit
    if the edit belongs to a larger action."""

    id: str
    kind: str
    trigger: str
    at: int
    words: str
    messages: int
    tokens_saved: int
    before: int
    after: int
    in_force: bool
    undone_at: int | None
    part_of: str | None


class CompactReport(ContextReport, frozen=True, kw_only=True):
    """What `ullage compact --json` prints: the context after the compaction.

    `messages` can be sent to the provider unchanged, and `used` is their size with system prompt and tools.
    `hidden_kept` is the number of tokens that the agent adds to every request, which no compaction removes; `used` and
    `before`, the size before the compaction, don't include them. `size` is the window. `compaction` is null if no
    summary was written.
    """

    before: int
    hidden_kept: int
    size: int | None
    edits: tuple[EditRow, ...]
    compaction: dict[str, Any] | None


class MessageRow(Struct, frozen=True, kw_only=True):
    """A message of a conversation. `number` is the number by which all commands name it. `role` is `tool` for results
    of tools, which models are sent with the user's role. `tokens` is null for an archived message. `inserted` is true
    for a compaction's marker, which has the number of the message after it. `by_agent` is true for a message with the
    user's role that the agent's program wrote."""

    number: int
    id: str
    role: str
    tokens: int | None
    archived: bool
    pinned: bool
    inserted: bool
    by_agent: bool
    at: int | None
    opening: str


class MessagesReport(Report, frozen=True, kw_only=True):
    """What `ullage messages --json` prints. `total` is the number of all messages of the conversation, whether listed
    or not."""

    name: str
    total: int
    messages: tuple[MessageRow, ...]


class MessageReport(Report, frozen=True, kw_only=True):
    """What `ullage search --show --json` prints: one whole message, as content blocks."""

    session_id: str
    number: int
    id: str
    role: str
    archived: bool
    content: list[Any]


class SessionRow(FollowedRow, frozen=True, kw_only=True):
    """A stored session. `agent` is empty if a client of Ullage has the conversation. `live` and `process_id` are known
    while a process follows an agent's conversation. `created_at` and `updated_at` are the times of the session."""

    created_at: int
    parent_id: str | None


class SessionsReport(Report, frozen=True, kw_only=True):
    """What `ullage sessions --json` prints: the sessions, the last changed first, each followed by those of its
    sub-agents."""

    sessions: tuple[SessionRow, ...]


class ConversationRow(FollowedRow, frozen=True, kw_only=True):
    """A conversation of a folder: one in an agent's own file, `path`, or a stored session without such a file.

    `session_id` is the id of the stored session that has all of it (`stored`), or else the agent's own id of the
    conversation; all commands that read take either. `run` is the conversation's number in a file that holds several.
    `messages` and `calls_left` are null for a file of which only the end was read, and the figures for one that can't
    be read, for the `reason`, or that has no message yet.
    """

    stored: bool
    reason: str = ""
    run: int | None = None


class WatchReport(FollowedRow, frozen=True, kw_only=True):
    """What `ullage watch --json` prints, a line for each change: the conversation that has changed. `version` changes
    if a field is removed or changed."""

    version: Literal[1] = 1


class HereReport(Report, frozen=True, kw_only=True):
    """What `ullage --json` and `ullage here --json` print: the first of the `count` conversations of `folder`: those
    that run now, then the fullest. `elsewhere` are those that run in other folders; if there are none, and none of
    `folder`, those of the machine. `unread_files` are agents' files that could not be read."""

    count: int
    folder: str
    conversations: tuple[ConversationRow, ...]
    elsewhere: tuple[FollowedRow, ...]
    unread_files: tuple[UnreadFile, ...]


class HistoryReport(Report, frozen=True, kw_only=True):
    """What `ullage history --json` prints: the edits, oldest first."""

    name: str
    edits: tuple[EditRow, ...]


class ImportReport(Figures, frozen=True, kw_only=True):
    """What `ullage import --json` prints.

    `outcome` says whether the session is new, unchanged, grown, or diverged from the session `diverged_from`. `added`
    is the number of messages that were appended. `passed_over` is the number of lines that are not part of the
    conversation.
    """

    session_id: str
    title: str
    format: str
    outcome: str
    messages: int
    added: int
    diverged_from: str | None
    unread_lines: tuple[UnreadLine, ...]
    passed_over: int


class ImportsReport(Report, frozen=True, kw_only=True):
    """What `ullage import --json` prints for a folder with several conversations: a report of each, and the files that
    could not be read."""

    imported: tuple[ImportReport, ...]
    unread_files: tuple[UnreadFile, ...]


class UndoReport(Report, frozen=True, kw_only=True):
    """What `ullage undo --json` prints. `edits` are the ids of the undone edits, `messages_back` is the number of
    messages that are in the context again, and `before` and `after` are its tokens. With `--dry-run` nothing was
    changed."""

    session_id: str
    edits: tuple[str, ...]
    messages_back: int
    before: int
    after: int
    percent: int | None
    dry_run: bool


class ArchiveRow(Struct, frozen=True, kw_only=True):
    """The room of one agent's files in the archive. `files` counts them and `versions` their versions; `size` is the
    sum of the versions in bytes, and `stored` the bytes that they take."""

    agent: str
    files: int
    versions: int
    size: int
    stored: int


class ArchiveReport(Report, frozen=True, kw_only=True):
    """What `ullage archive --json` prints. `path` is the archive's file, `size` its size in bytes. Sizes are bytes
    here. `wanted` is what the user has answered when asked whether agents' files are kept, null if nothing yet."""

    wanted: bool | None
    path: str
    size: int
    agents: tuple[ArchiveRow, ...]


class StoreCopyReport(Report, frozen=True, kw_only=True):
    """What `ullage store copy --json` prints. The ids of sessions say what became of them: `new` and `grown` were
    written, `unchanged` were there, `differing` were continued differently in both stores and `deleted` were deleted in
    the second: these two are left as they are. `written` counts the records that were written, and `records` those that
    both stores have now; `sha256` is the digest of these, as read from the second store."""

    new: tuple[str, ...]
    grown: tuple[str, ...]
    unchanged: tuple[str, ...]
    differing: tuple[str, ...]
    deleted: tuple[str, ...]
    written: int
    records: int
    sha256: str


class ForgetReport(Report, frozen=True, kw_only=True):
    """What `ullage forget --json` prints: the ids of the deleted sessions, the paths of the conversations' own files
    that were removed from the archive, how many files these were, and the bytes by which store and archive have shrunk.
    `forks` are the ids of sessions that still have a removed conversation's messages, because they are forks of it.
    `left` are the agents' own files that are still in their place."""

    deleted: tuple[str, ...]
    removed: tuple[str, ...]
    files: int
    freed: int
    forks: tuple[str, ...]
    left: tuple[str, ...]


class HitRow(Struct, frozen=True, kw_only=True):
    """A message that matches the query. A higher `score` is better. In `snippet`, the matches are between `**`. `fits`
    says whether the message has most of the query's words near each other."""

    session_id: str
    number: int
    message_id: str
    role: str
    score: float
    snippet: str
    fits: bool


class SearchReport(Report, frozen=True, kw_only=True):
    """What `ullage search --json` prints: the hits, the best first. `unread` is the number of stored records that were
    not indexed, so that nothing of them was found; `note` says what else is to know of the results, "" if nothing."""

    hits: tuple[HitRow, ...]
    unread: int
    note: str


class CheckRow(Struct, frozen=True, kw_only=True):
    """A check of `ullage doctor`. `status` is `ok`, `fix` (then `remedy` is what to do), or `absent` if the thing
    checked is not set up, which is no failure."""

    what: str
    status: Literal["ok", "fix", "absent"]
    found: str
    remedy: str


class DoctorReport(Report, frozen=True, kw_only=True):
    """What `ullage doctor --json` prints. `ok` is true if no check has the status `fix`."""

    ok: bool
    checks: tuple[CheckRow, ...]
