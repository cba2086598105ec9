"""The request that a session's next turn would send."""

from ullage.model.answer import ModelRequest
from ullage.service.conversation.session import Session
from ullage.service.conversation.workspace import Workspace

# Without a known limit of its answers a model is asked for what all current ones can give.
DEFAULT_MAX_TOKENS = 8_192
# How far a prompt may turn out larger than taken for: so many times its stated mean error, and in any case this share.
_ERRORS, _LEAST_MARGIN = 3, 0.01


def live_request(workspace: Workspace, session: Session) -> ModelRequest:
    """The whole view with the session's tools. A summary is asked for at the end of the same, so that the provider's
    cache knows its beginning."""
    budget = workspace.budget(session)
    limit = workspace.max_output(session) or DEFAULT_MAX_TOKENS
    return ModelRequest(
        model=workspace.model(session),
        messages=session.transcript.view,
        tools=session.transcript.tools,
        max_tokens=limit if budget is None else min(limit, _room(session, budget.window)),
    )


def _room(session: Session, window: int) -> int:
    """Tokens that an answer may take beside the prompt, even if that counts more with the provider than with us:
    providers refuse a request whose prompt and longest answer do not fit together."""
    return max(1, int(window - session.used * (1 + margin(session))))


def margin(session: Session) -> float:
    """The share by which the prompt may turn out larger than it is taken for."""
    return max(_LEAST_MARGIN, _ERRORS * session.tracker.reading.error_share)
