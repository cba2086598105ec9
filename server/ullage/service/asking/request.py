"""The request that a conversation's next turn sends."""

from ullage.model.answer import ModelRequest
from ullage.service.conversation.conversation import Conversation

# The answer's limit in tokens if the model's own is unknown. All current models can write this much.
DEFAULT_MAX_TOKENS = 8_192
# How much larger than our count a prompt may turn out: this many times the mean error of the count, and at least this
# share.
_ERRORS, _LEAST_MARGIN = 3, 0.01


def live_request(conversation: Conversation) -> ModelRequest:
    """Returns the request of the next turn: the whole view with the session's tools. A summary is requested at the
    end of the same request, so that the provider's cache knows its beginning."""
    budget = conversation.budget
    limit = conversation.max_output or DEFAULT_MAX_TOKENS
    return ModelRequest(
        model=conversation.model,
        messages=conversation.transcript.view,
        tools=conversation.transcript.tools,
        max_tokens=limit if budget is None else min(limit, _room(conversation, budget.window)),
    )


def _room(conversation: Conversation, window: int) -> int:
    """Returns the tokens left in the window for an answer, even if the provider counts more tokens than we do.
    Providers refuse a request whose prompt and longest answer together exceed the window."""
    return max(1, int(window - conversation.used * (1 + margin(conversation))))


def margin(conversation: Conversation) -> float:
    """Returns the share by which the prompt may turn out larger than our count."""
    return max(_LEAST_MARGIN, _ERRORS * conversation.projection.tracker.reading.error_share)
