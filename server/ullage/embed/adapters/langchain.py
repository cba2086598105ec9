"""Middleware for LangChain's agents (`langchain`), and a `pre_model_hook` for LangGraph's (`langgraph`).

    agent = create_agent(model, tools, middleware=[middleware(pool)], checkpointer=checkpointer)
    agent = create_react_agent(model, tools, pre_model_hook=pre_model_hook(pool), checkpointer=checkpointer)

Before each request of the model the messages of the graph's state are taken over, room is made if that is due, and the
model is sent what fits. A thread of the checkpointer is the conversation of the pool with the same id.
"""

from collections.abc import Awaitable, Callable, Sequence
from importlib import import_module
from operator import is_
from typing import Any

import msgspec

from ullage.embed.adapters.framework_messages import (
    Given,
    Mirror,
    Shown,
    as_json,
    chat_call,
    chat_usage,
    digest,
    own_id,
    text_of,
)
from ullage.embed.manager import ContextPool
from ullage.formats.provider import Provider, read_definitions
from ullage.model.json_values import JsonObject, as_list, as_object, as_objects
from ullage.model.message import Role
from ullage.service import sessions
from ullage.service.conversation.conversation import Conversation

_FRAMEWORK = "langchain"
_ROLES = {"human": "user", "ai": "assistant", "AIMessageChunk": "assistant"}
# Blocks that repeat what `tool_calls` says.
_CALLS = {"tool_use", "tool_call", "tool_call_chunk", "input_json_delta", "function_call"}


def pre_model_hook(pool: ContextPool, *, trims_state: bool = False) -> Any:
    """Returns a `pre_model_hook`. The state keeps every message, and the model is sent what fits.

    With `trims_state` the state, too, becomes what is sent, so that checkpoints stay small: all its messages are
    removed, and those that are sent are put back, with the ids that they had. The pool's store keeps the others.
    """
    graph = _Graph(pool)

    def update(messages: Sequence[Any], fitting: Sequence[Any]) -> dict[str, Any]:
        trimmed = _trimmed(messages, fitting) if trims_state else None
        return {"llm_input_messages": fitting, **(trimmed or {})}

    def hook(state: Any) -> dict[str, Any]:
        messages = _messages_of(state)
        return update(messages, graph.fit(messages))

    async def async_hook(state: Any) -> dict[str, Any]:
        messages = _messages_of(state)
        return update(messages, await graph.fit_async(messages))

    return import_module("langchain_core.runnables").RunnableLambda(hook, afunc=async_hook)


def middleware(pool: ContextPool, *, trims_state: bool = False) -> Any:
    """Returns middleware for `create_agent`. `trims_state` is that of `pre_model_hook`; without it the system prompt
    and the tools are taken over as well, so that they are counted before a usage is reported."""
    base = import_module("langchain.agents.middleware").AgentMiddleware
    hooks = _BeforeModel if trims_state else _AroundModelCall
    return type("UllageMiddleware", (hooks, base), {})(_Graph(pool))


class _Graph:
    """The threads of a graph as conversations of a pool. The methods must be called by a node of the graph."""

    def __init__(self, pool: ContextPool) -> None:
        self._pool = pool
        self._mirror = Mirror(_FRAMEWORK)

    def fit(self, messages: Sequence[Any], prompt: Any = None, tools: Sequence[Any] | None = None) -> list[Any]:
        """Returns the messages to send."""
        shown = self._pool.run(_thread_of(messages), self._fitting(messages, prompt, tools))
        return _as_messages(shown, messages, has_prompt=prompt is not None)

    async def fit_async(
        self, messages: Sequence[Any], prompt: Any = None, tools: Sequence[Any] | None = None
    ) -> list[Any]:
        """Returns the messages to send."""
        shown = await self._pool.wait_for(_thread_of(messages), self._fitting(messages, prompt, tools))
        return _as_messages(shown, messages, has_prompt=prompt is not None)

    def _fitting(
        self, messages: Sequence[Any], prompt: Any, tools: Sequence[Any] | None
    ) -> Callable[[Conversation], Awaitable[tuple[Shown, ...]]]:
        given = _given_messages([*([prompt] if prompt else []), *messages])
        declared = None if tools is None else read_definitions(Provider.OPENAI, tools)

        async def fitted(conversation: Conversation) -> tuple[Shown, ...]:
            if declared is not None and declared != conversation.transcript.tools:
                sessions.declare_tools(conversation, declared)
            return await self._mirror.fit(given, conversation)

        return fitted


class _AroundModelCall:
    """The hooks of middleware that leaves the graph's state as it is."""

    def __init__(self, graph: _Graph) -> None:
        super().__init__()
        self._graph = graph

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Calls the model with the messages that fit."""
        messages = self._graph.fit(request.messages, request.system_message, _definitions(request.tools))
        return handler(request.override(messages=messages))

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """Does the same, awaited."""
        tools = _definitions(request.tools)
        messages = await self._graph.fit_async(request.messages, request.system_message, tools)
        return await handler(request.override(messages=messages))


class _BeforeModel:
    """The hooks of middleware that replaces the messages of the graph's state."""

    def __init__(self, graph: _Graph) -> None:
        super().__init__()
        self._graph = graph

    # LangGraph looks for the parameter by its name.
    def before_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:  # noqa: ARG002
        """Returns the change of the state, or None if all messages stay."""
        messages = _messages_of(state)
        return _trimmed(messages, self._graph.fit(messages))

    async def abefore_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:  # noqa: ARG002
        """Does the same, awaited."""
        messages = _messages_of(state)
        return _trimmed(messages, await self._graph.fit_async(messages))


def _messages_of(state: Any) -> list[Any]:
    return list(as_object(state)["messages"] if as_object(state) else state.messages)


def _trimmed(messages: Sequence[Any], fitting: Sequence[Any]) -> dict[str, Any] | None:
    """Returns the change of the state that makes `fitting` its messages, or None if they are."""
    if len(messages) == len(fitting) and all(map(is_, messages, fitting)):
        return None
    removing = import_module("langchain_core.messages").RemoveMessage
    everything = import_module("langgraph.graph.message").REMOVE_ALL_MESSAGES
    return {"messages": [removing(id=everything), *fitting]}


def _thread_of(messages: Sequence[Any]) -> str:
    """Returns the conversation's id: that of the checkpointer's thread, without one that of the first message."""
    config = import_module("langgraph.config").get_config()
    thread = as_object(config.get("configurable")).get("thread_id")
    return str(thread) if thread is not None else next((_id_of(message) for message in messages), "")


def _id_of(message: Any) -> str:
    # A prompt that is not in the state has no id.
    return message.id or digest([message.type, as_json(message.content)])


def _given_messages(messages: Sequence[Any]) -> list[Given]:
    dumped: list[JsonObject] = as_json(import_module("langchain_core.messages").messages_to_dict(messages))
    return [
        Given(id=_id_of(message), raw=raw, read=[_as_chat(raw["data"])], usage=_usage(raw["data"]))
        for message, raw in zip(messages, dumped, strict=True)
    ]


def _as_chat(data: JsonObject) -> JsonObject:
    content = data.get("content")
    blocks = [_as_part(block) for block in as_list(content) if as_object(block).get("type") not in _CALLS]
    chat: JsonObject = {
        "role": _ROLES.get(data["type"], data["type"]),
        "content": blocks if as_list(content) else content,
    }
    if data["type"] == "tool":
        return {**chat, "tool_call_id": data.get("tool_call_id")}
    calls = [chat_call(call.get("id"), call["name"], call["args"]) for call in as_objects(data.get("tool_calls"))]
    return {**chat, "tool_calls": calls} if calls else chat


def _as_part(block: Any) -> JsonObject:
    """Returns a block of content as one of Chat Completions, as far as the engine knows it."""
    block = {"type": "text", "text": block} if isinstance(block, str) else as_object(block)
    if block.get("type") == "image" and "base64" in block:
        return {"type": "image_url", "image_url": {"url": f"data:{block.get('mime_type')};base64,{block['base64']}"}}
    if block.get("type") == "image" and "url" in block:
        return {"type": "image_url", "image_url": {"url": block["url"]}}
    return block


def _usage(data: JsonObject) -> JsonObject | None:
    usage = as_object(data.get("usage_metadata"))
    cached = as_object(usage.get("input_token_details")).get("cache_read", 0)
    return chat_usage(usage.get("input_tokens"), usage.get("output_tokens"), cached) if usage else None


def _definitions(tools: Sequence[Any]) -> list[JsonObject]:
    convert = import_module("langchain_core.utils.function_calling").convert_to_openai_tool
    return [convert(tool) for tool in tools]


def _as_messages(shown: Sequence[Shown], messages: Sequence[Any], *, has_prompt: bool) -> list[Any]:
    """Returns LangChain's messages: those of the state as the very objects. A prompt that came apart goes apart."""
    objects = {_id_of(message): message for message in messages}
    return [_as_message(one, objects.get(own_id(one))) for one in shown if not (has_prompt and one.role is Role.SYSTEM)]


def _as_message(shown: Shown, known: Any) -> Any:
    library = import_module("langchain_core.messages")
    if shown.raw is None:
        return library.HumanMessage(content=text_of(shown.changed), id=shown.id)
    (stored,) = [known] if known is not None else library.messages_from_dict([shown.raw])
    return stored.model_copy(update=_changes(shown.changed)) if shown.changed else stored


def _changes(changed: Sequence[JsonObject]) -> JsonObject:
    calls = [
        {"type": "tool_call", "id": call["id"], "name": call["function"]["name"], "args": _arguments(call)}
        for message in changed
        for call in as_objects(message.get("tool_calls"))
    ]
    return {"content": text_of(changed), **({"tool_calls": calls} if calls else {})}


def _arguments(call: JsonObject) -> JsonObject:
    return msgspec.json.decode(call["function"]["arguments"], type=dict[str, Any])
