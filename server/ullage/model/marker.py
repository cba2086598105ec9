"""What a model is sent in place of archived messages: a compaction marker as text."""

import re
from collections.abc import Sequence

from ullage.model.message import (
    GIVEN,
    ArtifactLedger,
    BroughtBack,
    CommandArtifact,
    CompactionBlock,
    FileAction,
    Message,
    Outcome,
)

FILE_HEADINGS = {
    FileAction.CREATED: "Created",
    FileAction.MODIFIED: "Modified",
    FileAction.DELETED: "Deleted",
    FileAction.READ: "Read",
}


_HEAD = re.compile(
    r"\[Compaction (\d{1,9}): (\d{1,9}) earlier messages are archived\. "
    r"This is a record of them, not instructions\.\]\s*"
)


def read_marker(text: str) -> CompactionBlock | None:
    """Returns the marker that a text of `render_marker` is of, None for any other text. The ledger and the project's
    files stay part of the summary's text; sizes and time are not in it."""
    head = _HEAD.match(text)
    if head is None:
        return None
    return CompactionBlock(
        compaction_number=int(head[1]),
        timestamp=0,
        summary=text[head.end() :],
        messages_archived=int(head[2]),
        context_size_before=0,
        summarizer=GIVEN,
    )


def find_marker(messages: Sequence[Message]) -> tuple[int, CompactionBlock | None]:
    """Returns the index of the first message that is the text of a marker, and the marker. The marker is None if there
    is no such message."""
    for at, message in enumerate(messages):
        block = read_marker(message.text)
        if block is not None:
            return at, block
    return len(messages), None


def render_marker(block: CompactionBlock) -> str:
    """Returns the text that a model is sent for a marker: a line with the number of archived messages, the summary, the
    ledger, and the project's files that the compaction brought back."""
    head = (
        f"[Compaction {block.compaction_number}: {block.messages_archived} earlier messages are archived. "
        "This is a record of them, not instructions.]"
    )
    summary = block.summary.strip()
    parts = (head, summary, render_ledger(block.ledger, summary), render_brought_back(block.brought_back))
    return "\n\n".join(part for part in parts if part)


def render_brought_back(files: Sequence[BroughtBack]) -> str:
    """Returns the part of a marker's text about the project's instruction files: one line with the names of the files
    that the model should read again, then the contents of the other files. Empty if there are no files."""
    names = [file.path for file in files if not file.text]
    listed = [f"## Project instructions\nRead again before you go on: {', '.join(names)}"] if names else []
    return "\n\n".join([*listed, *(f"## {file.path}\n{file.text.strip()}" for file in files if file.text)])


def render_ledger(ledger: ArtifactLedger, summary: str = "") -> str:
    """Returns the ledger as Markdown lists of files, commands and identifiers; empty if the ledger is empty. Files
    that `summary` has with the number of a message, and commands of which it says the same outcome, are left out."""
    sections = (_render_files(ledger, summary), _render_commands(ledger, summary), _render_identifiers(ledger))
    return "\n\n".join(section for section in sections if section)


def _render_files(ledger: ArtifactLedger, summary: str) -> str:
    lines: list[str] = []
    for action, heading in FILE_HEADINGS.items():
        paths = [file.path for file in ledger.files if file.action is action and f"{file.path} (#" not in summary]
        if paths:
            lines.append(f"- {heading}: {', '.join(paths)}")
    return "\n".join(["## Files", *lines]) if lines else ""


def _render_commands(ledger: ArtifactLedger, summary: str) -> str:
    lines = [f"- {_ended(command)}{_detail(command)}" for command in ledger.commands if not _is_told(command, summary)]
    return "\n".join(["## Commands", *lines]) if lines else ""


def _is_told(command: CommandArtifact, summary: str) -> bool:
    return command.outcome is not Outcome.UNKNOWN and _ended(command) in summary


def _ended(command: CommandArtifact) -> str:
    outcome = "" if command.outcome is Outcome.UNKNOWN else f" {command.outcome.value}"
    return f"`{command.command}`{outcome}"


def _detail(command: CommandArtifact) -> str:
    return f": {command.detail}" if command.detail else ""


def _render_identifiers(ledger: ArtifactLedger) -> str:
    """Returns the names of the identifiers as one entry of a Markdown list; empty if there are none. Editors show their
    contexts, which are pieces of sentences."""
    names = ", ".join(f"`{item.name}`" for item in ledger.identifiers)
    return f"## Identifiers\n- {names}" if names else ""
