"""Sessions on their way out: the whole log as text, or the context ready for a provider."""

from typing import Any

import msgspec

from ullage.formats.provider import write_request
from ullage.formats.transcripts.ullage_jsonl import Header
from ullage.formats.transcripts.ullage_jsonl import write as write_ullage
from ullage.service.compact.automatic import settled
from ullage.service.conversation.workspace import Workspace


async def export_session(workspace: Workspace, session_id: str, shape: str) -> str:
    """The session as `ullage` (its log), or its context as a request of a `Provider`."""
    if shape == "ullage":
        return _whole_log(workspace, session_id)
    request = await provider_request(workspace, session_id, shape)
    return msgspec.json.format(msgspec.json.encode(request), indent=2).decode()


async def provider_request(workspace: Workspace, session_id: str, provider: str) -> dict[str, Any]:
    """The context as the fields of a provider's request, once any automatic run is through."""
    session = await settled(workspace, session_id)
    return write_request(provider, session.transcript.view, session.transcript.tools)


def _whole_log(workspace: Workspace, session_id: str) -> str:
    transcript = workspace.session(session_id).transcript
    header = Header(
        session_id=session_id,
        title=transcript.title,
        cwd=transcript.cwd,
        model=transcript.model,
        exported_at=workspace.ports.clock.now(),
    )
    return write_ullage(header, workspace.ports.store.read(session_id)).decode()
