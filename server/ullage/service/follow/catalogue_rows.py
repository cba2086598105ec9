"""Rows of agents' conversations, made from what their files end with.

The figure is that of the last report, if nothing that counts follows it. Otherwise the conversation is projected, which
takes ten times as long, or what follows is estimated by its length. What the rules for the window and the threshold are
computed from is mostly alike in all conversations of an agent, so they are computed once for each model, version and
folder.
"""

import asyncio
from collections.abc import Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from enum import IntEnum
from functools import partial
from hashlib import sha256
from typing import Any

import msgspec
from msgspec.structs import replace

from ullage import __version__
from ullage.agents.inserted import typed_texts
from ullage.agents.machine import first_prompt
from ullage.agents.table import agent_of_format
from ullage.formats.transcripts.builder import ImportedTranscript
from ullage.ledger.finished_work import may_end
from ullage.model.events import (
    CompactionEdit,
    ContextEdited,
    ConversationImported,
    EditReverted,
    Event,
    MessageAppended,
    ModelChanged,
    Record,
    RecordUnread,
    SessionCreated,
    ToolsDeclared,
    UsageReported,
    WindowReported,
)
from ullage.model.json_values import encode_json
from ullage.model.message import Message, Role
from ullage.model.usage import FollowedRow, UsageSource
from ullage.model.usage_report import is_doubtful
from ullage.model.words import percent
from ullage.policy.alarm import calls_left
from ullage.policy.budget import passed
from ullage.policy.evidence import RECENT_CALLS, Evidence
from ullage.policy.prompt_cache import CachedPrompt, idle_compaction, prompt_cache
from ullage.service.conversation.conversation import Conversation
from ullage.service.conversation.environment import Rules, rules_of
from ullage.service.conversation.projection import text_size
from ullage.service.conversation.usage import LONG, tokens_left
from ullage.service.conversation.workspace import Workspace
from ullage.service.follow.rows import of_agent, row_of
from ullage.service.imports import ends_with_newest, is_last_doubtful, last_model, project_transcript
from ullage.service.ports.agent_files import ToldWindow
from ullage.transcript.fold import Transcript, project

# Who writes a conversation, its model, the window and the threshold that the agent names, and the basis.
_Setup = tuple[ConversationImported | None, str, int | None, int | None, bytes]
# Characters of JSON for a token, about.
_CHARACTERS = 4


class Care(IntEnum):
    """What is counted and not estimated by its length: nothing, what an edit of the context has left, or that and what
    follows the last report, for which all of the file is read."""

    QUICK = 0
    USUAL = 1
    WHOLE = 2


class CatalogueRows:
    """Makes rows. `told(origin_id)` returns the window that an agent said to its status line, or None."""

    def __init__(self, workspace: Workspace, told: ToldWindow) -> None:
        self._workspace = workspace
        self._told = told
        self._bases: dict[tuple[str, str, str, str], bytes] = {}
        self._rules: dict[_Setup, tuple[Transcript, Rules]] = {}

    def basis(self, agent: str, format_name: str, cwd: str, model: str, origin_id: str) -> bytes:
        """Returns what `KnownConversation.basis` is now."""
        basis, told = self._basis(agent, format_name, cwd, model), self._told(origin_id)
        return basis if told is None else basis + str(told).encode()

    def _basis(self, agent: str, format_name: str, cwd: str, model: str) -> bytes:
        key = agent, format_name, cwd, model
        if key not in self._bases:
            given = self._workspace.given(agent_of_format(format_name, agent), cwd, model)
            others = self._workspace.compactions(format_name)
            self._bases[key] = sha256(
                msgspec.msgpack.encode((__version__, given, others, self._workspace.settings.limits))
            ).digest()[:8]
        return self._bases[key]

    def row(
        self,
        transcript: ImportedTranscript,
        *,
        is_whole: bool,
        care: Care = Care.USUAL,
        begun: Sequence[Event] = (),
        least: int = 0,
    ) -> FollowedRow | None:
        """Returns the row of a conversation, or None if the figure does not show in this part of its file.

        A part is enough if it has a report that is no placeholder, and after that no edit of the context; or, with
        `begun`, what the file begins with, a compaction. What follows is then estimated by its length. Of a whole file,
        `care` says what is counted. `least` is the size of what precedes the report and is not in the transcript, in
        bytes. Blocks: a server asks in a thread. Raises `UllageError`."""
        transcript = self._with_told(transcript)
        last, later, is_edited = _last_report(transcript.events)
        is_left = is_edited or is_last_doubtful(transcript.events, least)
        used = (last.usage.total if last else 0) + later // _CHARACTERS
        newest = _newest_message(transcript.events)
        # Only a fold of all messages says whether this is the end of a piece of work.
        may_end_work = used >= LONG and newest is not None and may_end(newest)
        if not (is_whole or begun) and (last is None or is_left or not ends_with_newest(transcript.events)):
            return None
        is_exact = care is Care.WHOLE and (later or last is None or may_end_work)
        if is_whole and (is_exact or (is_left and care > Care.QUICK)):
            projecting = project_transcript(self._workspace, transcript, counts=is_edited or may_end_work)
            return self._named(row_of(_finished(projecting)), transcript)
        if is_left:
            used = _left_by_length(transcript.events, begun or transcript.events)
        evidence = _evidence_of(transcript)
        rules = self._rules_of(transcript, evidence)
        window = rules.budget.window if rules.budget else None
        left = None if window is None else tokens_left(used, rules, rules.keeper)
        # In a part of a file, the last calls are as many as are looked at, or it is not known how many there were.
        are_known = left is not None and (is_whole or len(evidence.growths) >= RECENT_CALLS)
        calls = calls_left(left, evidence.growths) if left is not None and are_known else None
        limits = passed(rules.under.limits, rules.agent, transcript.cwd, used, None)
        cached = _cached(transcript.events, is_whole=is_whole)
        row = FollowedRow(
            session_id="",
            agent=rules.agent,
            model=rules.model,
            used=used,
            # By length alone, not by a count.
            used_source=UsageSource.ESTIMATED if later or is_left or last is None else UsageSource.REPORTED,
            percent=percent(used, window) if window else None,
            window=window,
            window_source=rules.window.source if rules.window else None,
            compacts_at=rules.threshold.tokens if rules.threshold else None,
            compacts_at_source=rules.threshold.source if rules.threshold else None,
            calls_left=(calls.low, calls.high) if calls else None,
            idle=idle_compaction(rules.idle, cached, used, cached.at or None, newest),
            cache=prompt_cache(cached, used, partial(self._workspace.cost, rules.model)),
            rate_limits=evidence.rate_limits,
            warnings=tuple(remark.text for remark in (*rules.remarks, *limits)),
            updated_at=max(map(_time, transcript.events), default=0),
        )
        return self._named(of_agent(row, rules.agent), transcript)

    def _with_told(self, transcript: ImportedTranscript) -> ImportedTranscript:
        told = self._told(transcript.session_id) if transcript.session_id else None
        return replace(transcript, events=(*transcript.events, WindowReported(size=told))) if told else transcript

    def _rules_of(self, transcript: ImportedTranscript, evidence: Evidence) -> Rules:
        origin = next((one for one in reversed(transcript.events) if isinstance(one, ConversationImported)), None)
        model = last_model(transcript)
        # The same for all conversations with this agent's version, where its settings are alike.
        origin = origin and replace(origin, origin_id="", parent_id="", path="")
        said = Evidence(said=evidence.said, compacts_at=evidence.compacts_at)
        key = (
            origin,
            model,
            said.said,
            said.compacts_at,
            self._basis(transcript.agent, transcript.format, transcript.cwd, model),
        )
        if key not in self._rules:
            created = SessionCreated(cwd=transcript.cwd, model=model)
            facts = Transcript()
            for record in self._workspace.records(0, (created, origin) if origin else (created,)):
                facts.apply(record)
            self._rules[key] = facts, rules_of(self._workspace, facts, said)
        facts, rules = self._rules[key]
        return rules if rules.hold(evidence) else rules_of(self._workspace, facts, evidence)

    def _named(self, row: FollowedRow, transcript: ImportedTranscript) -> FollowedRow:
        return replace(
            row,
            agent_session_id=transcript.session_id,
            title=transcript.title or _said_first(transcript.events),
            cwd=transcript.cwd,
            parent=transcript.parent if transcript.is_sub_agent else "",
        )


def _finished(projecting: Coroutine[Any, Any, Conversation]) -> Conversation:
    """Returns the conversation, projected in a loop of its own. A command may ask in a coroutine, beside which nothing
    runs."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(projecting)
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, projecting).result()


def ends_with_edit(transcript: ImportedTranscript) -> bool:
    """Returns whether an edit of the context follows the last report: only the whole conversation then says its
    figure."""
    return _last_report(transcript.events)[2]


def ends_with_compaction(transcript: ImportedTranscript) -> bool:
    """Returns whether the last edit of the context is a compaction by the agent, after which nothing is known of what
    was said before."""
    edits = (event.edit for event in reversed(transcript.events) if isinstance(event, ContextEdited))
    last = next(edits, None)
    return isinstance(last, CompactionEdit) and last.by_agent and not last.kept


def _last_report(events: Sequence[Event]) -> tuple[UsageReported | None, int, bool]:
    """Returns the last report of a prompt's size, the number of characters that count after it, and whether an edit of
    the context follows it."""
    later, is_edited = 0, False
    for event in reversed(events):
        match event:
            case UsageReported() if event.usage.prompt:
                return event, later, is_edited
            case ContextEdited() | EditReverted():
                is_edited = True
            case RecordUnread():
                later += 1
            case MessageAppended(message=message):
                later += 1 + len(encode_json(message.content))
            case ToolsDeclared(tools=tools):
                later += 1 + len(encode_json(tools))
            case _:
                pass
    return None, later, is_edited


def _left_by_length(events: Sequence[Event], begun: Sequence[Event]) -> int:
    """Estimates the tokens of the context after these events by the length of its messages, and by what the agent adds
    to them, according to the reports in `begun`, which a file begins with."""
    hidden, transcript = list[int](), Transcript()
    for at, event in enumerate(begun):
        transcript.apply(Record(position=at, timestamp=0, event=event))
        if isinstance(event, UsageReported) and not is_doubtful(
            event.usage.prompt, sum(map(text_size, transcript.view))
        ):
            hidden.append(event.usage.total - _length(transcript.view) // _CHARACTERS)
    return max(0, min(hidden, default=0)) + _length(project(events)) // _CHARACTERS


def _length(messages: Sequence[Message]) -> int:
    return sum(1 + len(encode_json(message.content)) for message in messages)


def _cached(events: Sequence[Event], *, is_whole: bool) -> CachedPrompt:
    """Returns what the provider's cache holds. In a part of a file the pauses are not known, so that only what the
    provider promises counts, and not why a prompt was not found."""
    cached = CachedPrompt()
    for event in events:
        cached = cached.after(event, _time(event) if isinstance(event, UsageReported) else 0)
    if is_whole:
        return cached
    return replace(cached, miss=None) if cached.writes else CachedPrompt()


def _newest_message(events: Sequence[Event]) -> Message | None:
    return next((event.message for event in reversed(events) if isinstance(event, MessageAppended)), None)


def _evidence_of(transcript: ImportedTranscript) -> Evidence:
    evidence, model, version = Evidence(), transcript.model, ""
    for event in transcript.events:
        match event:
            case MessageAppended():
                continue
            case ModelChanged():
                model = event.model
            case ConversationImported():
                version = event.version
            case _:
                pass
        evidence = evidence.after(event, model, version)
    return evidence


def _said_first(events: Sequence[Event]) -> str:
    """Returns the first line that the user typed."""
    messages = (event.message for event in events if isinstance(event, MessageAppended))
    said = (one for one in messages if one.role is Role.USER and not one.compaction)
    return first_prompt(text for message in said for text in typed_texts(message))


def _time(event: Event) -> int:
    match event:
        case MessageAppended(message=message):
            return message.timestamp
        case UsageReported():
            return event.timestamp
        case _:
            return 0
