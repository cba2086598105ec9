"""A session's config options: its model, its thresholds and automatic compaction. Each value is stored in the
session's log."""

from collections.abc import Iterator
from typing import Any

from ullage.acp.client import Client
from ullage.acp.updates import BooleanOption, ConfigChoice, ConfigOption, SelectOption
from ullage.model.errors import InvalidRequest
from ullage.service.conversation.conversation import Conversation
from ullage.service.conversation.environment import Environment
from ullage.service.sessions import change_model, configure_session

MODEL, WARN_AT, COMPACT_AT, AUTO_COMPACT = "model", "warn_at", "compact_at", "auto_compact"
# ACP's categories: the model itself, and options that depend on it.
_MODEL, _MODEL_CONFIG = "model", "model_config"
# The offered thresholds, as percent of usable. A lower threshold would be reached every other turn.
_SHARES = range(50, 100, 5)
_ON, _OFF = "on", "off"
_FIELDS = {WARN_AT: "warnAt", COMPACT_AT: "compactAt", AUTO_COMPACT: "enabled"}


def config_options(conversation: Conversation, client: Client) -> tuple[ConfigOption, ...]:
    """Returns every option with its present value."""
    settings = conversation.settings
    return (
        *_model_option(conversation),
        _switch(settings.enabled, client),
        _share(WARN_AT, "Warn at", "How full the context may be before you are warned.", settings.warn_at),
        _share(COMPACT_AT, "Compact at", "How full the context may be before it is compacted.", settings.compact_at),
    )


def set_option(conversation: Conversation, config_id: str, value: str | bool, client: Client) -> None:
    """Changes one option. Raises `InvalidRequest` if the option or the value was not offered."""
    known = {option.id: option for option in config_options(conversation, client)}
    if config_id not in known:
        raise InvalidRequest(f"there is no config option {config_id!r}; there are {', '.join(known)}")
    option = known[config_id]
    if not _fits(option, value):
        raise InvalidRequest(f"{value!r} is no value of the config option {config_id!r}; {_values(option)}")
    if config_id == MODEL:
        change_model(conversation, str(value))
    else:
        own = {**conversation.transcript.context, _FIELDS[config_id]: _setting(value)}
        configure_session(conversation, own)


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
    """Yields the models that the settings name. A provider's patterns (with `*`) name no model."""
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


def _share(option_id: str, name: str, description: str, current: float) -> SelectOption:
    percent = f"{100 * current:g}"
    values = sorted({*map(str, _SHARES), percent}, key=float)
    return SelectOption(
        id=option_id,
        name=name,
        description=description,
        category=_MODEL_CONFIG,
        current_value=percent,
        options=tuple(ConfigChoice(value=value, name=f"{value}%") for value in values),
    )


def _fits(option: ConfigOption, value: str | bool) -> bool:
    if isinstance(option, BooleanOption):
        return isinstance(value, bool)
    return value in [choice.value for choice in option.options]


def _values(option: ConfigOption) -> str:
    if isinstance(option, BooleanOption):
        return "it is true or false, with `type` `boolean`"
    return f"there are {', '.join(choice.value for choice in option.options)}"


def _setting(value: str | bool) -> Any:
    """Converts an option's value into the value of the setting."""
    if isinstance(value, bool):
        return value
    return value == _ON if value in (_ON, _OFF) else float(value) / 100
