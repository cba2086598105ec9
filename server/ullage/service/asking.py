"""One request of a provider: what it sends for a conversation's next turn, and retries while the provider is busy.

A retry waits as long as the provider says, else longer each time, up to a limit.
"""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from msgspec import Struct

from ullage.model import words
from ullage.model.answer import CompactionSealed, Fragment, ModelRequest, TextDelta, ThinkingDelta, ToolInputDelta
from ullage.model.errors import AnswerBroken, ProviderUnavailable
from ullage.model.updates import Update
from ullage.service.conversation.bus import notice
from ullage.service.conversation.conversation import Conversation
from ullage.service.ports.models import Chance, Clock, Provider

_TRIES = 5
# Seconds: the first wait, the factor by which each wait grows, and the most that all waits of one request may take.
# After a minute without a first word a user prefers an error.
_FIRST_WAIT = 0.5
_GROWTH = 2.0
_LONGEST = 60.0
# Waits are spread by up to this share, so that clients that were refused together do not come back together.
_JITTER = 0.25
# Characters of an answer, ten times as many as the longest that a model may write. A timeout counts silence only, so
# that nothing else ends an answer without end, and its message must still fit the store.
_MOST_CHARS = 10_000_000
# Characters that each fragment counts besides its own, for what holds it in memory.
_OVERHEAD = 10


class Waits(Struct, frozen=True, kw_only=True):
    """How the waits between two tries are made: `clock` waits, `chance` makes a wait longer by a random part, and
    `publish` gets the notice of each wait."""

    clock: Clock
    chance: Chance
    publish: Callable[[Update], object]


async def stream_with_retries(provider: Provider, request: ModelRequest, waits: Waits) -> AsyncGenerator[Fragment]:
    """Yields the fragments of a provider's answer. If the provider is unavailable before the first fragment has come,
    waits and sends the request again, up to five times within a minute. Otherwise `ProviderUnavailable` is raised;
    after a first fragment always, because half an answer cannot be withdrawn. Raises `AnswerBroken` for an answer that
    does not end."""
    waited, wait, chars = 0.0, _FIRST_WAIT, 0
    for tries_left in reversed(range(_TRIES)):
        begun = False
        try:
            async with aclosing(provider.stream(request)) as fragments:
                async for fragment in fragments:
                    begun = True
                    chars += _OVERHEAD + _length(fragment)
                    if chars > _MOST_CHARS:
                        raise AnswerBroken(f"{provider.name}'s answer does not end: it was cut off")
                    yield fragment
            return
        except ProviderUnavailable as error:
            asked = error.retry_after
            pause = wait * (1 + _JITTER * waits.chance.share()) if asked is None else asked
            if begun or not tries_left or waited + pause > _LONGEST:
                raise
            said = words.waiting_for_provider(provider.name, str(error), pause)
            waits.publish(notice("waiting_for_provider", said))
            await waits.clock.wait(pause)
            waited, wait = waited + pause, wait * _GROWTH


def _length(fragment: Fragment) -> int:
    match fragment:
        case TextDelta(text=text) | ToolInputDelta(text=text):
            return len(text)
        case ThinkingDelta(text=text, redacted=redacted):
            return len(text) + len(redacted or "")
        case CompactionSealed(data=data):
            return len(data)
        case _:
            return 0


# The answer's limit in tokens if the model's own is unknown. All current models can write this much.
DEFAULT_MAX_TOKENS = 8_192
# How much larger than our count a prompt may turn out: this many times the mean error of the count, and at least this
# share.
_ERRORS, _LEAST_MARGIN = 3, 0.01


def live_request(conversation: Conversation) -> ModelRequest:
    """Returns the request of the session's next turn: the whole view with the session's tools. The longest answer is
    limited so that prompt and answer fit the window. A request for a summary begins in the same way, so that the
    provider's cache is used."""
    budget = conversation.budget
    limit = conversation.max_output or DEFAULT_MAX_TOKENS
    return ModelRequest(
        model=conversation.model,
        messages=conversation.transcript.view,
        tools=conversation.transcript.tools,
        max_tokens=limit if budget is None else min(limit, _room(conversation, budget.window)),
    )


def _room(conversation: Conversation, window: int) -> int:
    """Returns the tokens that the window surely leaves for an answer, although the provider may count a longer prompt
    than Ullage. Providers refuse a request whose prompt and longest answer together exceed the window."""
    return max(1, int(window - conversation.used * (1 + margin(conversation))))


def margin(conversation: Conversation) -> float:
    """Returns the share by which the provider's count of the prompt may exceed Ullage's."""
    return max(_LEAST_MARGIN, _ERRORS * conversation.projection.tracker.reading.error_share)
