"""Session updates that only the ACP door sends, the shapes of config options, and tool calls as clients need them.

The updates are replayed content and the list of slash commands. Tool calls have whole paths, and output in a fence,
because clients render text as Markdown.
"""

import re
from pathlib import PurePath

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from ullage.model.updates import TextContent, ToolCall, ToolCallUpdate, ToolContent

# CommonMark, "Fenced code blocks": a fence is closed by a line of at least as many backticks.
_SHORTEST_FENCE = 3
_BACKTICKS = re.compile(r"`+")


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


def with_whole_paths(call: ToolCall, folder: str) -> ToolCall:
    """Returns the tool call with its locations made absolute, as ACP requires: a relative path is joined to
    `folder`."""
    return replace(call, locations=tuple(replace(at, path=str(PurePath(folder, at.path))) for at in call.locations))


def fenced(text: str) -> str:
    """Returns the text as a Markdown code block, whose fence is longer than any row of backticks in the text. Text that
    is empty stays empty."""
    if not text:
        return ""
    longest = max(map(len, _BACKTICKS.findall(text)), default=0)
    fence = "`" * max(_SHORTEST_FENCE, longest + 1)
    end = "" if text.endswith("\n") else "\n"
    return f"{fence}\n{text}{end}{fence}"


def with_fences(update: ToolCallUpdate) -> ToolCallUpdate:
    """Returns the update of a tool call with each of its texts in a fence."""
    if update.content is UNSET:
        return update
    return replace(update, content=tuple(map(_with_fence, update.content)))


def _with_fence(part: ToolContent) -> ToolContent:
    return replace(part, content=TextContent(text=fenced(part.content.text)))
