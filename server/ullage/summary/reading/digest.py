"""A digest of messages: who said what, in excerpts short enough to quote, and the tool calls. Messages are read
once."""

from collections.abc import Iterable, Iterator, Sequence, Set
from enum import StrEnum

from msgspec import Struct

from ullage.agents.calls import ToolCall, tool_calls, touches_of
from ullage.agents.calls_begun import Begun, begun_in
from ullage.agents.inserted import is_summary, is_typed, without_inserted
from ullage.agents.outcomes import goes_on, said_in_refusal, was_refused
from ullage.agents.results import fenced_command, is_output
from ullage.agents.shell import Touch, without_cd
from ullage.agents.shell_purpose import Purpose
from ullage.agents.tools import (
    COMMAND_KEYS,
    OLD_TEXT_KEYS,
    PATH_KEYS,
    PLAN_KEYS,
    SUBJECT_KEYS,
    has_key,
    strings_in,
    text_of,
)
from ullage.model.artifacts import Outcome
from ullage.model.blocks import ResourceBlock, TextBlock, ThinkingBlock
from ullage.model.message import Message, Role
from ullage.summary.checks import Check, checked, go_on
from ullage.summary.reading.excerpts import GAP
from ullage.summary.reading.text_reader import (
    CALL_LIMIT,
    Lines,
    NameCount,
    NameCounts,
    Piece,
    Reader,
)

_REQUEST_LIMIT = 24_000
# Inputs that describe how a tool runs. Paths are left out because they are the name of the group.
_HOW_KEYS = ("description", "restart", "session_id")
# Text that an edit removes from a file is no longer in the file.
_NOT_QUOTED = (*PATH_KEYS, *COMMAND_KEYS, *PLAN_KEYS, *OLD_TEXT_KEYS, *_HOW_KEYS)
# Added to `order` between two texts of one message, so that their pieces don't count as neighbours.
_APART = 10
_NOTHING = NameCounts()


class Source(StrEnum):
    """Where an excerpt comes from: the agent's prose, its thinking, a provider's paraphrase of thinking, a tool call's
    input, or a tool's result."""

    AGENT = "agent"
    THINKING = "thinking"
    PARAPHRASE = "paraphrase"
    CALL = "call"
    RESULT = "result"


class Excerpt(Struct, frozen=True, kw_only=True, gc=False):
    """A redacted sentence or two of the agent's prose or thinking. `index` is the message's index in the transcript,
    `order` the excerpt's place in the message."""

    text: str
    index: int
    order: int = 0
    source: Source
    anchors: tuple[str, ...]

    @property
    def counts(self) -> NameCounts:
        """The anchors, each once, and the characters of the text."""
        size = len(self.text)
        return NameCounts(names=tuple([NameCount(name, 1, size) for name in self.anchors]), size=size)


class Seen(Struct, frozen=True, kw_only=True, gc=False):
    """The redacted lines that the agent wrote into a call or that a tool returned. `index` is the message's index in
    the transcript, `order` the place of the first line among those of all calls. `group` is the file or command in
    which the lines were seen. `pieces` are those that add something to the group, and `counts` their anchors."""

    lines: Lines
    index: int
    order: int
    source: Source
    group: str
    pieces: Sequence[Piece]
    counts: NameCounts


class UserRequest(Struct, frozen=True, kw_only=True, gc=False):
    """The text of one user message, or what the user said in refusing a call, verbatim except for redacted secrets and
    a long text's middle. `index` is the message's index in the transcript; `kept` is true if the message stays in the
    context."""

    text: str
    index: int
    kept: bool


class Run(Struct, frozen=True, kw_only=True, gc=False):
    """One shell command that the agent ran: its text for a summary, its message's index, its outcome, and the most
    informative line of its output. `looks` is true if the command only shows something and changes nothing. `number` is
    the place of its call among `Digest.calls`; `purpose` is what it was run for."""

    command: str
    index: int
    number: int
    outcome: Outcome
    detail: str
    is_test: bool
    looks: bool
    purpose: Purpose


class Digest(Struct, frozen=True, kw_only=True):
    """What a summary needs from some messages. Indices are those of the transcript. `kept` are the anchors of messages
    that stay verbatim. `excerpts` and `seen` are from all others, and `contents` has both in the order of the
    messages, of one message what it says before its calls and results. `touches` has, for each of `calls`, the files
    that it touches and how. `plans` are the plans in the agent's prose, each with its message. `begun` is work that
    continues by itself. `summaries` are messages in which an agent continues after its own compaction. `after` is the
    digest of the messages that follow and stay in the context, None if there are none or they were not read; they show
    how what was begun continued."""

    first_index: int
    end_index: int
    requests: tuple[UserRequest, ...]
    summaries: tuple[UserRequest, ...]
    excerpts: tuple[Excerpt, ...]
    seen: tuple[Seen, ...]
    contents: tuple[Excerpt | Seen, ...]
    kept: frozenset[str]
    calls: tuple[ToolCall, ...]
    touches: tuple[tuple[Touch, ...], ...]
    runs: tuple[Run, ...]
    plans: tuple[tuple[int, tuple[str, ...]], ...] = ()
    begun: tuple[Begun, ...] = ()
    after: "Digest | None" = None


def read_messages(  # noqa: PLR0913 - what is read, and what is known of it
    messages: Sequence[Message],
    indices: Sequence[int],
    reader: Reader,
    kept: Sequence[str] = (),
    check: Check = go_on,
    *,
    before: Message | None = None,
) -> Digest:
    """Reads messages in one pass and returns their digest with redacted texts. `indices` are the messages' indices in
    the transcript, and `kept` the ids of messages that stay verbatim. `before` is the message before the first: if it
    ends with a command whose output is the first message, that call is the digest's first. `check` is called at every
    text; its exception ends the work."""
    calls = [*_cut_call(before, messages, indices), *tool_calls(messages, indices)]
    stays = frozenset(kept)
    spoken = list(_spoken(checked(messages, check), indices, reader))
    # The words of a call before the first message are not among these messages.
    seen = [lines for number, call in enumerate(calls) for lines in _seen(call, number, indices[0], reader, check)]
    staying = {index for message, index in zip(messages, indices, strict=True) if message.id in stays}
    contents = sorted((*spoken, *seen), key=lambda one: one.index)
    typed = sorted(
        (*_typed(messages, indices, stays, reader, check), *_refusals(calls, staying, reader)),
        key=lambda request: request.index,
    )
    return Digest(
        first_index=indices[0] if indices else 0,
        end_index=indices[-1] + 1 if indices else 0,
        requests=tuple(request for request in typed if not is_summary(request.text)),
        summaries=tuple(request for request in typed if is_summary(request.text)),
        excerpts=tuple(excerpt for excerpt in spoken if excerpt.index not in staying),
        seen=tuple(lines for lines in seen if lines.index not in staying),
        contents=tuple(one for one in contents if one.index not in staying),
        kept=frozenset(names_of(one for one in contents if one.index in staying)),
        calls=tuple(calls),
        touches=tuple(_touches(call, reader) for call in checked(calls, check)),
        runs=tuple(_runs(checked(calls, check), reader)),
        plans=tuple(_plans(checked(messages, check), indices, reader)),
        begun=tuple(begun_in(calls, messages, indices)),
    )


def names_of(contents: Iterable[Excerpt | Seen]) -> Iterator[str]:
    """Yields the anchors of the contents of messages."""
    for one in contents:
        if isinstance(one, Excerpt):
            yield from one.anchors
        else:
            yield from (each.name for each in one.counts.names)


def _cut_call(before: Message | None, messages: Sequence[Message], indices: Sequence[int]) -> list[ToolCall]:
    """Returns the call of a command in the text of the message before the first, if the first is its output."""
    pair = [before, *messages[:1]] if before and messages else []
    return tool_calls(pair, (indices[0] - 1, indices[0])) if pair and fenced_command(pair, 0) else []


def _typed(
    messages: Sequence[Message], indices: Sequence[int], stays: frozenset[str], reader: Reader, check: Check
) -> Iterator[UserRequest]:
    for position, message in enumerate(checked(messages, check)):
        if message.role is not Role.USER or message.compaction or _is_output(messages, position):
            continue
        text = typed_text(message)
        if text:
            yield UserRequest(text=reader.clean(_bounded(text)), index=indices[position], kept=message.id in stays)


def _refusals(calls: Iterable[ToolCall], staying: Set[int], reader: Reader) -> Iterator[UserRequest]:
    """Yields what the user said in refusing calls, which agents return as the calls' results."""
    for call in calls:
        if said := said_in_refusal(call.result):
            text, index = reader.clean(_bounded(said)), call.result_index
            yield UserRequest(text=text, index=index, kept=index in staying)


def typed_text(message: Message) -> str:
    """Returns the text that the user typed, without text that editors and agents inserted, followed by the URIs of
    attached resources. Empty if there is neither."""
    texts = [without_inserted(_bounded(block.text)) for block in message.content if isinstance(block, TextBlock)]
    linked = [block.title for block in message.content if isinstance(block, ResourceBlock)]
    return "\n".join([text.strip() for text in texts if text.strip() and is_typed(text)] + linked)


def _bounded(text: str) -> str:
    if len(text) <= _REQUEST_LIMIT:
        return text
    return text[: _REQUEST_LIMIT // 2] + GAP + text[-_REQUEST_LIMIT // 2 :]


def _is_output(messages: Sequence[Message], position: int) -> bool:
    """Returns whether a message is the output of a command in the agent's text. The command of the first message may
    be in a message that is not among these."""
    if not position:
        return is_output(messages[0].text)
    return bool(fenced_command(messages, position - 1))


def _spoken(messages: Iterable[Message], indices: Sequence[int], reader: Reader) -> Iterator[Excerpt]:
    for position, message in enumerate(messages):
        index = indices[position]
        if message.role is Role.ASSISTANT:
            for block in message.content:
                if isinstance(block, TextBlock):
                    yield from _numbered(reader.said(block.text), index, Source.AGENT)
                elif isinstance(block, ThinkingBlock):
                    # Only the model's own thinking is signed. A paraphrase narrates, and what it finds, the agent says.
                    source = Source.THINKING if block.signature else Source.PARAPHRASE
                    yield from _numbered(reader.said(block.thinking), index, source)


def _plans(
    messages: Iterable[Message], indices: Sequence[int], reader: Reader
) -> Iterator[tuple[int, tuple[str, ...]]]:
    for position, message in enumerate(messages):
        if message.role is Role.ASSISTANT:
            for block in message.content:
                if isinstance(block, TextBlock) and (plan := reader.plan(block.text)):
                    yield indices[position], plan


def _seen(call: ToolCall, number: int, first: int, reader: Reader, check: Check) -> Iterator[Seen]:
    """Yields the lines of the texts in a call's input, then those of its result. `number` is the call's number among
    all calls. What is before the message at index `first` has no pieces."""
    check()
    group = reader.clean(group_of(call, reader))
    order = number * CALL_LIMIT
    for text in checked(_written(call), check):
        written = reader.written(text, group)
        is_read = call.index >= first
        yield Seen(
            lines=written.lines,
            index=call.index,
            order=order,
            source=Source.CALL,
            group=group,
            pieces=written.pieces if is_read else (),
            counts=written.counts if is_read else _NOTHING,
        )
        order += len(written.lines.listing.lines) + _APART
    check()
    if call.result:
        lines = reader.shown(call.result)
        yield Seen(
            lines=lines,
            index=call.result_index,
            order=order,
            source=Source.RESULT,
            group=group,
            pieces=lines.pieces,
            counts=lines.counts,
        )


def _numbered(pieces: Iterable[Piece], index: int, source: Source) -> Iterator[Excerpt]:
    for order, piece in enumerate(pieces):
        yield Excerpt(text=piece.text, index=index, order=order, source=source, anchors=piece.anchors)


def _runs(calls: Iterable[ToolCall], reader: Reader) -> Iterator[Run]:
    """Yields the runs of the shell commands among the calls, in order. Where an agent reports failures, a command of
    which it reports none has passed."""
    known = list(calls)
    reports = any(call.failed and call.command for call in known)
    for number, call in enumerate(known):
        command = reader.command(call.command)
        if command.shown and not was_refused(call.result):
            outcome, detail = reader.end(call.result, _reported(call, command.purpose, reports=reports))
            yield Run(
                command=command.shown,
                index=call.index,
                number=number,
                outcome=outcome,
                detail=detail,
                is_test=command.is_test,
                looks=command.looks,
                purpose=command.purpose,
            )


def _reported(call: ToolCall, purpose: Purpose, *, reports: bool) -> bool | None:
    """Returns whether a command failed as far as its call reports it, None if that says nothing about the command."""
    if call.failed:
        # A search that finds nothing fails, whatever the command before it did.
        return None if purpose.searched else True
    if call.failed is None and (not reports or purpose.masked or goes_on(call.result) or call.result_index < 0):
        return None
    return False


def _touches(call: ToolCall, reader: Reader) -> tuple[Touch, ...]:
    touches = touches_of(call, lambda line: reader.command(line).touches)
    return tuple((reader.clean(path), action) for path, action in touches)


def _written(call: ToolCall) -> Iterator[str]:
    """Yields the texts that the agent wrote as a call's input: the command, or else all strings except paths, to-do
    lists, removed text and the like."""
    if call.command:
        yield without_cd(call.command)[0]
        return
    for key, value in call.input.items():
        if not has_key(key, _NOT_QUOTED):
            yield from strings_in(value)


def group_of(call: ToolCall, reader: Reader) -> str:
    """Returns a short name for the subject of a call: the first line of its command, else its file, else the tool's
    name with the query or address."""
    if call.command:
        return "$ " + reader.command(call.command).first
    return call.path or f"{call.name} {_subject(call, reader)}".strip()


def _subject(call: ToolCall, reader: Reader) -> str:
    """Returns the subject of a call that names no file: the first line of its address, query or pattern, at most 80
    characters."""
    return reader.clean(text_of(call.input, SUBJECT_KEYS).split("\n", 1)[0])[:80]
