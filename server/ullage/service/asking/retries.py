"""Waiting out a provider that is busy: as long as it says, else longer each time, within a limit."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from msgspec import Struct

from ullage.model.answer import Fragment, ModelRequest
from ullage.model.errors import ProviderUnavailable
from ullage.model.updates import Update
from ullage.service.conversation.publish import waiting_for_provider
from ullage.service.ports.models import Provider
from ullage.service.ports.world import Chance, Clock

_TRIES = 5
# Seconds: the first wait, what it grows by, and the most that all waits of one request may take. A person who waits
# longer for a first word would rather be told.
_FIRST_WAIT = 0.5
_GROWTH = 2.0
_LONGEST = 60.0
# Clients that were refused together must not come back together.
_JITTER = 0.25


class Waits(Struct, frozen=True, kw_only=True):
    """How the waits are made: by this clock, by chance a little longer, each published with `publish` first."""

    clock: Clock
    chance: Chance
    publish: Callable[[Update], object]


async def stream_with_retries(provider: Provider, request: ModelRequest, waits: Waits) -> AsyncGenerator[Fragment]:
    """The provider's answer. A failure that another try may mend is tried again as long as no fragment has come;
    after one the failure is the caller's, for half an answer cannot be told twice."""
    waited, wait = 0.0, _FIRST_WAIT
    for tries_left in reversed(range(_TRIES)):
        begun = False
        try:
            async with aclosing(provider.stream(request)) as fragments:
                async for fragment in fragments:
                    begun = True
                    yield fragment
            return
        except ProviderUnavailable as error:
            asked = error.retry_after
            pause = wait * (1 + _JITTER * waits.chance.share()) if asked is None else asked
            if begun or not tries_left or waited + pause > _LONGEST:
                raise
            waits.publish(waiting_for_provider(provider.name, str(error), pause))
            await waits.clock.wait(pause)
            waited, wait = waited + pause, wait * _GROWTH
