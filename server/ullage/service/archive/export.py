"""Export: a session's log as text, its context as a provider's request, or the agent's own file from the archive."""

from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import msgspec

from ullage.formats.provider import write_request
from ullage.formats.transcripts.message_lists import Header, write_ullage
from ullage.model.errors import NotFound, SessionNotFound, StoreUnavailable
from ullage.service.archive.naming import find_session
from ullage.service.compact.automatic import ready, require_fit_if_managed
from ullage.service.conversation.conversation import Conversation
from ullage.service.ports.agent_files import Original, Originals, Version
from ullage.service.ports.store import SessionStore


async def export_session(conversation: Conversation, shape: str) -> str:
    """Returns the session as text. If `shape` is `ullage`, that is its whole log as JSONL; else its context as a
    request, in JSON, of the provider named by `shape` (`anthropic`, `openai`, `openai-responses`). Raises
    `InvalidRequest` for another name."""
    if shape == "ullage":
        transcript = conversation.transcript
        header = Header(
            session_id=conversation.id,
            title=transcript.title,
            cwd=transcript.cwd,
            model=transcript.model,
            exported_at=conversation.workspace.ports.clock.now(),
        )
        return write_ullage(header, conversation.workspace.ports.store.read(conversation.id)).decode()
    request = await provider_request(conversation, shape)
    return msgspec.json.format(msgspec.json.encode(request), indent=2).decode()


async def provider_request(conversation: Conversation, provider: str) -> dict[str, Any]:
    """Returns the context as the fields of a request of this provider. If Ullage manages the context, it fits the
    window. Raises `InvalidRequest` for an unknown provider, and `CannotFit` if Ullage manages the context and what must
    stay in it exceeds the window."""
    conversation = await ready(conversation)
    require_fit_if_managed(conversation)
    return write_request(provider, conversation.transcript.view, conversation.transcript.tools)


# Originals that an error lists.
_LISTED = 5


def find_originals(store: SessionStore, originals: Originals, name: str) -> tuple[Original, ...]:
    """Returns the original that `name` means, and after it the files that belong to it. `name` is the id of a session,
    the beginning of one, an agent's own id of a conversation, the beginning of one, or the path of the file.

    Raises `NotFound` if the archive has no such original, or several.
    """
    found = originals.find(path=name) or _of_session(store, originals, name) or originals.find(origin_id=name)
    mains = [one for one in found if not one.source.owner]
    if len(mains) > 1:
        listed = ", ".join(f"{one.source.path} ({one.source.agent})" for one in mains[:_LISTED])
        raise NotFound(f"{name!r} could be any of {len(mains)} files: {listed}; give the path of one")
    return found


def _of_session(store: SessionStore, originals: Originals, name: str) -> tuple[Original, ...]:
    try:
        session_id = find_session(store, name)
    except SessionNotFound:
        return ()
    return originals.find(session_id=session_id)


def choose_version(original: Original, number: int | None = None) -> Version:
    """Returns a version of an original: the one with this number, or the newest that holds anything. Raises `NotFound`
    if there is none."""
    whole = [one for one in original.versions if (one.number == number if number else one.size)]
    if whole:
        return whole[-1]
    known = ", ".join(f"{one.number} ({one.size:,} bytes)" for one in original.versions)
    raise NotFound(f"no version {number} of {original.source.path} is kept; its versions are {known}")


def read_version(originals: Originals, version: Version) -> Iterator[bytes]:
    """Yields the bytes of a version. Raises `StoreUnavailable` at the end if they are not those that were kept."""
    digest = sha256()
    for data in originals.read(version.version_id):
        digest.update(data)
        yield data
    if version.digest and digest.digest() != version.digest:
        raise StoreUnavailable("the archive is damaged: what it holds of this file is not what was kept")
