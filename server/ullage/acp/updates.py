"""Session updates that only this door sends (replayed content and the list of commands), and the shapes of config
options."""

from msgspec import UNSET, Struct, UnsetType

from ullage.model.updates import TextContent


class ImageContent(Struct, frozen=True, kw_only=True, rename="camel", tag_field="type", tag="image"):
    """An image in base64."""

    data: str
    mime_type: str


class ResourceLink(Struct, frozen=True, kw_only=True, rename="camel", tag_field="type", tag="resource_link"):
    """A link to a file or other resource."""

    uri: str
    name: str
    mime_type: str | UnsetType = UNSET


class TextResource(Struct, frozen=True, kw_only=True, rename="camel"):
    """A resource's text."""

    uri: str
    text: str
    mime_type: str | UnsetType = UNSET


class ResourceContent(Struct, frozen=True, kw_only=True, tag_field="type", tag="resource"):
    """A resource with its text."""

    resource: TextResource


Content = TextContent | ImageContent | ResourceLink | ResourceContent


class _Update(Struct, frozen=True, kw_only=True, tag_field="sessionUpdate", rename="camel"):
    """An update. Its tag is ACP's field `sessionUpdate`."""


class UserContentChunk(_Update, frozen=True, kw_only=True, tag="user_message_chunk"):
    """A content block of a user's message."""

    content: Content
    message_id: str


class AgentContentChunk(_Update, frozen=True, kw_only=True, tag="agent_message_chunk"):
    """A content block of the agent's answer. Without a message id it is not part of the transcript."""

    content: Content
    message_id: str | UnsetType = UNSET


class CommandInput(Struct, frozen=True, kw_only=True):
    """A hint at the argument of a command."""

    hint: str


class AvailableCommand(Struct, frozen=True, kw_only=True):
    """A command. `name` has no slash."""

    name: str
    description: str
    input: CommandInput | UnsetType = UNSET


class AvailableCommandsUpdate(_Update, frozen=True, kw_only=True, tag="available_commands_update"):
    """The list of all commands."""

    available_commands: tuple[AvailableCommand, ...]


class ConfigChoice(Struct, frozen=True, kw_only=True):
    """One value of a select option."""

    value: str
    name: str


class SelectOption(Struct, frozen=True, kw_only=True, rename="camel", tag_field="type", tag="select"):
    """A config option with a list of values."""

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


OwnUpdate = UserContentChunk | AgentContentChunk | AvailableCommandsUpdate
