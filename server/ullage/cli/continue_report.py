"""What `ullage continue --json` prints."""

from ullage.cli.reported_figures import Report


class ContinueReport(Report, frozen=True, kw_only=True):
    """What `ullage continue --json` prints: the new session. `written` is false for a preview.

    `source` is the path or id of what it is made from, `path` the new file, and `command` the words that resume it in
    the folder `cwd`; `shell` is the same for a shell. `messages` are those of the new session, `left_out` those of the
    conversation that are not among them. `used` is the size of its context with what the agent adds to every request
    (`hidden`), and `before` the size before Ullage compacted it, null if it did not. `size` is the window and
    `compacts_at` where the agent compacts by itself, null if unknown. `fits` is false if the agent may compact the
    session before it asks the first prompt. `notes` are sentences for the user.
    """

    agent: str
    session_id: str
    source: str
    path: str
    cwd: str
    command: tuple[str, ...]
    shell: str
    written: bool
    messages: int
    left_out: int
    used: int
    hidden: int
    before: int | None
    size: int | None
    compacts_at: int | None
    fits: bool
    notes: tuple[str, ...]
