"""When an agent compacts a conversation because it idles, before the provider's cache of the prompt is lost."""

from ullage.agents.own_context import Idle
from ullage.model.blocks import ToolUseBlock
from ullage.model.figure import IdleCompaction
from ullage.model.message import Message, Role
from ullage.policy.evidence import Evidence


def idle_compaction(
    rule: Idle | None, evidence: Evidence, used: int, reported_at: int | None, last: Message | None
) -> IdleCompaction | None:
    """Returns the compaction that the agent will make, or None if it will not.

    `reported_at` is the time of the last report in Unix milliseconds, and `last` the last message. A conversation idles
    if this is an answer without calls: nothing else is due.
    """
    if rule is None or last is None or not reported_at or not evidence.is_kept_for_hour or used < rule.least:
        return None
    if last.role is not Role.ASSISTANT or any(isinstance(block, ToolUseBlock) for block in last.content):
        return None
    return IdleCompaction(at=reported_at + rule.after, setting=rule.setting)
