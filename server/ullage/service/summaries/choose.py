"""The choice of a summarizer: offline code, or a model."""

from msgspec.structs import replace

from ullage.model.answer import ModelRequest
from ullage.model.errors import NoModelConfigured, UllageError
from ullage.service.asking.request import DEFAULT_MAX_TOKENS, live_request, margin
from ullage.service.asking.retries import Waits
from ullage.service.conversation.conversation import Conversation
from ullage.service.ports.models import Provider, Summarizer
from ullage.service.summaries.by_model import ModelSummarizer, Progress, Reading
from ullage.service.summaries.sealed import SealingSummarizer
from ullage.transcript.cut_points import kept, leading


def writes_by_model(conversation: Conversation) -> bool:
    """Returns whether a model writes this conversation's summaries, by the settings and the configured providers. Also
    True if a model is configured wrongly, so that the user sees the error."""
    writer = conversation.workspace.settings.summary.writer
    if writer != "auto":
        return writer == "model"
    try:
        return not _provider(conversation).capabilities(_model(conversation)).replays
    except NoModelConfigured:
        return False
    except UllageError:
        return True


def model_writer(conversation: Conversation, skip: int, progress: Progress) -> Summarizer:
    """Returns a summarizer that asks a model about the present view without its `skip` oldest message groups. If the
    provider seals its own compactions, such a compaction is tried first. Raises `NoModelConfigured`, `SdkMissing`, or
    `InvalidRequest` if the user's own instructions cannot be read."""
    workspace, name = conversation.workspace, conversation.model
    summary, models = workspace.settings.summary, workspace.settings.models
    of_model = models[name].summary_prompt if name in models else ""
    project = conversation.transcript.cwd if workspace.trusts_projects else ""
    own = (of_model, *workspace.ports.prompts(project, summary.prompt_file))
    provider, reading = _provider(conversation), _reading(conversation, skip)
    waits = Waits(clock=workspace.ports.clock, chance=workspace.ports.chance, publish=progress.waiting)
    if not (reading.request.compacts and provider.capabilities(reading.request.model).seals):
        return ModelSummarizer(provider, reading, own, progress, waits)
    request = replace(reading.request, compacts=False)
    fallback = ModelSummarizer(provider, replace(reading, request=request), own, progress, waits)
    return SealingSummarizer(provider, reading.request, fallback, progress, waits)


def _model(conversation: Conversation) -> str:
    return conversation.workspace.settings.summary.model or conversation.model


def _provider(conversation: Conversation) -> Provider:
    return conversation.workspace.ports.providers(_model(conversation), conversation.workspace.settings)


def _reading(conversation: Conversation, skip: int) -> Reading:
    transcript, projection = conversation.transcript, conversation.projection
    view = projection.counted_view()
    limits = conversation.workspace.limits(_model(conversation))
    messages = view.messages
    stays = {
        *leading(messages, transcript.first_user_id),
        *kept(messages, transcript.pinned),
        *(message.id for message in messages if message.compaction),
    }
    return Reading(
        request=_request(conversation, limits.max_output, compacts=_compacts(conversation, skip)),
        stays=frozenset(stays),
        sizes={message.id: tokens for message, tokens in zip(messages, view.tokens, strict=True)},
        used=conversation.used,
        ratio=projection.tracker.calibration.ratio,
        margin=margin(conversation),
        window=limits.input,
        skip=skip,
        offers_tools=_offers_tools(conversation, skip),
    )


def _compacts(conversation: Conversation, skip: int) -> bool:
    """Returns whether the provider itself is asked to compact: it can, the context is large enough, and no message is
    skipped."""
    least = _provider(conversation).capabilities(_model(conversation)).compacts_from
    return least is not None and conversation.used >= least and not skip


def _offers_tools(conversation: Conversation, skip: int) -> bool:
    """Returns whether tools should not be refused by `tool_choice`, because a changed `tool_choice` would invalidate a
    cache that the request uses. A request to another model, or with other messages, uses no cache."""
    capabilities = _provider(conversation).capabilities(_model(conversation))
    return capabilities.caches_tool_choice and not conversation.workspace.settings.summary.model and not skip


def _request(conversation: Conversation, max_output: int | None, *, compacts: bool) -> ModelRequest:
    live = live_request(conversation)
    longest = max_output or DEFAULT_MAX_TOKENS
    return replace(live, model=_model(conversation), max_tokens=longest, compacts=compacts)
