"""The request that a session's next turn would send."""

from ullage.model.answer import ModelRequest
from ullage.service.session import Session
from ullage.service.workspace import Workspace

# Without a known limit of its answers a model is asked for what all current ones can give.
DEFAULT_MAX_TOKENS = 8_192


def live_request(workspace: Workspace, session: Session) -> ModelRequest:
    """The whole view with the session's tools. A summary is asked for at the end of the same, so that the provider's
    cache knows its beginning."""
    budget = workspace.budget(session)
    limit = workspace.max_output(session) or DEFAULT_MAX_TOKENS
    return ModelRequest(
        model=workspace.model(session),
        messages=session.transcript.view,
        tools=session.transcript.tools,
        max_tokens=limit if budget is None else max(1, min(limit, budget.window - session.used)),
    )
