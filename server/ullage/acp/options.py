"""A session's modes and config options: its model, its thresholds and automatic compaction.

Changed options are stored in the session's log. A mode lasts as long as the session is open in this process, as
permissions do. In the mode `plan` the model ends with a plan, which it offers by a tool.
"""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Any

from msgspec import Struct

from ullage.acp.connection import Client
from ullage.acp.updates import BooleanOption, ConfigChoice, ConfigOption, SelectOption
from ullage.model.errors import InvalidRequest
from ullage.model.message import ToolDefinition
from ullage.model.updates import ToolKind
from ullage.model.words import percent, short
from ullage.policy.budget import ContextBudget
from ullage.service.conversation.conversation import Conversation
from ullage.service.conversation.environment import Environment
from ullage.service.ports.models import ToolAbout
from ullage.service.sessions import change_model, configure_session

OFFER_PLAN = ToolDefinition(
    name="offer_plan",
    description=(
        "Asks the user to accept the plan that you have just written in your answer. If they do, you may use all tools "
        "and are to carry the plan out."
    ),
    input_schema={"type": "object", "properties": {}},
)
ABOUT_OFFER = ToolAbout(title="Carry out this plan", kind=ToolKind.SWITCH_MODE)
PLANNING = (
    "You are in the mode `plan`: only look, change nothing. When you know what is to be done, write the plan in your "
    f"answer and call {OFFER_PLAN.name}."
)
ACCEPTED = "The user accepts the plan and has left the mode `plan`. Carry the plan out now."
MODE, MODEL, WARN_AT, COMPACT_AT, AUTO_COMPACT = "mode", "model", "warn_at", "compact_at", "auto_compact"
# ACP's categories: the mode, the model itself, and options that depend on it.
_MODE, _MODEL, _MODEL_CONFIG = "mode", "model", "model_config"
# The offered thresholds, as percent of usable, like the settings. A lower threshold would be reached every other turn.
# Their names are places on the scale of the window, as everywhere else.
_SHARES = range(50, 100, 5)
_ON, _OFF = "on", "off"
_FIELDS = {WARN_AT: "warnAt", COMPACT_AT: "compactAt", AUTO_COMPACT: "enabled"}


class Mode(StrEnum):
    """`ask`: the model may use every tool, and the user is asked before it changes anything. `plan`: only tools that
    read."""

    ASK = "ask"
    PLAN = "plan"


class SessionMode(Struct, frozen=True, kw_only=True):
    """ACP's `SessionMode`: a mode, with the name and description that the client shows."""

    id: Mode
    name: str
    description: str


class SessionModeState(Struct, frozen=True, kw_only=True, rename="camel"):
    """ACP's `SessionModeState`: the mode that a session is in, and all modes."""

    current_mode_id: Mode
    available_modes: tuple[SessionMode, ...]


MODES = (
    SessionMode(id=Mode.ASK, name="Ask", description="Use every tool; ask before one that is not Ullage's own."),
    SessionMode(id=Mode.PLAN, name="Plan", description="Only read, and end with a plan that you can accept."),
)


def mode_state(mode: Mode) -> SessionModeState:
    """Returns the modes as a client is sent them, with the one that a session is in."""
    return SessionModeState(current_mode_id=mode, available_modes=MODES)


def config_options(conversation: Conversation, client: Client, mode: Mode) -> tuple[ConfigOption, ...]:
    """Returns the session's config options, each with its current value and the values that the user can choose. There
    is no model option if no model is known. `mode` is the session's mode, which is not among its settings."""
    settings, budget = conversation.settings, conversation.budget
    warned, compacted = "before you are warned", "before it is compacted"
    return (
        _mode_option(mode),
        *_model_option(conversation),
        _switch(settings.enabled, client),
        _share(WARN_AT, "Warn at", f"How full the context may be {warned}.", settings.warn_at, budget),
        _share(COMPACT_AT, "Compact at", f"How full the context may be {compacted}.", settings.compact_at, budget),
    )


def set_option(conversation: Conversation, config_id: str, value: str | bool, known: Sequence[ConfigOption]) -> None:
    """Changes one of the `known` config options of the session to `value`, which is stored in the session's log, except
    for the mode, which the caller keeps. Raises `InvalidRequest` if the option or the value was not offered."""
    options = {option.id: option for option in known}
    if config_id not in options:
        raise InvalidRequest(f"there is no config option {config_id!r}; there are {', '.join(options)}")
    option = options[config_id]
    if not _fits(option, value):
        raise InvalidRequest(f"{value!r} is no value of the config option {config_id!r}; {_values(option)}")
    if config_id == MODEL:
        change_model(conversation, str(value))
    elif config_id != MODE:
        own = {**conversation.transcript.context, _FIELDS[config_id]: _setting(value)}
        configure_session(conversation, own)


def _mode_option(mode: Mode) -> SelectOption:
    return SelectOption(
        id=MODE,
        name="Mode",
        description="Which tools the model may use.",
        category=_MODE,
        current_value=mode,
        options=tuple(ConfigChoice(value=each.id, name=each.name) for each in MODES),
    )


def _model_option(conversation: Conversation) -> Iterator[ConfigOption]:
    current = conversation.model
    names = [name for name in dict.fromkeys((current, *_known_models(conversation.workspace))) if name]
    if not names:
        return
    choices = [ConfigChoice(value=name, name=name) for name in names]
    if not current:
        choices.insert(0, ConfigChoice(value="", name="not chosen yet"))
    yield SelectOption(
        id=MODEL,
        name="Model",
        description="The model whose window counts, and that answers.",
        category=_MODEL,
        current_value=current,
        options=tuple(choices),
    )


def _known_models(workspace: Environment) -> Iterator[str]:
    """Yields the names of the models in the settings. The first may be "". A provider's pattern (with `*`) is
    not the name of a model and is left out."""
    settings = workspace.settings
    yield settings.model
    yield from settings.models
    yield from (name for own in settings.providers.values() for name in own.models if "*" not in name)


def _switch(enabled: bool, client: Client) -> ConfigOption:
    name, description = "Automatic compaction", "Warn and compact without being asked."
    if client.takes_booleans:
        return BooleanOption(
            id=AUTO_COMPACT, name=name, description=description, category=_MODEL_CONFIG, current_value=enabled
        )
    return SelectOption(
        id=AUTO_COMPACT,
        name=name,
        description=description,
        category=_MODEL_CONFIG,
        current_value=_ON if enabled else _OFF,
        options=(ConfigChoice(value=_ON, name="On"), ConfigChoice(value=_OFF, name="Off")),
    )


def _share(option_id: str, name: str, description: str, current: float, budget: ContextBudget | None) -> SelectOption:
    chosen = f"{100 * current:g}"
    values = sorted({*map(str, _SHARES), chosen}, key=float)
    return SelectOption(
        id=option_id,
        name=name,
        description=description,
        category=_MODEL_CONFIG,
        current_value=chosen,
        options=tuple(ConfigChoice(value=value, name=_place(float(value) / 100, budget)) for value in values),
    )


def _place(share: float, budget: ContextBudget | None) -> str:
    """Returns the label of a threshold, which is a share of usable: its percentage of the window and its tokens, or,
    while no window is known, the percentage of usable."""
    if budget is None:
        return f"{100 * share:g}% of usable"
    tokens = int(budget.usable * share)
    return f"{percent(tokens, budget.window)}% ({short(tokens)})"


def _fits(option: ConfigOption, value: str | bool) -> bool:
    if isinstance(option, BooleanOption):
        return isinstance(value, bool)
    return value in [choice.value for choice in option.options]


def _values(option: ConfigOption) -> str:
    if isinstance(option, BooleanOption):
        return "it is true or false, with `type` `boolean`"
    return f"there are {', '.join(choice.value for choice in option.options)}"


def _setting(value: str | bool) -> Any:
    """Converts a config option's value into the value of the setting: "on" and "off" into booleans, a percentage into a
    share from 0 to 1."""
    if isinstance(value, bool):
        return value
    return value == _ON if value in (_ON, _OFF) else float(value) / 100
