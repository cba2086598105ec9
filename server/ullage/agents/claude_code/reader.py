"""Reads Claude Code's session logs: one JSON object per line.

The `type` of a line is user, assistant, system, progress or another. One answer of the model is spread over several
lines with the same `message.id`, and the results of its first tool calls may come between these lines. Only the last of
the lines has the complete usage. A compaction is a `compact_boundary` line followed by a user line with
`isCompactSummary`.
"""

from collections.abc import Iterable, Sequence

from ullage.agents.claude_code.branch import Branch, Entry, find_branch
from ullage.formats.parsing import Document, as_count, as_timestamp
from ullage.formats.transcripts.anthropic_blocks import read_blocks
from ullage.formats.transcripts.builder import TranscriptBuilder
from ullage.formats.transcripts.imported import Format, ImportedTranscript
from ullage.formats.usage import convert_usage
from ullage.model.blocks import Block, ToolResultBlock, ToolUseBlock, join_texts
from ullage.model.json_values import as_object, as_text
from ullage.model.message import Role

NAME = "claude-code"
# Types of lines that Claude Code writes for itself. The model is sent none of them.
_OWN_LINES = {
    "progress",
    "file-history-snapshot",
    "queue-operation",
    "summary",
    "system",
    "attachment",
    "custom-title",
    "ai-title",
    "last-prompt",
    "permission-mode",
}
_SYNTHETIC_MODEL = "<synthetic>"


def matches(document: Document) -> bool:
    """Returns whether any line is a message in Claude Code's shape."""
    return any(
        value.get("type") in ("user", "assistant")
        and isinstance(value.get("message"), dict)
        and ("sessionId" in value or "uuid" in value)
        for value in document.objects
    )


def read(document: Document) -> ImportedTranscript:
    """Returns the conversation that the log's last message belongs to."""
    builder = TranscriptBuilder(NAME, document.name)
    entries: list[Entry] = []
    for line in document.lines:
        if line.value is None:
            builder.skip_unread(line)
        else:
            entries.append(Entry(number=line.number, value=line.value))
    _read_facts(builder, entries)
    messages = _keep_messages(builder, entries)
    if messages:
        _Conversation(builder, find_branch(messages), entries).read()
    return builder.finish()


def _read_facts(builder: TranscriptBuilder, entries: Iterable[Entry]) -> None:
    for entry in entries:
        builder.cwd = builder.cwd or as_text(entry.value.get("cwd"))
        title = as_text(entry.value.get("summary")) or as_text(entry.value.get("customTitle"))
        builder.title = title or builder.title


def _keep_messages(builder: TranscriptBuilder, entries: Iterable[Entry]) -> list[Entry]:
    """Returns the entries that belong to the tree, or an empty list if none of them is a message.

    Records every entry that is not a message as skipped.
    """
    kept: list[Entry] = []
    for entry in entries:
        reason, expected = _why_skipped(entry)
        if reason:
            builder.skip(entry.number, reason, expected=expected)
        if expected:
            kept.append(entry)
    return kept if any(entry.is_message for entry in kept) else []


def _why_skipped(entry: Entry) -> tuple[str, bool]:
    """Returns why an entry is not a message ("" if it is one), and whether such an entry is normal in this format."""
    value, kind = entry.value, entry.kind
    if kind in ("user", "assistant"):
        if not isinstance(as_object(value.get("message")).get("content"), str | list):
            return "message without content", False
        if value.get("isSidechain") is True:
            return "sidechain: a sub-agent's conversation", True
        return "", True
    if kind in _OWN_LINES:
        subtype = as_text(value.get("subtype"))
        return f"{kind} line ({subtype})" if subtype else f"{kind} line", True
    return f"unknown line type {kind!r}", False


class _Conversation:
    """Turns one branch into messages: merges the lines of each answer, and the lines of its results."""

    def __init__(self, builder: TranscriptBuilder, branch: Branch, entries: Sequence[Entry]) -> None:
        self._builder = builder
        self._chain = branch.chain
        self._lines = sorted([*branch.chain, *branch.siblings], key=lambda entry: entry.number)
        self._answers: dict[str, list[Entry]] = {}
        self._results: dict[str, list[Entry]] = {}
        for line in self._lines:
            if line.answer_id:
                self._answers.setdefault(line.answer_id, []).append(line)
            for call in line.result_ids:
                self._results.setdefault(call, []).append(line)
        self._boundaries = [entry for entry in entries if entry.value.get("subtype") == "compact_boundary"]
        self._taken: set[int] = set()
        self._skip_other_branches(entries)

    def read(self) -> None:
        for entry in self._chain:
            if entry.number in self._taken:
                continue
            if entry.value.get("isApiErrorMessage") is True:
                self._builder.skip(entry.number, "error of the API, not sent to the model", expected=True)
            elif entry.kind == "assistant":
                self._read_answer(entry)
            elif entry.value.get("isCompactSummary") is True:
                self._read_compaction(entry)
            else:
                self._read_user(entry)

    def _read_answer(self, entry: Entry) -> None:
        lines = self._answer_lines(entry)
        self._taken.update(line.number for line in lines)
        content = _without_copies(lines)
        message = as_object(lines[-1].value.get("message"))
        model = as_text(message.get("model"))
        if model != _SYNTHETIC_MODEL:
            self._builder.use_model(model)
        message_id = self._builder.add(Role.ASSISTANT, content, entry.answer_id or _uuid(entry), _timestamp(entry))
        self._builder.report(convert_usage(as_object(message.get("usage"))), message_id)
        self._read_results({block.id for block in content if isinstance(block, ToolUseBlock)})

    def _answer_lines(self, entry: Entry) -> list[Entry]:
        return self._answers.get(entry.answer_id, [entry])

    def _read_results(self, calls: set[str]) -> None:
        """Adds one message with all results of an answer's calls, however many lines the log used for them."""
        found = {line.number: line for call in calls for line in self._results.get(call, [])[:1]}
        lines = [found[number] for number in sorted(found.keys() - self._taken)]
        if not lines:
            return
        self._taken.update(line.number for line in lines)
        content = [block for line in lines for block in _read_content(line)]
        # Providers want tool results before any other content of the same message.
        content.sort(key=lambda block: not isinstance(block, ToolResultBlock))
        self._builder.add(Role.USER, content, _uuid(lines[0]), _timestamp(lines[0]))

    def _read_user(self, entry: Entry) -> None:
        self._taken.add(entry.number)
        self._builder.add(Role.USER, _read_content(entry), _uuid(entry), _timestamp(entry))

    def _read_compaction(self, entry: Entry) -> None:
        self._taken.add(entry.number)
        before = [boundary for boundary in self._boundaries if boundary.number < entry.number]
        boundary = before[-1].value if before else {}
        metadata = as_object(boundary.get("compactMetadata"))
        self._builder.compact(
            join_texts(_read_content(entry)),
            edit_id=_uuid(entry),
            timestamp=_timestamp(entry),
            before=as_count(metadata.get("preTokens")),
            trigger=as_text(metadata.get("trigger")),
        )

    def _skip_other_branches(self, entries: Iterable[Entry]) -> None:
        kept = {line.number for line in self._lines}
        for entry in entries:
            if entry.is_message and entry.number not in kept:
                self._builder.skip(entry.number, "not on the branch that leads to the last message", expected=True)


def _without_copies(lines: Iterable[Entry]) -> list[Block]:
    """Returns the blocks of an answer in order, each once. The log of a resumed session has some lines twice."""
    content: list[Block] = []
    calls: set[str] = set()
    for line in lines:
        for block in _read_content(line):
            if isinstance(block, ToolUseBlock):
                if block.id in calls:
                    continue
                calls.add(block.id)
            elif block in content:
                continue
            content.append(block)
    return content


def _read_content(entry: Entry) -> tuple[Block, ...]:
    return read_blocks(as_object(entry.value.get("message")).get("content"))


def _uuid(entry: Entry) -> str:
    return as_text(entry.value.get("uuid"))


def _timestamp(entry: Entry) -> int:
    return as_timestamp(entry.value.get("timestamp"))


FORMAT = Format(name=NAME, matches=matches, read=read)
