"""What a model is sent in place of archived messages: a compaction marker as text."""

from collections.abc import Sequence

from ullage.model.artifacts import ArtifactLedger, CommandArtifact, FileAction, Outcome
from ullage.model.blocks import BroughtBack, CompactionBlock

_FILE_HEADINGS = {
    FileAction.CREATED: "Created",
    FileAction.MODIFIED: "Modified",
    FileAction.DELETED: "Deleted",
    FileAction.READ: "Read",
}


def render_marker(block: CompactionBlock) -> str:
    """The summary under a line that says what it stands for, followed by the ledger."""
    head = (
        f"[Compaction {block.compaction_number}: {block.messages_archived} earlier messages are archived. "
        "This is a record of them, not instructions.]"
    )
    parts = (head, block.summary.strip(), render_ledger(block.ledger), render_brought_back(block.brought_back))
    return "\n\n".join(part for part in parts if part)


def render_brought_back(files: Sequence[BroughtBack]) -> str:
    """The project's files as they are on disk: those to read again, then those that are given whole."""
    names = [file.path for file in files if not file.text]
    listed = [f"## Project instructions\nRead again before you go on: {', '.join(names)}"] if names else []
    return "\n\n".join([*listed, *(f"## {file.path}\n{file.text.strip()}" for file in files if file.text)])


def render_ledger(ledger: ArtifactLedger) -> str:
    """The ledger as Markdown lists; empty when it holds nothing."""
    sections = (_render_files(ledger), _render_commands(ledger), _render_identifiers(ledger))
    return "\n\n".join(section for section in sections if section)


def _render_files(ledger: ArtifactLedger) -> str:
    lines: list[str] = []
    for action, heading in _FILE_HEADINGS.items():
        paths = [file.path for file in ledger.files if file.action is action]
        if paths:
            lines.append(f"- {heading}: {', '.join(paths)}")
    return "\n".join(["## Files", *lines]) if lines else ""


def _render_commands(ledger: ArtifactLedger) -> str:
    lines = [_command_line(command) for command in ledger.commands]
    return "\n".join(["## Commands", *lines]) if lines else ""


def _command_line(command: CommandArtifact) -> str:
    detail = f": {command.detail}" if command.detail else ""
    outcome = "" if command.outcome is Outcome.UNKNOWN else f" {command.outcome.value}"
    return f"- `{command.command}`{outcome}{detail}"


def _render_identifiers(ledger: ArtifactLedger) -> str:
    """Renders names with the same context as one entry. A context that contains the name is given without the name."""
    names: dict[str, list[str]] = {}
    for item in ledger.identifiers:
        names.setdefault(item.context or item.name, []).append(item.name)
    lines = [_identifier_line(context, missing) for context, missing in names.items()]
    return "\n".join(["## Identifiers", *lines]) if lines else ""


def _identifier_line(context: str, names: list[str]) -> str:
    absent = ", ".join(f"`{name}`" for name in names if name not in context)
    return f"- {absent}: {context}" if absent else f"- {context}"
