"""A digest of messages: who said what, in excerpts short enough to quote, and the tool calls. Messages are read
once."""

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from functools import partial, wraps
from operator import attrgetter
from typing import TypeVar

from msgspec import Struct

from ullage.agents.calls import ToolCall, tool_calls
from ullage.agents.calls_begun import Begun, begun_in
from ullage.agents.inserted import is_summary
from ullage.agents.outcomes import goes_on
from ullage.agents.results import fenced_command, is_output
from ullage.agents.shell import Touch
from ullage.agents.shell_purpose import Purpose
from ullage.model.artifacts import Outcome
from ullage.model.message import Message
from ullage.summary.checks import Check, go_on
from ullage.summary.reading.called import Called, joined, read_calls, unread
from ullage.summary.reading.contents import Excerpt, Seen, names_of
from ullage.summary.reading.spoken import Said, bounded, read_said
from ullage.summary.reading.text_reader import Reader

_INDEX = attrgetter("index")
T = TypeVar("T")


class UserRequest(Struct, frozen=True, kw_only=True, gc=False):
    """The text of one user message, or what the user said in refusing a call, verbatim except for redacted secrets and
    a long text's middle. `index` is the message's index in the transcript; `kept` is true if the message stays in the
    context."""

    text: str
    index: int
    kept: bool


class Run(Struct, frozen=True, kw_only=True, gc=False):
    """One shell command that the agent ran: its text for a summary, its message's index, its outcome, and the most
    informative line of its output. `looks` is true if the command only shows something and changes nothing; how such a
    command ended is not read, because nothing depends on it. `number` is the place of its call among `Digest.calls`;
    `purpose` is what it was run for."""

    command: str
    index: int
    number: int
    outcome: Outcome
    detail: str
    is_test: bool
    looks: bool
    purpose: Purpose


class Digest(Struct, frozen=True, kw_only=True, dict=True):
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


def once(derive: Callable[[Digest], T]) -> Callable[[Digest], T]:
    """Makes a function of a digest derive its result once for each digest."""
    name = f"{derive.__module__}.{derive.__qualname__}"

    @wraps(derive)
    def derived(digest: Digest) -> T:
        known = vars(digest)
        if name not in known:
            known[name] = derive(digest)
        return known[name]

    return derived


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
    calls = [*_cut_call(before, messages, indices), *tool_calls(messages, indices, partial(joined, reader))]
    stays = frozenset(kept)
    staying = {index for message, index in zip(messages, indices, strict=True) if message.id in stays}
    spoken = read_said(messages, indices, reader, check)
    called = list(read_calls(calls, reader, check))
    excerpts = [excerpt for said in spoken for excerpt in said.excerpts]
    # The words of a call before the first message are not among these messages.
    seen = [lines for each in called for lines in (each.seen if each.index >= indices[0] else map(unread, each.seen))]
    contents = sorted((*excerpts, *seen), key=_INDEX)
    typed = sorted((*_typed(spoken, messages, indices, stays, reader), *_refusals(called, staying, reader)), key=_INDEX)
    return Digest(
        first_index=indices[0] if indices else 0,
        end_index=indices[-1] + 1 if indices else 0,
        requests=tuple([request for request in typed if not is_summary(request.text)]),
        summaries=tuple([request for request in typed if is_summary(request.text)]),
        excerpts=tuple([excerpt for excerpt in excerpts if excerpt.index not in staying]),
        seen=tuple([lines for lines in seen if lines.index not in staying]),
        contents=tuple([one for one in contents if one.index not in staying]),
        kept=frozenset(names_of([one for one in contents if one.index in staying])),
        calls=tuple(calls),
        touches=tuple([each.touches for each in called]),
        runs=tuple(_runs(calls, called, reader)),
        plans=tuple([(index, plan) for index, said in zip(indices, spoken, strict=True) for plan in said.plans]),
        begun=tuple(begun_in(calls, messages, indices, [each.begun for each in called])),
    )


def _cut_call(before: Message | None, messages: Sequence[Message], indices: Sequence[int]) -> list[ToolCall]:
    """Returns the call of a command in the text of the message before the first, if the first is its output."""
    pair = [before, *messages[:1]] if before and messages else []
    return tool_calls(pair, (indices[0] - 1, indices[0])) if pair and fenced_command(pair, 0) else []


def _typed(
    spoken: Sequence[Said],
    messages: Sequence[Message],
    indices: Sequence[int],
    stays: frozenset[str],
    reader: Reader,
) -> Iterator[UserRequest]:
    for position, said in enumerate(spoken):
        if said.typed and not _is_output(messages, position):
            text = reader.clean(bounded(said.typed))
            yield UserRequest(text=text, index=indices[position], kept=messages[position].id in stays)


def _refusals(called: Iterable[Called], staying: Set[int], reader: Reader) -> Iterator[UserRequest]:
    """Yields what the user said in refusing calls, which agents return as the calls' results."""
    for each in called:
        if each.refusal:
            text, index = reader.clean(bounded(each.refusal)), each.result_index
            yield UserRequest(text=text, index=index, kept=index in staying)


def _is_output(messages: Sequence[Message], position: int) -> bool:
    """Returns whether a message is the output of a command in the agent's text. The command of the first message may
    be in a message that is not among these."""
    if not position:
        return is_output(messages[0].text)
    return bool(fenced_command(messages, position - 1))


def _runs(calls: Sequence[ToolCall], called: Sequence[Called], reader: Reader) -> Iterator[Run]:
    """Yields the runs of the shell commands among the calls, in order. Where an agent reports failures, a command of
    which it reports none has passed."""
    reports = any(call.failed and call.command for call in calls)
    for number, (call, each) in enumerate(zip(calls, called, strict=True)):
        command = each.command
        if command.shown and each.was_run:
            outcome, detail = Outcome.UNKNOWN, ""
            if not command.looks:
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
