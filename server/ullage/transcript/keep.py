"""The messages that no edit removes: the system prompt, the first user message, and pinned messages. The newest that
the user typed stays as well; `edits/counted.py` finds it. A provider's own summary of a conversation is kept like a
pinned message, because only the provider can read it.

A pinned message stays together with its group: the results of its tool uses and the thinking that led to it.
"""

from collections.abc import Collection, Sequence

from ullage.model.blocks import is_provider_summary
from ullage.model.message import Message, Role
from ullage.transcript.cut_points import groups


def leading(messages: Sequence[Message], first_user_id: str | None) -> tuple[str, ...]:
    """Returns the ids of the first user message and of the system messages before it, in order. If no message has the
    id `first_user_id`, returns the ids of all system messages."""
    ids: list[str] = []
    for message in messages:
        if message.role is Role.SYSTEM or message.id == first_user_id:
            ids.append(message.id)
        if message.id == first_user_id:
            return tuple(ids)
    return tuple(ids)


def kept(
    messages: Sequence[Message], pinned: Collection[str], together: Sequence[range] | None = None
) -> tuple[str, ...]:
    """Returns the ids, in order, of system messages, of pinned messages, and of all messages that must stay together
    with a pinned one. `together` are the messages' groups, if the caller has them."""
    pinned = _with_summary(messages, pinned)
    if not pinned:
        return tuple(message.id for message in messages if message.role is Role.SYSTEM)
    return tuple(messages[i].id for group in together or groups(messages) for i in _kept(messages, group, pinned))


def _kept(messages: Sequence[Message], group: range, pinned: Collection[str]) -> Sequence[int]:
    if any(messages[i].id in pinned for i in group):
        return group
    return [i for i in group if messages[i].role is Role.SYSTEM]


def pinned_ids(messages: Sequence[Message], pinned: Collection[str]) -> frozenset[str]:
    """Returns the ids of pinned messages and of all messages that must stay together with a pinned one."""
    pinned = _with_summary(messages, pinned)
    if not pinned:
        return frozenset()
    together = (group for group in groups(messages) if any(messages[i].id in pinned for i in group))
    return frozenset(messages[i].id for group in together for i in group)


def _with_summary(messages: Sequence[Message], pinned: Collection[str]) -> Collection[str]:
    """Returns the ids of pinned messages and of the newest that has a provider's own summary of what was before it."""
    for message in reversed(messages):
        if any(map(is_provider_summary, message.content)):
            return {*pinned, message.id}
    return pinned


def without_oldest(messages: Sequence[Message], stays: Collection[str], count: int) -> tuple[Message, ...]:
    """Returns the messages without the first `count` groups of messages. A group that contains a message with an id in
    `stays` is kept and not counted. The last group is always kept."""
    going = [group for group in groups(messages)[:-1] if not any(messages[i].id in stays for i in group)][:count]
    gone = {i for group in going for i in group}
    return tuple(message for i, message in enumerate(messages) if i not in gone)
