"""Export: a session's log as text, or its context as a provider's request."""

from typing import Any

import msgspec

from ullage.formats.provider import write_request
from ullage.formats.transcripts.ullage_jsonl import Header
from ullage.formats.transcripts.ullage_jsonl import write as write_ullage
from ullage.service.compact.room import ready, require_fit_if_managed
from ullage.service.conversation.conversation import Conversation


async def export_session(conversation: Conversation, shape: str) -> str:
    """Returns the session as text. If `shape` is `ullage`, that is its whole log as JSONL; else its context as a
    request, in JSON, of the provider named by `shape` (`anthropic`, `openai`, `openai-responses`). Raises
    `InvalidRequest` for another name."""
    if shape == "ullage":
        return _whole_log(conversation)
    request = await provider_request(conversation, shape)
    return msgspec.json.format(msgspec.json.encode(request), indent=2).decode()


async def provider_request(conversation: Conversation, provider: str) -> dict[str, Any]:
    """Returns the context as the fields of a request of this provider. If Ullage manages the context, it fits the
    window. Raises `InvalidRequest` for an unknown provider, and `CannotFit` if Ullage manages the context and what must
    stay in it exceeds the window."""
    conversation = await ready(conversation)
    require_fit_if_managed(conversation)
    return write_request(provider, conversation.transcript.view, conversation.transcript.tools)


def _whole_log(conversation: Conversation) -> str:
    transcript = conversation.transcript
    header = Header(
        session_id=conversation.id,
        title=transcript.title,
        cwd=transcript.cwd,
        model=transcript.model,
        exported_at=conversation.workspace.ports.clock.now(),
    )
    return write_ullage(header, conversation.workspace.ports.store.read(conversation.id)).decode()
