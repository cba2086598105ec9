"""The request that a conversation's next turn sends."""

from ullage.model.answer import ModelRequest
from ullage.service.conversation.conversation import Conversation

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
