"""Session updates that only the ACP door sends (replayed content and the list of slash commands), and the shapes of
config options."""

from msgspec import UNSET, Struct, UnsetType

from ullage.model.updates import TextContent


class ImageContent(Struct, frozen=True, kw_only=True, rename="camel", tag_field="type", tag="image"):
    """ACP's content block of an image: `data` in base64, and its media type."""

    data: str
    mime_type: str


class ResourceLink(Struct, frozen=True, kw_only=True, rename="camel", tag_field="type", tag="resource_link"):
    """ACP's content block of a link to a file or other resource. The text is not included."""

    uri: str
    name: str
    mime_type: str | UnsetType = UNSET


class TextResource(Struct, frozen=True, kw_only=True, rename="camel"):
    """The text of a resource, and its address."""

    uri: str
    text: str
    mime_type: str | UnsetType = UNSET


class BlobResource(Struct, frozen=True, kw_only=True, rename="camel"):
    """The content of a resource in base64, and its address."""

    uri: str
    blob: str
    mime_type: str | UnsetType = UNSET


class ResourceContent(Struct, frozen=True, kw_only=True, tag_field="type", tag="resource"):
    """ACP's content block of a resource with its content."""

    resource: TextResource | BlobResource


Content = TextContent | ImageContent | ResourceLink | ResourceContent


class _Update(Struct, frozen=True, kw_only=True, tag_field="sessionUpdate", rename="camel"):
    """The base of session updates. The field `sessionUpdate` contains the kind of update."""


class UserContentChunk(_Update, frozen=True, kw_only=True, tag="user_message_chunk"):
    """One content block of a user's message, sent when a transcript is replayed."""

    content: Content
    message_id: str


class AgentContentChunk(_Update, frozen=True, kw_only=True, tag="agent_message_chunk"):
    """One content block of the agent's answer. A block without `message_id` is text that is only shown, for example a
    notice, and is not part of the transcript."""

    content: Content
    message_id: str | UnsetType = UNSET


class CommandInput(Struct, frozen=True, kw_only=True):
    """The text that the client shows as a hint where the user types a slash command's argument."""

    hint: str


class AvailableCommand(Struct, frozen=True, kw_only=True):
    """A slash command. `name` has no slash. `input` is left out if the command takes no argument."""

    name: str
    description: str
    input: CommandInput | UnsetType = UNSET


class AvailableCommandsUpdate(_Update, frozen=True, kw_only=True, tag="available_commands_update"):
    """The update that lists all slash commands of a session."""

    available_commands: tuple[AvailableCommand, ...]


class ConfigChoice(Struct, frozen=True, kw_only=True):
    """One value of a `SelectOption`: `value` is sent to the agent, `name` is shown to the user."""

    value: str
    name: str


class SelectOption(Struct, frozen=True, kw_only=True, rename="camel", tag_field="type", tag="select"):
    """A config option whose value is chosen from a list. `current_value` is the `value` of one of the choices."""

    id: str
    name: str
    description: str
    category: str
    current_value: str
    options: tuple[ConfigChoice, ...]


class BooleanOption(Struct, frozen=True, kw_only=True, rename="camel", tag_field="type", tag="boolean"):
    """A config option that is on or off."""

    id: str
    name: str
    description: str
    category: str
    current_value: bool


ConfigOption = SelectOption | BooleanOption


class ConfigOptionUpdate(_Update, frozen=True, kw_only=True, rename="camel", tag="config_option_update"):
    """The update that lists all config options after Ullage itself has changed one."""

    config_options: tuple[ConfigOption, ...]


class CurrentModeUpdate(_Update, frozen=True, kw_only=True, rename="camel", tag="current_mode_update"):
    """The session is in another mode."""

    current_mode_id: str


class PlanEntry(Struct, frozen=True, kw_only=True):
    """One task of a plan, with ACP's priorities (`high`, `medium`, `low`) and states (`pending`, `in_progress`,
    `completed`)."""

    content: str
    priority: str
    status: str


class PlanUpdate(_Update, frozen=True, kw_only=True, tag="plan"):
    """The model's plan, whole."""

    entries: tuple[PlanEntry, ...]


OwnUpdate = (
    UserContentChunk | AgentContentChunk | AvailableCommandsUpdate | ConfigOptionUpdate | CurrentModeUpdate | PlanUpdate
)
