"""Converts what is sent to a client from version 1 to version 2: updates, questions, and results. Pure."""

from collections.abc import Callable
from typing import Any

from ullage.model.json_values import JsonObject, as_object, as_objects

NewId = Callable[[], str]
# Version 1 has one plan in a session and gives it no id.
_PLAN = "plan"
_CHUNKS = ("user_message_chunk", "agent_message_chunk", "agent_thought_chunk")


def update_as_v2(update: JsonObject, new_id: NewId) -> JsonObject | None:
    """Returns a session update in the shape of version 2, or None if version 2 says the same by other means. `new_id`
    makes the id of a message whose chunk has none."""
    said: JsonObject | None = update
    match update.get("sessionUpdate"):
        case kind if kind in _CHUNKS and not update.get("messageId"):
            said = {**update, "messageId": new_id()}
        case "tool_call":
            said = {**update, "sessionUpdate": "tool_call_update"}
        case "plan":
            rest = {name: value for name, value in update.items() if name != "entries"}
            plan = {"type": "items", "planId": _PLAN, "entries": update.get("entries")}
            said = {**rest, "sessionUpdate": "plan_update", "plan": plan}
        case "available_commands_update":
            commands = [_command_as_v2(command) for command in as_objects(update.get("availableCommands"))]
            said = {**update, "availableCommands": commands}
        case "config_option_update":
            said = opened_as_v2(update)
        case "current_mode_update":
            said = None
        case _:
            pass
    return said


def opened_as_v2(result: JsonObject) -> JsonObject:
    """Returns the result of a request that opens a session or sets an option, or an update of the options, in the shape
    of version 2. There are no modes in version 2."""
    said = {name: value for name, value in result.items() if name != "modes"}
    if "configOptions" in result:
        said["configOptions"] = [_option_as_v2(option) for option in as_objects(result.get("configOptions"))]
    return said


def question_as_v2(params: JsonObject) -> JsonObject:
    """Returns the params of `session/request_permission` in the shape of version 2: the question has a title of its
    own, and the tool call is its subject."""
    call = as_object(params.get("toolCall"))
    said = {name: value for name, value in params.items() if name != "toolCall"}
    title = call.get("title") or "Allow this tool call?"
    return {**said, "title": title, "subject": {"type": "tool_call", "toolCall": call}}


def _command_as_v2(command: JsonObject) -> JsonObject:
    given = {"type": "command", **command}
    taken = command.get("input")
    return {**given, "input": {"type": "text", **as_object(taken)}} if taken else given


def _option_as_v2(option: JsonObject) -> JsonObject:
    said = {name: value for name, value in option.items() if name != "id"}
    if "id" in option:
        said["configId"] = option["id"]
    if isinstance(options := option.get("options"), list):
        said["options"] = [_choice_as_v2(choice) for choice in as_objects(options)]
    return said


def _choice_as_v2(choice: JsonObject) -> JsonObject:
    """Returns a choice, or a group of choices, whose id has another name in version 2."""
    if "group" not in choice:
        return choice
    said: dict[str, Any] = {name: value for name, value in choice.items() if name != "group"}
    return {**said, "groupId": choice["group"]}
