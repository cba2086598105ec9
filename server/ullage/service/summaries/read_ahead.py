"""Reading ahead: from half of the compaction threshold on, a context's messages are read for a summary as they come, so
that a compaction finds them read. What is read stays in the workspace's `Reader`, which bounds its memory."""

import asyncio
import logging
from bisect import bisect_left
from collections.abc import Sequence
from functools import partial

from ullage.model.settings import TruncationMode
from ullage.redaction.privacy import hide
from ullage.service.conversation.conversation import Conversation
from ullage.service.conversation.message_counts import counting_work
from ullage.service.conversation.work import Job
from ullage.service.plan.plan import in_thread
from ullage.summary.checks import Check
from ullage.transcript.view import Item

_log = logging.getLogger(__name__)
# A share of the compaction threshold. Most sessions end before it and cost nothing; from there on reading is done long
# before the compaction.
_FROM = 0.5
# Characters read at a time, in about 15 ms. In between the thread is free for other work.
_SLICE = 32_000


def read_ahead(conversation: Conversation) -> None:
    """Begins to read the messages that were not read yet, in the background, if the context is large enough and gets
    summaries. Returns at once. One conversation of a workspace is read at a time."""
    work, budget = conversation.work, conversation.budget
    if work.reading is not None or budget is None or conversation.used < budget.compact_at * _FROM:
        return
    # Edits have emptied messages, or put a summary in their place.
    if conversation.settings.mode is TruncationMode.SUMMARIZE and not conversation.transcript.edits_in_force:
        work.reading = asyncio.get_running_loop().create_task(_read(conversation))
        work.reading.add_done_callback(partial(_ended, conversation))


async def _read(conversation: Conversation) -> None:
    try:
        # A compaction reads everything itself.
        while not conversation.work.is_running(Job.COMPACTING):
            async with conversation.workspace.reading:
                items = _unread(conversation)
                if not items:
                    return
                # Before the reading, so that a text that can't be read is not tried again with every append.
                conversation.guards.read_to = items[-1].index + 1
                await in_thread(partial(_read_slice, conversation, items))
    finally:
        # Not in a callback, which would run after an append that finds the reading still there.
        if conversation.work.reading is asyncio.current_task():
            conversation.work.reading = None


def _unread(conversation: Conversation) -> Sequence[Item]:
    """Returns the next slice of the view's messages to read. Empty if all are read."""
    items = conversation.transcript.items
    first = stop = bisect_left(items, conversation.guards.read_to, key=lambda item: item.index)
    room = _SLICE
    while stop < len(items) and room > 0:
        room -= counting_work(items[stop].message)
        stop += 1
    return items[first:stop]


def conversation_key(conversation: Conversation) -> str:
    """Returns the key under which a reader remembers what it has folded of a conversation: other private patterns make
    other messages."""
    return "\n".join((conversation.id, *conversation.settings.private_patterns))


def _read_slice(conversation: Conversation, items: Sequence[Item], check: Check) -> None:
    private = conversation.settings.private_patterns
    conversation.workspace.reader.go_on(
        conversation_key(conversation),
        [hide(item.message, private) for item in items],
        [item.index for item in items],
        cwd=conversation.transcript.cwd,
        check=check,
    )


def _ended(conversation: Conversation, task: asyncio.Task[None]) -> None:
    """Logs the error of a reading that failed. A compaction will read the rest, or fail with the same error."""
    if not task.cancelled() and (error := task.exception()) is not None:
        _log.error("session %s: reading ahead broke down", conversation.id, exc_info=error)
