"""Settings, as a client sends them in `initializationOptions` or `workspace/didChangeConfiguration`, and the rules
between them.

Field docs become the settings schema, VS Code's settings page and Neovim's defaults, so they are written for users.

Strategies say which whole messages are dropped first; `edits/drop.py` carries them out. Every strategy keeps the system
prompt, the first user message, pinned messages and the last exchange; no setting changes that. Messages that a provider
requires together are dropped together.

All thresholds are shares of usable:

    target < compactAt    clearAt ≤ compactAt    warnAt ≤ compactAt

A user's choice against a rule is refused by one error that names both settings. A setting that was left at its default
gives way to a lower `compactAt`: it keeps its proportion to it. So does `summary.prepareAt`, which may also be chosen
above `compactAt`: then no summary is prepared.
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from ullage.model.errors import InvalidRequest
from ullage.model.store_address import PASSWORD_REFUSED, has_password

Messages = Annotated[int, Meta(ge=0)]


class TruncationMode(StrEnum):
    """What happens when the context is full: a strategy drops whole messages, or a compaction summarizes them."""

    SLIDING_WINDOW = "sliding_window"
    TOKEN_BUDGET = "token_budget"
    SMART = "smart"
    SUMMARIZE = "summarize"


class Speaker(StrEnum):
    """The kind of a group of messages that are dropped together: a tool use with its results, a text of the assistant,
    or a message of the user."""

    TOOL = "tool"
    ASSISTANT = "assistant"
    USER = "user"


class RangeKeep(StrEnum):
    """How much of the messages after the first exchange a truncation keeps: nothing, the last two messages, the last
    half or the last quarter of them. The choices are those of other coding agents."""

    NONE = "none"
    LAST_TWO = "lastTwo"
    HALF = "half"
    QUARTER = "quarter"


class _Strategy(
    Struct, frozen=True, kw_only=True, tag_field="type", rename="camel", forbid_unknown_fields=True, omit_defaults=True
):
    """The base of the strategies' settings. The tag of each is the strategy's name in the settings."""


class SlidingWindow(_Strategy, frozen=True, kw_only=True, tag="sliding_window"):
    """Keeps the last `maxMessages` messages and drops the older ones, even if the context would fit without that."""

    max_messages: Annotated[Messages, Meta(description="Messages that stay.")] = 20


class TokenBudget(_Strategy, frozen=True, kw_only=True, tag="token_budget"):
    """Drops the oldest messages until the context fits the target."""


class Selective(_Strategy, frozen=True, kw_only=True, tag="selective"):
    """Drops messages kind by kind in the given order, and of one kind the oldest first. Messages of a kind that is not
    named are kept as long as that is possible."""

    order: Annotated[tuple[Speaker, ...], Meta(description="The kinds that are dropped, in this order.")] = (
        Speaker.TOOL,
        Speaker.ASSISTANT,
    )


class Smart(_Strategy, frozen=True, kw_only=True, tag="smart"):
    """Keeps the first and the last messages. Drops the oldest of the messages between them until the context fits the
    target."""

    keep_first: Annotated[Messages, Meta(description="Messages that stay at the beginning.")] = 2
    keep_last: Annotated[Messages, Meta(description="Messages that stay at the end.")] = 10


class TruncateRange(_Strategy, frozen=True, kw_only=True, tag="truncate_range"):
    """Drops a range of messages after the first exchange, and again a range of the remaining ones, until the context
    fits the target."""

    keep: Annotated[RangeKeep, Meta(description="How much of those messages is kept.")] = RangeKeep.HALF


StrategySettings = SlidingWindow | TokenBudget | Selective | Smart | TruncateRange


Share = Annotated[float, Meta(gt=0, lt=1)]
Tokens = Annotated[int, Meta(gt=0)]
# A project must not decide these for the user who opens it: editors take such a setting from trusted folders only.
_RESTRICTED = {"restricted": True}
# The fields of `ContextSettings` with that mark, by their names in JSON. A transcript must not decide them either.
RESTRICTED = frozenset({"privatePatterns", "trustedFolders"})


class ModelSettings(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Settings for one model, which override the catalog's facts about it."""

    window: Annotated[Tokens | None, Meta(description="Input tokens the model accepts.")] = None
    max_output: Annotated[Tokens | None, Meta(description="Most tokens of one answer.")] = None
    encoding: Annotated[
        Literal["cl100k_base", "o200k_base", "approximate"] | None,
        Meta(description="How to count this model's tokens."),
    ] = None
    tool_syntax: Annotated[
        Literal["native", "xml", "caret"] | None,
        Meta(
            description="How the model calls tools: by its provider's own way, or in its text, as XML tags or between "
            "fences of three carets. Unset: native, or xml where the provider has nativeTools false."
        ),
    ] = None
    summary_prompt: Annotated[
        str, Meta(description="Further instructions for summaries of this model's conversations.")
    ] = ""
    context: Annotated[
        dict[str, Any],
        Meta(description="Context settings of this model's conversations that differ, for example its strategies."),
    ] = {}

    def __post_init__(self) -> None:
        overridden(ContextSettings(), self.context)


class ContextSettings(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """When the context is made smaller, and by how much. Shares are of usable (the window less the reserve)."""

    enabled: Annotated[
        bool, Meta(description="Warn and compact automatically. Off while a model's window is unknown.")
    ] = True
    warn_at: Annotated[Share, Meta(description="Share of the usable window at which you are warned, once.")] = 0.8
    compact_at: Annotated[Share, Meta(description="Share of the usable window at which Ullage compacts by itself.")] = (
        0.9
    )
    clear_at: Annotated[
        Share,
        Meta(description="Share from which cheap edits run: repeated file reads, old thinking and tool results."),
    ] = 0.65
    target: Annotated[Share, Meta(description="Share of the usable window a compaction leaves at most.")] = 0.5
    reserve: Annotated[
        Tokens | None,
        Meta(description="Tokens kept free for the answer. Unset: min(max output, 20,000, window/4)."),
    ] = None
    keep_tail: Annotated[
        Tokens | None,
        Meta(description="Tokens of recent turns kept verbatim. Unset: a quarter of usable, 2,000 to 20,000."),
    ] = None
    keep_tool_uses: Annotated[int, Meta(ge=0, description="Most recent tool results that clearing leaves alone.")] = 3
    clear_at_least: Annotated[
        int, Meta(ge=0, description="Cheap edits run only if they save this many tokens, or reach the target.")
    ] = 20_000
    exclude_tools: Annotated[
        tuple[str, ...], Meta(description="Tools whose results are never cleared nor shortened.")
    ] = ()
    clear_at_tool_uses: Annotated[
        Annotated[int, Meta(gt=0)] | None,
        Meta(
            description="Tool uses since the last clearing that clear old results, too, if that saves clearAtLeast. "
            "Unset: only clearAt."
        ),
    ] = None
    clear_tool_inputs: Annotated[
        bool, Meta(description="Clear long inputs of old tool uses, too, not only their results.")
    ] = False
    keep_thinking_turns: Annotated[
        Annotated[int, Meta(gt=0)] | None,
        Meta(description="Most recent turns whose thinking clearing leaves alone. Null: all of them."),
    ] = 1
    max_result_tokens: Annotated[
        Tokens | None,
        Meta(
            description="Tokens an older tool result keeps when room is needed. Unset: 5% of usable, 1,000 to 10,000."
        ),
    ] = None
    max_result_tokens_by_tool: Annotated[
        dict[str, Tokens], Meta(description="The same per tool, by the tool's name.")
    ] = {}
    mode: Annotated[
        TruncationMode,
        Meta(description="What a full context loses: old messages for a summary, or as this strategy says."),
    ] = TruncationMode.SUMMARIZE
    strategies: Annotated[
        tuple[StrategySettings, ...],
        Meta(
            description="Strategies by which messages go, each until the target is met: in place of the mode's own, "
            "or, where it makes summaries, when no summary could be made."
        ),
    ] = ()
    private_patterns: Annotated[
        tuple[str, ...],
        Meta(
            description="Regular expressions; what they match is left out of every summary, as secrets are.",
            extra_json_schema=_RESTRICTED,
        ),
    ] = ()
    bring_back: Annotated[
        Literal["off", "references", "contents"],
        Meta(description="What a compaction says of the project's instruction files: nothing, names, or contents."),
    ] = "references"
    trusted_folders: Annotated[
        tuple[str, ...],
        Meta(
            description="Folders whose instruction files' contents a compaction may bring back.",
            extra_json_schema=_RESTRICTED,
        ),
    ] = ()

    def __post_init__(self) -> None:
        if not self.private_patterns:
            return
        # The engine that runs them (`redaction/privacy.py`); 10 ms to import, which only these settings need.
        import regex  # noqa: PLC0415

        for pattern in self.private_patterns:
            try:
                regex.compile(pattern)
            except regex.error as error:
                raise ValueError(f"privatePatterns: {pattern!r} is no regular expression, {error}") from None


class HookSettings(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Programs that run before and after a compaction. Each gets one JSON object on standard input and no API keys. If
    a program fails or takes too long, a notice says so and the compaction continues."""

    pre_compact: Annotated[
        tuple[str, ...],
        Meta(
            description="Program and arguments, run before a compaction. It may stop it or add instructions.",
            extra_json_schema=_RESTRICTED,
        ),
    ] = ()
    post_compact: Annotated[
        tuple[str, ...],
        Meta(
            description="Program and arguments, run after a compaction with its summary and figures.",
            extra_json_schema=_RESTRICTED,
        ),
    ] = ()
    timeout: Annotated[float, Meta(gt=0, le=600, description="Seconds after which a hook is stopped.")] = 10.0
    share_content: Annotated[
        bool,
        Meta(
            description="Give the hook before a compaction the messages that are archived, not only their number.",
            extra_json_schema=_RESTRICTED,
        ),
    ] = False


class ProviderSettings(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """How to reach one provider. Keys are never settings: they come from the environment or the system's keyring."""

    kind: Annotated[
        Literal["anthropic", "openai", "openai_chat", "scripted", "replay"],
        Meta(description="What it speaks: Anthropic Messages, OpenAI Responses, OpenAI Chat Completions, or a file."),
    ]
    base_url: Annotated[str, Meta(description="The server's address. Unset: the provider's own.")] = ""
    key_env: Annotated[str, Meta(description="Environment variable that holds the key. Unset: the provider's own.")] = (
        ""
    )
    file: Annotated[str, Meta(description="The script or transcript that a scripted or replay provider plays.")] = ""
    models: Annotated[tuple[str, ...], Meta(description="Models it serves; names may end in `*`.")] = ()
    native_tools: Annotated[bool, Meta(description="The server understands tool calls.")] = True
    documents: Annotated[
        bool | None,
        Meta(
            description="The server takes PDF documents in Chat Completions. Unset: OpenAI's own does, others do not. "
            "Anthropic Messages and OpenAI Responses always do."
        ),
    ] = None
    timeout: Annotated[
        float, Meta(gt=0, description="Seconds without a word from the server after which it is given up.")
    ] = 120.0
    context_editing: Annotated[
        bool,
        Meta(
            description="Let the provider itself clear old tool results (Anthropic) and make compactions (Anthropic, "
            "OpenAI), for models that can."
        ),
    ] = False


class SummarySettings(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Who writes the summary of a compaction, and how."""

    writer: Annotated[
        Literal["auto", "offline", "model"],
        Meta(description="auto: a model where one is configured, else offline."),
    ] = "auto"
    model: Annotated[str, Meta(description="Model that writes summaries. Unset: the conversation's own.")] = ""
    prompt_file: Annotated[
        str,
        Meta(
            description="File with your own instructions for summaries by a model. A project's own, in "
            ".ullage/summary.md, are given after them.",
            extra_json_schema=_RESTRICTED,
        ),
    ] = ""
    prepare_at: Annotated[
        Share, Meta(description="Share of the usable window from which a summary is prepared in the background.")
    ] = 0.75
    confirm: Annotated[
        bool,
        Meta(description="Ask instead of compacting by itself, as long as the context is not over its usable window."),
    ] = False


class ArchiveSettings(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The archive of agents' own files, from which a transcript that its agent has deleted is given back."""

    enabled: Annotated[
        bool,
        Meta(
            description="Keep the files of agents on this machine, byte for byte, next to the store, once you have "
            "agreed.",
            extra_json_schema=_RESTRICTED,
        ),
    ] = True
    limit: Annotated[
        Annotated[float, Meta(gt=0)] | None,
        Meta(
            description="Gigabytes of the archive at which no more is kept. Nothing is removed by itself. Unset: no "
            "limit.",
            extra_json_schema=_RESTRICTED,
        ),
    ] = 5.0


class SearchSettings(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A server that makes embeddings of texts, by which a search orders what it has found by its words. Without one,
    words alone decide and nothing leaves the machine. Its key comes from the environment or the system's keyring.
    `team_archive` is what a search of the team reads, and nothing else does."""

    embeddings_url: Annotated[
        str,
        Meta(
            description="Server with OpenAI's /embeddings, such as http://127.0.0.1:11434/v1. Queries and the texts "
            "that they find are sent to it, without secrets and private text.",
            extra_json_schema=_RESTRICTED,
        ),
    ] = ""
    embeddings_model: Annotated[
        str, Meta(description="The server's model for embeddings.", extra_json_schema=_RESTRICTED)
    ] = ""
    embeddings_key_env: Annotated[
        str,
        Meta(
            description="Environment variable that holds the server's key. Unset: OPENAI_API_KEY, if there is one.",
            extra_json_schema=_RESTRICTED,
        ),
    ] = ""

    team_archive: Annotated[
        str,
        Meta(
            description="A team's archive to search, as postgresql://HOST/DATABASE. Unset: that of ULLAGE_TEAM, else "
            "the one that `ullage team share` was given.",
            extra_json_schema=_RESTRICTED,
        ),
    ] = ""

    def __post_init__(self) -> None:
        if bool(self.embeddings_url) != bool(self.embeddings_model):
            raise ValueError("search: give both embeddingsUrl and embeddingsModel, or neither")
        if has_password(self.team_archive):
            raise ValueError(f"search.teamArchive: {PASSWORD_REFUSED}")


class OfflineSettings(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The copy on this machine of a store in PostgreSQL, for times without its server."""

    enabled: Annotated[
        bool,
        Meta(
            description="Keep a copy on this machine of what is used of a store in PostgreSQL, for times without its "
            "server. Read when the server starts.",
            extra_json_schema=_RESTRICTED,
        ),
    ] = True
    # The messages of a year of daily work, some 500,000, with what searches them; little next to what agents keep.
    limit: Annotated[
        Annotated[float, Meta(gt=0)] | None,
        Meta(
            description="Gigabytes of that copy above which the conversations go that were not used for longest. "
            "Null: no limit. Read when the server starts.",
            extra_json_schema=_RESTRICTED,
        ),
    ] = 1.0

    @property
    def most_bytes(self) -> int | None:
        return None if self.limit is None else int(self.limit * 1e9)


class Limit(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A limit of the user's own, whatever the window: once a conversation passes it, the user is warned."""

    agent: Annotated[str, Meta(description="Name of the agent that it is for. Unset: all.")] = ""
    folder: Annotated[str, Meta(description="Folder that it is for, an absolute path. Unset: all.")] = ""
    tokens: Annotated[Tokens | None, Meta(description="Tokens in the context.")] = None
    cost: Annotated[
        Annotated[float, Meta(gt=0)] | None,
        Meta(description="US dollars that it has cost, by list prices."),
    ] = None


class Notices(StrEnum):
    """What the user is told by itself. `on`: a good moment to go on in a new session, where the figure is shown. `off`:
    not that. `desktop`: that, and a notification of the operating system for each good moment, for a compaction
    because a conversation idles, some minutes before it, and for a limit of the user's own."""

    ON = "on"
    OFF = "off"
    DESKTOP = "desktop"


class Settings(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """All settings of Ullage."""

    model: Annotated[str, Meta(description="Model assumed for conversations that do not name one.")] = ""
    models: Annotated[
        dict[str, ModelSettings], Meta(description="Overrides per model name, for example its window.")
    ] = {}
    provider: Annotated[
        str,
        Meta(
            description="Provider to talk to: anthropic, openai, or a name under providers. Unset: by model and key.",
            extra_json_schema=_RESTRICTED,
        ),
    ] = ""
    providers: Annotated[
        dict[str, ProviderSettings], Meta(description="Providers by name.", extra_json_schema=_RESTRICTED)
    ] = {}
    context: ContextSettings = ContextSettings()
    summary: SummarySettings = SummarySettings()
    hooks: HookSettings = HookSettings()
    archive: ArchiveSettings = ArchiveSettings()
    search: SearchSettings = SearchSettings()
    offline: OfflineSettings = OfflineSettings()
    limits: Annotated[
        tuple[Limit, ...],
        Meta(description="Limits of your own for conversations. The innermost folder's counts, then the agent's."),
    ] = ()
    notices: Annotated[
        Notices,
        Meta(
            description="Good moments to go on in a new session: on, off, or desktop, which also notifies you by the "
            "system of these, of compactions of idle conversations and of your limits."
        ),
    ] = Notices.ON
    store: Annotated[
        str,
        Meta(
            description="Where conversations are kept: a file, or a PostgreSQL database as postgresql://HOST/DATABASE. "
            "Unset: a file of your own. Read when the server starts.",
            extra_json_schema=_RESTRICTED,
        ),
    ] = ""

    def __post_init__(self) -> None:
        if has_password(self.store):
            raise ValueError(f"store: {PASSWORD_REFUSED}")


def overridden(settings: ContextSettings, fields: Mapping[str, Any]) -> ContextSettings:
    """Returns the settings with some fields replaced. `fields` has the names and values of the JSON settings
    (camelCase). Raises `msgspec.ValidationError` if a name is unknown or a value is invalid."""
    if not fields:
        return settings
    return msgspec.convert({**msgspec.to_builtins(settings), **fields}, ContextSettings)


def private_patterns(settings: Settings) -> tuple[str, ...]:
    """Returns the patterns of private text of all conversations and of each model's, each once."""
    own = (model.context.get("privatePatterns", ()) for model in settings.models.values())
    return tuple(dict.fromkeys((*settings.context.private_patterns, *(one for patterns in own for one in patterns))))


def context_settings(settings: Settings, model: str) -> ContextSettings:
    """Returns the context settings of a model's sessions: those for all models, overridden by the model's own under
    `models`."""
    own = settings.models[model].context if model in settings.models else {}
    return overridden(settings.context, own)


_DEFAULT, _SUMMARY = ContextSettings(), SummarySettings()


class _Threshold(Struct, frozen=True):
    """One setting that is a share of usable: its name as users write it, its value and its default."""

    name: str
    value: float
    default: float

    @property
    def is_chosen(self) -> bool:
        return self.value != self.default


def check_settings(settings: Settings) -> None:
    """Raises `InvalidRequest` if the context settings, or those of a model under `models`, contradict each other."""
    check_context(settings.context)
    for model in settings.models:
        try:
            check_context(context_settings(settings, model))
        except InvalidRequest as error:
            raise InvalidRequest(f"ullage.models.{model}: {error}") from None


def check_context(settings: ContextSettings) -> None:
    """Raises `InvalidRequest` if the user chose a target, clear or warn share that contradicts `compactAt`."""
    for lower, upper in _order(settings):
        _require(lower, upper)


def settled(settings: ContextSettings) -> ContextSettings:
    """Returns the settings with target, clear and warn shares that agree with `compact_at`. A share that contradicts it
    is replaced by its default in proportion to `compact_at`, even if a user chose it: workspace and session may each
    have chosen one."""
    compact = settings.compact_at
    share = compact / _DEFAULT.compact_at
    target = settings.target if settings.target < compact else _DEFAULT.target * share
    clear = settings.clear_at if settings.clear_at <= compact else _DEFAULT.clear_at * share
    warn = settings.warn_at if settings.warn_at <= compact else _DEFAULT.warn_at * share
    return replace(settings, target=target, clear_at=clear, warn_at=warn)


def settled_prepare_at(summary: SummarySettings, context: ContextSettings) -> float:
    """Returns the share of usable from which a summary is prepared. If the user did not choose it, it keeps its default
    proportion to a lower `compactAt`, so that it is below `compactAt`."""
    if summary.prepare_at != _SUMMARY.prepare_at or summary.prepare_at < context.compact_at:
        return summary.prepare_at
    return _SUMMARY.prepare_at * context.compact_at / _DEFAULT.compact_at


def _order(settings: ContextSettings) -> Iterator[tuple[_Threshold, _Threshold]]:
    """Yields pairs of settings: the first must not exceed the second."""
    of = _thresholds(settings)
    yield of["target"], of["compactAt"]
    yield of["clearAt"], of["compactAt"]
    yield of["warnAt"], of["compactAt"]


def _thresholds(settings: ContextSettings) -> dict[str, _Threshold]:
    return {
        name: _Threshold(f"context.{name}", value, default)
        for name, value, default in (
            ("target", settings.target, _DEFAULT.target),
            ("clearAt", settings.clear_at, _DEFAULT.clear_at),
            ("warnAt", settings.warn_at, _DEFAULT.warn_at),
            ("compactAt", settings.compact_at, _DEFAULT.compact_at),
        )
    }


def _require(lower: _Threshold, upper: _Threshold) -> None:
    """Raises `InvalidRequest` if `lower` is not its default and exceeds `upper`. The target must be below `compactAt`,
    not equal to it."""
    strict = lower.name == "context.target" and upper.name == "context.compactAt"
    fits = lower.value < upper.value if strict else lower.value <= upper.value
    if lower.is_chosen and not fits:
        how = "below" if strict else "at most"
        left = "" if upper.is_chosen else ", its default"
        raise InvalidRequest(
            f"{lower.name} ({lower.value:g}) must be {how} {upper.name} ({upper.value:g}{left}). Change one of them."
        )
