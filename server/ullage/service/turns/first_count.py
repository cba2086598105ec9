"""The provider's own count of a session's first prompt, where it has one: known before anything is sent."""

import asyncio
import logging

from ullage.model.answer import ModelRequest
from ullage.model.errors import ProviderError
from ullage.service.compact.automatic import look_after
from ullage.service.conversation.usage import tell_usage
from ullage.service.turns.turn import Turn

_log = logging.getLogger(__name__)
# Seconds. The person waits for an answer; without a count the local one has to do.
_PATIENCE = 3.0


async def count_first_prompt(turn: Turn, request: ModelRequest) -> None:
    """Takes in how many tokens the provider says the prompt has, and looks after a context that is larger than it
    seemed. A provider that cannot say leaves everything as it is: if something is wrong with it, its answer tells."""
    if not turn.provider.capabilities(request.model).counts_tokens:
        return
    position = turn.session.transcript.position
    try:
        tokens = await asyncio.wait_for(turn.provider.count_tokens(request), _PATIENCE)
    except (ProviderError, TimeoutError) as error:
        _log.info("%s could not count the prompt: %s", turn.provider.name, error or "it took too long")
        return
    session = turn.session
    if tokens is None or session.transcript.position != position:
        return
    session.tracker.take_count(tokens, turn.workspace.ports.clock.now())
    tell_usage(turn.workspace, session)
    look_after(turn.workspace, session)
