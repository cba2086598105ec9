"""What `ullage team` and `ullage search --team` print for programs."""

from msgspec import Struct

from ullage.cli.reported_figures import Report


class TeamFolderRow(Struct, frozen=True, kw_only=True):
    """A shared folder: the roles of the database that may read it, the patterns of private text, and, after something
    was sent or removed, the numbers of its sessions in the archive, of those that were sent and of those removed.
    `by_hand` says that only a command sends them; `sent_at` is when what was new was sent last, in Unix milliseconds,
    and `error` what was wrong with a later try."""

    folder: str
    members: tuple[str, ...]
    private: tuple[str, ...]
    by_hand: bool = False
    sent_at: int | None = None
    error: str = ""
    sessions: int | None = None
    sent: int | None = None
    removed: int | None = None


class EditorPrivateRow(Struct, frozen=True, kw_only=True):
    """What an editor's setting `privatePatterns` says, which is left out of all shared folders, too: the editor's name,
    and the folders that were open in it."""

    editor: str
    folders: tuple[str, ...]
    private: tuple[str, ...]


class TeamReport(Report, frozen=True, kw_only=True):
    """What `ullage team --json` prints: the address of the team's archive, "" if none was chosen, and the folders that
    are shared, or that the action was about, and what the user's editors call private."""

    archive: str
    folders: tuple[TeamFolderRow, ...]
    editors: tuple[EditorPrivateRow, ...] = ()


class TeamHitRow(Struct, frozen=True, kw_only=True):
    """A message in the team's archive that matches: as `HitRow`, with the role of the database whose it is, and the
    folder and the title of its session."""

    owner: str
    folder: str
    title: str
    session_id: str
    number: int
    role: str
    score: float
    snippet: str
    fits: bool


class TeamMessageReport(Report, frozen=True, kw_only=True):
    """What `ullage search --team --show --json` prints: a whole message in the team's archive, with the role of the
    database whose it is, the folder and the title of its session, and the number of the messages that the archive has
    of this session."""

    owner: str
    folder: str
    title: str
    session_id: str
    number: int
    role: str
    text: str
    messages: int


class TeamSearchReport(Report, frozen=True, kw_only=True):
    """What `ullage search --team --json` prints: the hits, the best first."""

    hits: tuple[TeamHitRow, ...]
