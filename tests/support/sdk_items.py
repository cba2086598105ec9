"""Every kind of message, item and tool that the SDKs of Anthropic and OpenAI have, made from their types: a new kind is
there as soon as its SDK is updated."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin, get_type_hints

import anthropic.types as anthropic
from anthropic.types import beta
from openai.types import chat, responses

from ullage.edits.clear import ClearOptions, clear_thinking, clear_tool_uses
from ullage.edits.counted import CountedView, Stamp, count_view
from ullage.edits.shorten import ResultLimits, shorten_results
from ullage.formats.provider import Provider, read_messages, write_messages
from ullage.model.events import Edit
from ullage.model.json_values import as_objects, as_text
from ullage.tokens.counter import get_counter

Json = dict[str, Any]
_PLAIN = {str: "pear", int: 3, float: 0.5, bool: True, NoneType: None}


def bare(hint: Any) -> Any:
    while get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    return hint


def variants(hint: Any) -> list[Any]:
    """Returns the types of a union, without the objects of answers that SDKs take, too."""
    hint = bare(hint)
    if get_origin(hint) not in (Union, UnionType):
        return [hint]
    return [each for arg in get_args(hint) for each in variants(arg) if not hasattr(each, "model_fields")]


def fields_of(hint: Any) -> Iterator[tuple[str, Any, bool]]:
    """Yields a typed dictionary's keys, their types and whether they are required. The class's own sets of required
    keys are wrong where annotations are strings."""
    for name, field in sorted(get_type_hints(hint, include_extras=True).items()):
        named = getattr(get_origin(field), "__name__", None) or str(get_origin(field))
        is_required = hint.__total__ if "Required" not in named else "NotRequired" not in named
        yield name, get_args(field)[0] if "Required" in named else field, is_required


def example_of(hint: Any, depth: int = 0) -> Any:  # noqa: PLR0911
    """Returns one value of a type, with what is required and one element in each list."""
    hint = bare(hint)
    origin, args = get_origin(hint), get_args(hint)
    if hint in _PLAIN:
        return _PLAIN[hint]
    if hint is object:
        return {"tree": "plum"}
    if origin is Literal:
        return args[0]
    if origin in (Union, UnionType):
        plain = variants(hint)
        return example_of(next((arg for arg in plain if arg is not str), plain[0]), depth)
    if hasattr(hint, "__required_keys__"):
        return {name: example_of(field, depth + 1) for name, field, needed in fields_of(hint) if needed}
    if origin is dict:
        return {"tree": example_of(args[1], depth + 1)}
    if origin in (list, Iterable) or origin is not None:
        return [example_of(args[0], depth + 1)] if depth < 6 else []
    return "pear"


# Which of Anthropic's blocks the user may have.
_USERS = ("text", "image", "document", "search_result", "tool_result", "container_upload")


def literal(hint: Any, name: str) -> str:
    field = dict((each, field) for each, field, _ in fields_of(hint)).get(name, Literal[""])
    return as_text(example_of(field))


def kinds_of_items() -> list[tuple[str, Provider, Json]]:
    """Returns every type that the three SDKs have in their lists, with an example of it as a whole message."""
    found: list[tuple[str, Provider, Json]] = []
    for content in (anthropic.ContentBlockParam, beta.BetaContentBlockParam):
        for hint in variants(content):
            block = example_of(hint)
            role = "user" if block["type"] in _USERS else "assistant"
            found.append((hint.__name__, Provider.ANTHROPIC, {"role": role, "content": [block]}))
    found += [(hint.__name__, Provider.ANTHROPIC, example_of(hint)) for hint in variants(anthropic.MessageParam)]
    found += [
        (hint.__name__, Provider.OPENAI, {"role": "user", "content": [example_of(hint)]})
        for hint in variants(chat.ChatCompletionContentPartParam)
    ]
    calls = variants(chat.ChatCompletionMessageToolCallUnionParam)
    found += [
        (hint.__name__, Provider.OPENAI, {"role": "assistant", "content": None, "tool_calls": [example_of(hint)]})
        for hint in calls
    ]
    found += [
        (hint.__name__, Provider.OPENAI, {"content": "pears", **example_of(hint)})
        for hint in variants(chat.ChatCompletionMessageParam)
    ]
    found += [
        (hint.__name__, Provider.OPENAI_RESPONSES, example_of(hint))
        for hint in variants(responses.ResponseInputItemParam)
    ]
    return found


KINDS = kinds_of_items()
# What is required after an item: its partner's type.
_RESULTS = {
    "program": "program_output",
    "mcp_approval_request": "mcp_approval_response",
    "tool_search_call": "tool_search_output",
}


def partner(provider: Provider, message: Json) -> list[Json]:
    """Returns the messages that the provider requires after a message: the results of its calls, or the item that came
    of reasoning."""
    if provider is Provider.ANTHROPIC:
        uses = [block for block in as_objects(message["content"]) if block.get("type") == "tool_use"]
        results = [{"type": "tool_result", "tool_use_id": use["id"], "content": "12"} for use in uses]
        return [{"role": "user", "content": results}] if results else []
    if provider is Provider.OPENAI:
        calls = as_objects(message.get("tool_calls"))
        return [{"role": "tool", "tool_call_id": call["id"], "content": "12"} for call in calls]
    kind = as_text(message.get("type"))
    if kind == "reasoning":
        said = {"type": "output_text", "text": "Twelve.", "annotations": list[Any]()}
        return [{"type": "message", "id": "msg", "role": "assistant", "status": "completed", "content": [said]}]
    wanted = _RESULTS.get(kind, f"{kind}_output")
    outputs = [item for _, api, item in KINDS if api is provider and item.get("type") == wanted]
    return [pair(message, output) for output in outputs[:1]]


def pair(call: Json, output: Json) -> Json:
    if "approval_request_id" in output:
        return {**output, "approval_request_id": call["id"]}
    if not call.get("call_id"):
        return output
    # This output alone has the call's id as its own.
    return {**output, "id" if output["type"] == "local_shell_call_output" else "call_id": call["call_id"]}


def is_result(message: Json) -> bool:
    kind = as_text(message.get("type"))
    parts = {part.get("type") for part in as_objects(message.get("content"))}
    return (
        message.get("role") in ("tool", "function")
        or kind.endswith(("_output", "approval_response"))
        or "tool_result" in parts
    )


CASES = [(name, provider, message) for name, provider, message in KINDS if not is_result(message)]
# Every tool that the three SDKs have, with its format.
TOOLS = [
    (provider, example_of(hint))
    for provider, union in (
        (Provider.ANTHROPIC, anthropic.ToolUnionParam),
        (Provider.ANTHROPIC, beta.BetaToolUnionParam),
        (Provider.OPENAI, chat.ChatCompletionToolUnionParam),
        (Provider.OPENAI_RESPONSES, responses.ToolParam),
    )
    for hint in variants(union)
]


def group_of(provider: Provider, message: Json) -> list[Json]:
    """Returns a message with what the provider requires around it: a call with its results, a result after its call."""
    if not is_result(message):
        return [message, *partner(provider, message)]
    if provider is Provider.ANTHROPIC:
        use = {"type": "tool_use", "id": message["content"][0]["tool_use_id"], "name": "count", "input": {"row": 3}}
        return [{"role": "assistant", "content": [use]}, message]
    if message.get("role") == "tool":
        call = {"id": message["tool_call_id"], "type": "function", "function": {"name": "count", "arguments": "{}"}}
        return [{"role": "assistant", "content": None, "tool_calls": [call]}, message]
    if message.get("role") == "function":
        called = {"name": message["name"], "arguments": "{}"}
        return [{"role": "assistant", "content": None, "function_call": called}, message]
    groups = ([each, *partner(provider, each)] for _, api, each in CASES if api is provider)
    return next(group for group in groups if group[1:] and group[1].get("type") == message["type"])


def turn_of(provider: Provider, message: Json, number: int) -> list[Json]:
    """Returns a question, a message with what belongs to it, and an answer, with ids of their own."""
    return [
        {"role": "user", "content": f"Row {number}: " + "how many pear trees are there? " * 60},
        *(numbered(each, number) for each in group_of(provider, message)),
        {"role": "assistant", "content": f"Answer {number}: " + "twelve. " * 60},
    ]


def numbered(message: Json, number: int) -> Json:
    """Returns the message with ids of its own."""
    text = json.dumps(message)
    for name in ("id", "call_id", "tool_use_id", "tool_call_id", "approval_request_id"):
        text = text.replace(f'"{name}": "', f'"{name}": "n{number}_')
    return json.loads(text)


def shape(message: Json) -> Any:
    """What a message is, without what it says: edits may shorten results."""
    content = message.get("content")
    parts = [part.get("type") for part in as_objects(content)] if isinstance(content, list) else ()
    return message.get("type"), message.get("role"), tuple(parts), "tool_calls" in message


# What messages say at length: what edits may empty or shorten.
_SAID = {"text", "content", "output", "thinking", "data", "result", "stdout", "logs", "arguments", "input"}
# What results need not have.
_OPTIONAL: dict[str, Json] = {"tool_result": {"content": "12"}, "apply_patch_call_output": {"output": "12"}}
_STAMP = Stamp(id="edit", timestamp=0)


def at_length(value: Any, name: str = "") -> Any:
    """Returns a value in which every text says much."""
    if isinstance(value, dict):
        whole = {**_OPTIONAL.get(cast("Json", value).get("type", ""), {}), **cast("Json", value)}
        return {key: at_length(each, key) for key, each in whole.items()}
    if isinstance(value, list):
        return [at_length(each, name) for each in cast("list[Any]", value)]
    if value == "12" or (value == _PLAIN[str] and name in _SAID):
        return " ".join(f"Row {number} has {number} pear trees." for number in range(400))
    return value


def clearing(view: CountedView) -> list[Edit | None]:
    return [clear_tool_uses(view, ClearOptions(keep=0), _STAMP), clear_thinking(view, 0, _STAMP)]


def shortening(view: CountedView) -> list[Edit | None]:
    return [shorten_results(view, ResultLimits(max_result_tokens=100), _STAMP)]


def what_stays(provider: Provider, message: Json, edits: Callable[[CountedView], Sequence[Edit | None]]) -> str:
    """Says what edits leave of an old message: `whole`, the names of the fields that they change, or `nothing`."""
    group = [at_length(each) for each in group_of(provider, message)]
    said = [*turn_of(provider, message, 0)[:1], *group, *turn_of(provider, message, 1)]
    view = count_view(read_messages(provider, said), get_counter("gpt-4o"))
    for edit in edits(view):
        view = view.after(edit) if edit is not None else view
    left = [each for one in view.messages for each in write_messages(provider, one)]
    at = 2 if is_result(message) else 1
    if said[at] in left:
        return "whole"
    if len(left) < len(said):
        return "nothing"
    return ", ".join(f"`{name}`" for name in said[at] if left[at].get(name) != said[at][name])


def table() -> list[str]:
    """Returns the rows of docs/item_types.md."""
    return [
        f"| `{provider}` | `{name}` | {what_stays(provider, message, clearing)} "
        f"| {what_stays(provider, message, shortening)} |"
        for name, provider, message in KINDS
    ]
