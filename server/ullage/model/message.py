"""Messages, their content blocks, the tools a model is offered, and files of standing instructions.

Blocks have the shape of Anthropic's Messages API. It is the richest (it has thinking, and errors in tool results), so
the shapes of other providers convert into it without loss; `ullage.formats` converts back. Field names are those of the
wire format, hence snake_case.

A marker's block has the artifact ledger: the files, commands and names that a conversation touched. Summaries lose file
paths and outcomes first (the lowest score of every product measured in public studies), so the ledger is collected from
the tool calls by code and survives each compaction as data.

The files in which projects and users give agents standing instructions are brought back after a compaction, quoted by
summaries, and counted as memory.
"""

import re
from collections.abc import Iterable, Sequence
from enum import StrEnum
from math import ceil
from typing import Any

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


# In the place of a summary where an agent began a new context window without one.
NO_SUMMARY = "[The agent began a new context window without a summary.]"
# In the place of a summarizer's name in a marker that came with a program's messages.
GIVEN = "given"
# The media type of the documents that providers take whole.
PDF = "application/pdf"


class Provided(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """What a provider's format says of a message, a content block or a tool. `format` is `anthropic`, `openai`,
    `openai-responses`, or, for a message that an agent's program wrote with the user's role, `program`.

    If it is `whole`, `fields` are the complete value as a program gave it, and a request in that format has this very
    value. In a message that is no longer `whole`, edits have changed the content since. Other formats leave it out. A
    kind of block that Ullage does not know is a text block of its JSON, to be counted and searched.
    """

    format: str
    fields: dict[str, Any]
    whole: bool = False


class TextBlock(Struct, frozen=True, kw_only=True, gc=False, tag_field="type", tag="text", omit_defaults=True):
    """A content block of plain text."""

    text: str
    provided: Provided | None = None


class ImageBlock(Struct, frozen=True, kw_only=True, gc=False, tag_field="type", tag="image", omit_defaults=True):
    """A content block with a picture: base64 `data` or a `url`. `width` and `height` are pixels, None if the sender did
    not give them."""

    media_type: str = "image/png"
    data: str | None = None
    url: str | None = None
    width: int | None = None
    height: int | None = None
    provided: Provided | None = None


class ThinkingBlock(Struct, frozen=True, kw_only=True, gc=False, tag_field="type", tag="thinking", omit_defaults=True):
    """A content block with a model's reasoning. `signature` must be sent back to the provider unchanged. `redacted`
    holds encrypted reasoning that only the provider can read."""

    thinking: str
    signature: str | None = None
    redacted: str | None = None
    provided: Provided | None = None


class ToolUseBlock(Struct, frozen=True, kw_only=True, gc=False, tag_field="type", tag="tool_use", omit_defaults=True):
    """A model's call of the tool `name` with `input`. The block with the result has the same id in `tool_use_id`."""

    id: str
    name: str
    input: dict[str, Any]
    provided: Provided | None = None


class ResourceBlock(Struct, frozen=True, kw_only=True, gc=False, tag_field="type", tag="resource", omit_defaults=True):
    """A file or other resource that was added to the conversation. `data` is the base64 of content that is not text,
    for example of a PDF. Without `text` and `data` it is only a link."""

    uri: str
    text: str | None = None
    mime_type: str | None = None
    data: str | None = None
    provided: Provided | None = None

    @property
    def is_document(self) -> bool:
        """Whether it is a document that some providers take whole: a PDF."""
        return bool(self.data) and self.mime_type == PDF

    @property
    def is_link(self) -> bool:
        return self.text is None and not self.data

    @property
    def name(self) -> str:
        """The last part of its address."""
        return self.uri.rstrip("/").rsplit("/", 1)[-1] or self.uri

    @property
    def title(self) -> str:
        """Its address, and the kind and size of content that is not text: `file:///a.pdf (application/pdf, 1.2 MB)`."""
        if not self.data:
            return self.uri
        size = len(self.data) * 3 / 4
        shown = f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{ceil(size / 1e3)} kB"
        return f"{self.uri} ({self.mime_type or 'of unknown kind'}, {shown})"


ResultPart = TextBlock | ImageBlock | ResourceBlock


class ToolResultBlock(
    Struct, frozen=True, kw_only=True, gc=False, tag_field="type", tag="tool_result", omit_defaults=True
):
    """The result of the tool call with the id `tool_use_id`. `is_error` is set if the tool failed."""

    tool_use_id: str
    content: tuple[ResultPart, ...] = ()
    is_error: bool = False
    provided: Provided | None = None


class BroughtBack(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A project's instruction file that a compaction puts into its marker. `text` is the file's content at that time;
    if it is empty, the model is asked to read the file at `path` again."""

    path: str
    text: str = ""


class SealedCompaction(Struct, frozen=True, kw_only=True):
    """A provider's own compaction of the archived messages, as encrypted `data` that only this provider can read.
    `provider` is the provider's name in the settings; `tokens` is the size of `data` in a prompt."""

    provider: str
    data: str
    tokens: int


class CompactionBlock(
    Struct, frozen=True, kw_only=True, tag_field="type", tag="context_compaction", omit_defaults=True
):
    """The content of a marker, the message that a compaction puts into the view in place of the archived messages.

    `timestamp` is Unix milliseconds; `context_size_before` and `context_size_after` are tokens of the whole context.
    `compaction_number` counts the session's compactions from 1. `kept` holds the ids of messages of the compacted range
    that stay verbatim. The model is sent `summary`, the rendered `ledger` and the project files in `brought_back`;
    users see all fields. If a provider made a compaction of its own (`sealed`), this provider is sent its `data`
    instead.
    """

    compaction_number: int
    timestamp: int
    summary: str
    messages_archived: int
    context_size_before: int
    context_size_after: int = 0
    kept: tuple[str, ...] = ()
    ledger: ArtifactLedger = ArtifactLedger()
    summarizer: str = "offline"
    brought_back: tuple[BroughtBack, ...] = ()
    sealed: SealedCompaction | None = None


Block = TextBlock | ImageBlock | ThinkingBlock | ToolUseBlock | ToolResultBlock | ResourceBlock | CompactionBlock


def is_sealed(block: Block) -> bool:
    """Returns whether only the block's provider knows what it holds, so that no edit may change it. An edit keeps it or
    removes its whole message."""
    return not isinstance(block, CompactionBlock) and block.provided is not None and block.provided.whole


def is_provider_summary(block: Block) -> bool:
    """Returns whether the block is a provider's own compaction, which stands for all that was said before it.
    Anthropic's blocks and OpenAI's items have the same name."""
    if isinstance(block, CompactionBlock) or block.provided is None:
        return False
    return block.provided.whole and block.provided.fields.get("type") == "compaction"


def join_texts(blocks: Iterable[Block]) -> str:
    """Returns the texts of the text blocks, joined by newlines."""
    return "\n".join(block.text for block in blocks if isinstance(block, TextBlock))


def text_and_resources(blocks: Iterable[Block]) -> str:
    """Returns the texts of the text blocks and of the resources, joined by newlines. A resource without a text gives an
    empty line."""
    return "\n".join(block.text or "" for block in blocks if isinstance(block, TextBlock | ResourceBlock))


class Role(StrEnum):
    """Who a message is from. Tool results are the user's, as in Anthropic's API."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"


class Message(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """One message of a transcript. `id` is unique in its session; `timestamp` is Unix milliseconds, 0 when unknown.
    `provided` is the message as a program gave it in a provider's format."""

    id: str
    role: Role
    content: tuple[Block, ...]
    timestamp: int = 0
    provided: Provided | None = None

    @property
    def text(self) -> str:
        """The texts of the message's text blocks, joined by newlines. Other blocks are left out."""
        return join_texts(self.content)

    @property
    def speaker(self) -> str:
        """Who the message is from, as users read it: `tool` if it has only results of tools, else its role."""
        is_tool = bool(self.content) and all(isinstance(block, ToolResultBlock) for block in self.content)
        return "tool" if is_tool else self.role.value

    @property
    def compaction(self) -> CompactionBlock | None:
        """The message's compaction block if the message is a marker, else None."""
        first = self.content[0] if self.content else None
        return first if isinstance(first, CompactionBlock) else None


class ToolDefinition(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A tool offered to the model; `input_schema` is JSON Schema. `provided` is the tool as a program gave it."""

    name: str
    description: str = ""
    input_schema: dict[str, Any] = {}
    provided: Provided | None = None


def number_of(index: int) -> int:
    """Returns the number of the message at `index` of the transcript: `index + 1`, because users count from 1.

    Every text for users and models (`#85` in summaries, lists and searches) has this number. Protocols have the index.
    """
    return index + 1


def index_of(number: int) -> int:
    """Returns the index in the transcript of the message with the user's `number`: `number - 1`, the inverse of
    `number_of`."""
    return number - 1


# As each agent's documents name them, relative to the project's folder; several agents read the first.
INSTRUCTION_FILES = (
    *("AGENTS.md", "CLAUDE.md", ".github/copilot-instructions.md", "GEMINI.md", ".cursorrules"),
    *("QWEN.md", "CRUSH.md", "CONVENTIONS.md", ".goosehints", ".windsurfrules", ".clinerules", ".roorules"),
    *("CLAUDE.local.md", "GEMINI.local.md", "AGENTS.local.md", "AGENTS.override.md"),
)
_NAMES = frozenset(path.rsplit("/", 1)[-1] for path in INSTRUCTION_FILES)
# What agents and the memory tool write for themselves.
_MEMORY = re.compile(r"(?:^|/)(?:MEMORY(?:\.local)?\.md$|memories/)")


def is_instruction_file(path: str) -> bool:
    """Returns whether the last name of a path or URI is that of a file of standing instructions, such as `AGENTS.md`.
    The folder does not matter."""
    return re.split(r"[/\\]", path)[-1] in _NAMES


def is_memory_file(path: str) -> bool:
    """Returns whether a path or URI names a file of standing instructions (`AGENTS.md`), a `MEMORY.md`, or a file in a
    folder `memories`."""
    return is_instruction_file(path) or _MEMORY.search(path) is not None


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
