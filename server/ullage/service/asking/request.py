"""The request that a conversation's next turn would send."""

from ullage.model.answer import ModelRequest
from ullage.service.conversation.conversation import Conversation

# Without a known limit of its answers a model is asked for what all current ones can give.
DEFAULT_MAX_TOKENS = 8_192
# How far a prompt may turn out larger than taken for: so many times its stated mean error, and in any case this share.
_ERRORS, _LEAST_MARGIN = 3, 0.01


def live_request(conversation: Conversation) -> ModelRequest:
    """The whole view with the session's tools. A summary is asked for at the end of the same request, so that the
    provider's cache knows its beginning."""
    budget = conversation.budget
    limit = conversation.max_output or DEFAULT_MAX_TOKENS
    return ModelRequest(
        model=conversation.model,
        messages=conversation.transcript.view,
        tools=conversation.transcript.tools,
        max_tokens=limit if budget is None else min(limit, _room(conversation, budget.window)),
    )


def _room(conversation: Conversation, window: int) -> int:
    """Tokens that an answer may take beside the prompt, even if the provider counts more than we do: providers refuse a
    request whose prompt and longest answer do not fit together."""
    return max(1, int(window - conversation.used * (1 + margin(conversation))))


def margin(conversation: Conversation) -> float:
    """The share by which the prompt may turn out larger than it is taken for."""
    return max(_LEAST_MARGIN, _ERRORS * conversation.projection.tracker.reading.error_share)
