"""Who writes a session's summaries: the offline summariser, or a model and which."""

from collections.abc import Callable
from functools import partial

from msgspec.structs import replace

from ullage.model.answer import ModelRequest
from ullage.model.errors import NoModelConfigured, UllageError
from ullage.model.events import SummaryReported
from ullage.model.updates import Update
from ullage.model.usage import Usage
from ullage.service.asking.request import DEFAULT_MAX_TOKENS, live_request, margin
from ullage.service.conversation.session import Session
from ullage.service.conversation.workspace import Workspace
from ullage.service.ports.models import Provider, Summarizer
from ullage.service.summaries.by_model import ModelSummarizer, Reading, Watch
from ullage.service.summaries.sealed import SealingSummarizer
from ullage.transcript.keep import kept, leading


def writes_by_model(workspace: Workspace, session: Session) -> bool:
    """Whether a model is to write. One that is configured wrongly is, so that the person learns of it."""
    writer = workspace.settings.summary.writer
    if writer != "auto":
        return writer == "model"
    try:
        return not _provider(workspace, session).capabilities(_model(workspace, session)).replays
    except NoModelConfigured:
        return False
    except UllageError:
        return True


def model_writer(workspace: Workspace, session: Session, skip: int, tell: Callable[[Update], None]) -> Summarizer:
    """The model as a summariser of the session as it now stands, `skip` of its oldest pairs left out; a provider that
    seals its own compactions makes one first. Raises
    `NoModelConfigured`, and `InvalidRequest` for instructions of the person's that cannot be read."""
    summary, models = workspace.settings.summary, workspace.settings.models
    of_model = models[name].summary_prompt if (name := workspace.model(session)) in models else ""
    own = (of_model, *workspace.ports.prompts(session.transcript.cwd, summary.prompt_file))
    watch = Watch(tell=tell, spent=partial(_note_spent, workspace, session.id, _model(workspace, session)))
    provider, reading = _provider(workspace, session), _reading(workspace, session, skip)
    if not (reading.request.compacts and provider.capabilities(reading.request.model).seals):
        return ModelSummarizer(provider, reading, own, watch)
    request = replace(reading.request, compacts=False)
    otherwise = ModelSummarizer(provider, replace(reading, request=request), own, watch)
    return SealingSummarizer(provider, reading.request, otherwise, watch)


def _note_spent(workspace: Workspace, session_id: str, model: str, usage: Usage) -> None:
    # A session that was closed while its summary was being written must not be opened again for this.
    if workspace.is_open(session_id):
        workspace.record(workspace.session(session_id), SummaryReported(usage=usage, model=model))


def _model(workspace: Workspace, session: Session) -> str:
    return workspace.settings.summary.model or workspace.model(session)


def _provider(workspace: Workspace, session: Session) -> Provider:
    return workspace.ports.providers(_model(workspace, session), workspace.settings)


def _reading(workspace: Workspace, session: Session, skip: int) -> Reading:
    view = session.counted_view()
    limits = workspace.ports.catalog(_model(workspace, session), workspace.settings.models)
    messages = view.messages
    stays = {
        *leading(messages, session.transcript.first_user_id),
        *kept(messages, session.transcript.pinned),
        *(message.id for message in messages if message.compaction),
    }
    return Reading(
        request=_request(workspace, session, limits.max_output, compacts=_compacts(workspace, session, skip)),
        stays=frozenset(stays),
        sizes={message.id: tokens for message, tokens in zip(messages, view.tokens, strict=True)},
        used=session.used,
        ratio=session.tracker.calibration.ratio,
        margin=margin(session),
        window=limits.input,
        skip=skip,
        offers_tools=_offers_tools(workspace, session, skip),
    )


def _compacts(workspace: Workspace, session: Session, skip: int) -> bool:
    """Whether the provider itself is to compact."""
    least = _provider(workspace, session).capabilities(_model(workspace, session)).compacts_from
    return least is not None and session.used >= least and not skip


def _offers_tools(workspace: Workspace, session: Session, skip: int) -> bool:
    """Whether refusing the tools would cost the cache. Another model's, and that of other messages, is none of ours."""
    capabilities = _provider(workspace, session).capabilities(_model(workspace, session))
    return capabilities.caches_tool_choice and not workspace.settings.summary.model and not skip


def _request(workspace: Workspace, session: Session, max_output: int | None, *, compacts: bool) -> ModelRequest:
    live = live_request(workspace, session)
    longest = max_output or DEFAULT_MAX_TOKENS
    return replace(live, model=_model(workspace, session), max_tokens=longest, compacts=compacts)
