"""Writes the lines of a log's tree into a transcript: finds the place of each line, and goes back there if needed."""

import re
from collections.abc import Sequence
from hashlib import sha256

from ullage.agents.claude_code.compaction import WindowReader
from ullage.agents.claude_code.entries import (
    Answer,
    Entry,
    Extra,
    Place,
    PromptQueue,
    Written,
    attached,
    is_known,
    listed,
    mark_of,
    read_boundary,
)
from ullage.formats.transcripts.builder import TranscriptBuilder, kept_place
from ullage.formats.transcripts.chat import read_blocks
from ullage.model.json_values import as_list, as_object, as_text, encode_json
from ullage.model.message import Block, Role, TextBlock, ToolResultBlock, ToolUseBlock, join_texts
from ullage.model.usage import HiddenKind
from ullage.model.usage_report import input_counts

# System lines after which no line of the same answer comes.
ENDS_OF_TURNS = {"stop_hook_summary", "turn_duration"}
# Other kinds of system lines that are for the user alone. Early versions write notices without a kind.
_NOTICES = {
    *("", "api_error", "api_refusal", "compact_boundary", "error", "file_snapshot", "informational", "local_command"),
    *("microcompact_boundary", "model_refusal_fallback", "session_start", "status"),
}
_CLEARED = "[cleared]"
# The answer to `/context` as it is drawn on a terminal. The model is sent the same as Markdown (2.1.332).
_DRAWN = re.compile(r"<local-command-stdout>\s*\x1b\[1mContext usage", re.IGNORECASE)
# How messages of the user's role begin that ask for no answer: local commands' output, and a turn that the user ended.
_ASK_NOTHING = ("<local-command-", "[Request interrupted")
# What identifies a block, together with the time or the answer that it belongs to.
_Key = tuple[str, str | int]


class _KnownAnswer:
    """An answer whose first line was written: its request's id, the input counts of its usage, and the number of
    prompts before it; its place, None before a line was added, its blocks, and the times of its lines."""

    def __init__(self, request: str, counts: tuple[int, ...], prompts: int) -> None:
        self.request = request
        self.counts = counts
        self.prompts = prompts
        self.place: Place | None = None
        self.blocks: set[_Key] = set()
        self.times: set[int] = set()


class TreeWriter:
    """Adds the lines of a log's tree to the transcript. A line may be written once its parent was written or
    assumed."""

    def __init__(self, builder: TranscriptBuilder) -> None:
        self._builder = builder
        self._tip = Place()
        self._answer: Answer | None = None
        self._queue = PromptQueue()
        self._windows = WindowReader(builder)
        self._is_linked = False
        # Extras that wait for the next message: none of them is the first message of the conversation or of a branch.
        self._early: list[Extra] = []
        self._written = Written()
        # By the ids of lines: the place of its children, and the parent.
        self._places: dict[str, Place] = {}
        self._parents: dict[str, str] = {}
        # Lines that were written again after a compaction that archived them, and the place where this happened.
        self._again: set[str] = set()
        self._again_at = self._tip
        # What is known already: blocks of the user's messages with their place, and answers with their blocks.
        self._known: dict[_Key, Place] = {}
        self._answers: dict[tuple[str, str, tuple[int, ...]], _KnownAnswer] = {}
        self._last_of: dict[str, _KnownAnswer] = {}
        # The user's messages so far, those with results left out.
        self._prompts = 0
        # The times of the last message after which no request was due, and since when one is; None while none is.
        self._rested_at = 0
        self._asked_at: int | None = None

    def knows(self, uuid: str) -> bool:
        """Returns whether the line with this id was written or assumed."""
        return uuid in self._places

    def assume(self, uuid: str) -> None:
        """Gives the line with this id, which is missing from the log, the place of the last line written, so that its
        children continue from there. If it is missing at the beginning, the session was resumed in a new file."""
        self._places[uuid] = self._end
        if not self._builder.messages:
            self._builder.list_prompt([(HiddenKind.HISTORY, "", "")])

    def repeat(self, entry: Entry) -> bool:
        """Notes that a line was written again, and returns whether it is the last line of the conversation.

        A process that compacts for the second time writes lines again that its first compaction archived. What follows
        them there follows the end of the conversation: the user did not go back.
        """
        place = self._places[entry.uuid]
        if self._builder.branches.has_archived(place.at):
            if self._again_at is not self._end:
                self._again, self._again_at = set(), self._end
            self._again.add(entry.uuid)
        return place is self._end

    def _at(self, uuid: str) -> Place:
        """Returns the place of the children of a line that was written or assumed."""
        return self._end if uuid in self._again and self._again_at is self._end else self._places[uuid]

    def write(self, entry: Entry) -> None:
        """Adds a line of the tree to the transcript, going back to its parent if that is not the last line. A line that
        the model is not sent is recorded as skipped."""
        place = self._place_of(entry)
        self._parents[entry.uuid] = entry.parent
        if entry.is_message and not isinstance(entry.content, str | list):
            self._pass(entry, place, "message without content", expected=False)
        elif entry.kind == "user":
            self._write_user(entry, place)
        elif entry.kind == "assistant":
            self._write_answer(entry, place)
        elif entry.kind == "attachment":
            self._write_attachment(entry, place)
        elif entry.subtype == "local_command" and is_sent(as_text(entry.value.get("content"))):
            # The model is sent the user's local commands and their output.
            self._write_message(entry, place, read_blocks(entry.value.get("content")))
        else:
            if entry.subtype in ENDS_OF_TURNS and self._answer:
                self._add_answer(self._answer)
            elif entry.subtype == "microcompact_boundary":
                self.end_answer()
                self._clear_results(entry)
            elif entry.kind == "system":
                self.complete_answer()
            notice = entry.kind == "system" and entry.subtype in _NOTICES | ENDS_OF_TURNS
            known = notice or entry.kind == "progress"
            kind = f"{entry.kind} line ({entry.subtype})" if entry.subtype else f"{entry.kind} line"
            self._pass(entry, place, kind if known else f"unknown kind of line: {kind}", expected=known)

    def write_summary(self, entry: Entry, boundary: Entry | None, *, is_forced: bool = False) -> None:
        """Adds a compaction. `entry` is the line with the summary and `boundary` the line before it; early versions
        have none. `is_forced` says that the provider had refused a request as too long."""
        text = join_texts(read_blocks(entry.content))
        key = _key(entry, TextBlock(text=text))
        if self._is_copy(entry, [key]):
            return
        self.end_answer()
        compaction = read_boundary(boundary, entry, self._parents)
        end = self._at(compaction.end) if self.knows(compaction.end) else self._tip
        # What was kept may lie on the present branch and next to it. If nothing lies on it, the user has gone back.
        places = [self._at(uuid).at for uuid in compaction.kept if self.knows(uuid)]
        if not any(map(self._builder.branches.comes_from, places)):
            self._go(end, entry.timestamp)
        said = self._written.said
        kept = list(dict.fromkeys(said[uuid] for uuid in compaction.kept if uuid in said))
        edit_id = self._builder.compact(
            text,
            edit_id=entry.uuid,
            timestamp=entry.timestamp,
            before=compaction.before,
            cause=compaction.cause(self._rested_at, self._asked_at, is_forced=is_forced),
            kept=() if compaction.keeps_beginning else kept,
            leading=kept if compaction.keeps_beginning else (),
        )
        self._tip = after = Place(self._builder.tip)
        at = {uuid: kept_place(edit_id, said[uuid]) for uuid in compaction.kept if uuid in said}
        place = Place(edit_id)
        # In a fork the lines that were kept come after the summary: they are not known yet.
        for uuid in filter(self.knows, compaction.kept):
            if uuid in at:
                place = after if at[uuid] == after.at else Place(at[uuid])
            self._places[uuid] = place
        begin = boundary.uuid if boundary else entry.uuid
        last = compaction.end if compaction.kept and self.knows(compaction.end) else entry.uuid
        self._places.update(dict.fromkeys((entry.uuid, begin, last), after))
        self._known[key] = after
        self._add_early()

    def take_queued(self, entry: Entry) -> bool:
        """Applies a `queue-operation` line. Returns whether it added a message to the transcript."""
        prompt = self._queue.operate(entry)
        if prompt is not None:
            self._turn(prompt.timestamp, is_due=True)
            self._add_extra(prompt, self._end)
        return prompt is not None

    def complete_answer(self) -> None:
        """Adds the answer that is being read if the log says that it has ended, and its results if none is missing."""
        if self._answer and self._answer.is_complete:
            self._add_answer(self._answer)

    def end_answer(self) -> None:
        """Adds the answer that is being read and the results that have come, because no more lines of it are
        expected."""
        if self._answer:
            self._add_answer(self._answer, ended=True)
            self._answer = None

    def finish(self) -> None:
        """Adds the answer that is being read, and the extra messages that waited for a later message."""
        self.end_answer()
        self._add_early()

    @property
    def is_complete(self) -> bool:
        """Whether nothing is held back but an answer that has ended, as the log says, and its results."""
        answer = self._answer
        return not self._early and (answer is None or answer.is_added or answer.is_complete)

    @property
    def _end(self) -> Place:
        """The place of a next line that names no parent: after the answer that is being read, else after the last
        line."""
        return self._answer.place if self._answer else self._tip

    def _place_of(self, entry: Entry) -> Place:
        if entry.parent in self._places and entry.parent:
            self._is_linked = True
            return self._at(entry.parent)
        if entry.kind == "user" and self._is_linked and "parentUuid" in entry.value and not entry.parent:
            # A new root begins again. In hand-written logs without links every line follows the one before.
            return Place()
        return self._end

    def _pass(self, entry: Entry, place: Place, reason: str, *, expected: bool = True) -> None:
        """Records a line as skipped. Its children continue from `place`."""
        self._places[entry.uuid] = place
        self._builder.skip(entry.number, reason, expected=expected)

    def _is_copy(self, entry: Entry, keys: Sequence[_Key]) -> bool:
        """Returns whether a line is a copy of an earlier one, by the keys of its blocks, and skips it then."""
        is_copy = bool(entry.timestamp and keys) and all(key in self._known for key in keys)
        if is_copy:
            self._pass(entry, self._known[keys[-1]], "copy of an earlier line")
        return is_copy

    def _go(self, place: Place, timestamp: int) -> None:
        """Rewinds the transcript to a place, unless the transcript ends there."""
        if place is not self._tip:
            if place.at != self._tip.at:
                self._builder.rewind(place.at, timestamp)
            self._tip = place

    def _write_user(self, entry: Entry, place: Place) -> None:
        blocks = read_blocks(entry.content)
        keys = [_key(entry, block) for block in blocks]
        if self._is_copy(entry, keys):
            return
        self._queue.drop(join_texts(blocks))
        answer = self._answer
        if answer and answer.add_result(entry, blocks):
            self._turn(entry.timestamp, is_due=True)
            self._places[entry.uuid] = answer.place
            self._known.update(dict.fromkeys(keys, answer.place))
            self.complete_answer()
        else:
            self._prompts += not entry.result_ids
            self._write_message(entry, place, blocks)
            self._windows.read_prompt(entry)
            self._known.update(dict.fromkeys(keys, self._tip))

    def _write_message(self, entry: Entry, place: Place, blocks: Sequence[Block]) -> None:
        self.end_answer()
        is_due = entry.kind == "user" and not join_texts(blocks).startswith(_ASK_NOTHING)
        self._turn(entry.timestamp, is_due=is_due)
        self._go(place, entry.timestamp)
        content = sorted(blocks, key=lambda block: not isinstance(block, ToolResultBlock))
        self._tip = Place(self._builder.add(Role.USER, content, entry.uuid, entry.timestamp, mark_of(entry.value)))
        self._places[entry.uuid] = self._tip
        self._written.note(self._tip.at, (entry.uuid,), content)
        self._add_early()

    def _clear_results(self, entry: Entry) -> None:
        """Clears the results of the tool calls whose ids a `microcompact_boundary` line names."""
        cleared: dict[str, list[int]] = {}
        for call in as_list(as_object(entry.value.get("microcompactMetadata")).get("compactedToolIds")):
            message_id, block = self._written.results.get(as_text(call), ("", 0))
            if message_id:
                cleared.setdefault(message_id, []).append(block)
        for message_id, blocks in cleared.items():
            self._builder.clear_results(message_id, blocks, _CLEARED, entry.timestamp)

    def _write_answer(self, entry: Entry, place: Place) -> None:
        if entry.value.get("isApiErrorMessage") is True:
            self.complete_answer()
            self._pass(entry, place, "error of the API, not sent to the model")
            return
        answer_id = entry.answer_id or entry.uuid or f"line{entry.number}"
        known = self._known_answer(entry, answer_id)
        answer = self._answer
        if answer and (answer.place is not known.place or answer.is_added):
            answer = None
        blocks = list({_block_key(block): block for block in read_blocks(entry.content)}.items())
        new = [block for key, block in blocks if key not in known.blocks]
        again = known.place is not None and answer is None
        if known.place and again and not new:
            self._pass(entry, known.place, "copy of an earlier line")
            return
        if answer is None:
            self.end_answer()
            self._go(place, entry.timestamp)
            self._add_early()
            # A line that comes after its answer was added becomes a message of its own. Its usage is known already.
            answer = self._answer = Answer(answer_id, entry, has_usage=not again)
        answer.add_line(entry, new)
        self._turn(entry.timestamp, is_due=any(isinstance(block, ToolUseBlock) for block in new))
        known.place = answer.place
        known.blocks.update(key for key, _ in blocks)
        known.times.add(entry.timestamp)
        self._places[entry.uuid] = answer.place

    def _known_answer(self, entry: Entry, answer_id: str) -> _KnownAnswer:
        """Returns what is known of the answer that a line belongs to.

        Some gateways give all answers one id, so the id alone proves nothing. Lines are of one answer if they have the
        id, the request's id and the input counts of the usage in common; a line without counts, or one right after the
        answer's last line, belongs to that answer. Without a request's id, a prompt between two lines parts them,
        unless one is a copy of the other.
        """
        request = as_text(entry.value.get("requestId"))
        counts = input_counts(entry.message.get("usage"))
        last, current = self._last_of.get(answer_id), self._answer
        goes_on = last is not None and current is not None and current.place is last.place and not current.has_results
        if last and last.request == request and (goes_on or not (any(counts) and any(last.counts))):
            known, last.counts = last, counts if any(counts) else last.counts
        else:
            known = self._answers.get((answer_id, request, counts), _KnownAnswer(request, counts, self._prompts))
        if not request and known.prompts != self._prompts and entry.timestamp not in known.times:
            known = _KnownAnswer(request, counts, self._prompts)
        self._answers[answer_id, request, known.counts] = self._last_of[answer_id] = known
        return known

    def _write_attachment(self, entry: Entry, place: Place) -> None:
        attachment = as_object(entry.value.get("attachment"))
        kind = as_text(attachment.get("type"))
        self._builder.list_prompt(listed(entry))
        blocks = attached(entry)
        keys = [_key(entry, block) for block in blocks]
        if self._is_copy(entry, keys):
            return
        if kind == "queued_command" and not self._queue.attached(join_texts(blocks)):
            blocks = ()
        if not blocks:
            self._pass(entry, place, f"attachment line ({kind})", expected=is_known(entry))
            return
        self._places[entry.uuid] = place
        self._known.update(dict.fromkeys(keys, place))
        extra = Extra(content=blocks, uuid=entry.uuid, timestamp=entry.timestamp, mark=mark_of(attachment))
        self._add_extra(extra, place)

    def _add_extra(self, extra: Extra, place: Place) -> None:
        """Adds an extra message to the answer that is being read if `place` is that answer's. Otherwise adds it to the
        transcript if that ends at `place`, else before the next message."""
        if self._answer and place is self._answer.place:
            self._answer.extras.append(extra)
            self.complete_answer()
        elif self._builder.tip and place.at == self._tip.at:
            self._write_extra(extra)
        else:
            self._early.append(extra)

    def _write_extra(self, extra: Extra) -> None:
        self._tip.at = self._builder.add(Role.USER, extra.content, extra.uuid, extra.timestamp, extra.mark)
        self._written.note(self._tip.at, (extra.uuid,))

    def _add_early(self) -> None:
        early, self._early = self._early, []
        for extra in early:
            self._write_extra(extra)

    def _turn(self, at: int, *, is_due: bool) -> None:
        """Notes whether the message of the time `at` asks for an answer."""
        if not is_due:
            self._rested_at, self._asked_at = at, None
        elif self._asked_at is None:
            self._asked_at = at

    def _add_answer(self, answer: Answer, *, ended: bool = False) -> None:
        if not answer.is_added:
            answer.write(self._builder, self._written)
            self._windows.read_answer(answer.requested, answer.ended)
            self._tip = answer.place
        answer.write_rest(self._builder, self._written, ended=ended)


def is_sent(output: str) -> bool:
    """Returns whether the model is sent what a local command was called with, or its output."""
    return bool(output) and not _DRAWN.match(output)


def _key(entry: Entry, block: Block) -> _Key:
    """Returns a key of a block that a copy of its line has, too. A copied line keeps its time."""
    return (as_text(entry.value.get("timestamp")), _digest(block))


def _block_key(block: Block) -> _Key:
    """Returns a key of a block of an answer that a copy of the answer has, too."""
    if isinstance(block, ToolUseBlock) and block.id:
        return ("call", block.id)
    return (type(block).__name__, _digest(block))


def _digest(block: Block) -> int:
    """Returns a number of 64 bits that is the same in another process, unlike that of `hash`."""
    return int.from_bytes(sha256(encode_json(block)).digest()[:8])
