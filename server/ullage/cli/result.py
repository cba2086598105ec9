"""The JSON object that `context` and `compact` print: other programs read it, so its keys stay."""

from typing import Any

import msgspec

from ullage.api.values import usage_result
from ullage.model.blocks import CompactionBlock
from ullage.service.archive.export import provider_request
from ullage.service.conversation.conversation import Conversation


async def result_object(
    conversation: Conversation, provider: str, compaction: CompactionBlock | None
) -> dict[str, Any]:
    """`messages` (request-ready, with `system` beside them where the provider wants it there), `used`, `size`,
    `source`, the `edits` in force and the `compaction`, null without one."""
    request = await provider_request(conversation, provider)
    usage = usage_result(conversation)
    beside = {"system": request["system"]} if request.get("system") else {}
    return beside | {
        "messages": request["messages"],
        "used": usage.used,
        "size": usage.size,
        "source": usage.meta.ullage.source.value,
        "edits": msgspec.to_builtins(conversation.transcript.edits_in_force),
        "compaction": msgspec.to_builtins(compaction),
    }
