"""A callback for the proxy of LiteLLM (`litellm[proxy]`).

A module next to the proxy's configuration makes it,

    context = callback(ContextPool("gpt-6.1-sol", store="/var/lib/ullage/conversations.db"))

and the configuration names it (`litellm_settings: callbacks: module_name.context`). The messages of each request of
Chat Completions or of Anthropic's Messages are taken over before it is sent on, and what fits is sent. Requests of
other kinds pass unread.
"""

import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import Any

from ullage.embed.adapters.framework_messages import Given, Mirror, Shown, as_json, digest, own_id
from ullage.embed.manager import ContextPool
from ullage.formats.provider import Provider
from ullage.model.errors import UllageError
from ullage.model.json_values import JsonObject, as_list, as_object, as_objects

_log = logging.getLogger(__name__)
_KINDS = {
    "completion": Provider.OPENAI,
    "acompletion": Provider.OPENAI,
    "anthropic_messages": Provider.ANTHROPIC,
}
_FRAMEWORKS = {Provider.OPENAI: "chat", Provider.ANTHROPIC: "anthropic-messages"}
# Clients move this mark from message to message.
_CACHE_MARK = "cache_control"


def callback(pools: ContextPool | Mapping[str, ContextPool]) -> Any:
    """Returns the callback. `pools` is the pool of all models, or one for each by its name in the proxy; requests of
    other models pass unread.

    A conversation is named by the API key with the session id of the request. A request without a session id is named
    by its first message in place of it.
    """
    base = import_module("litellm.integrations.custom_logger").CustomLogger
    fitting = _Fitting(pools)

    # The proxy calls it by these names, and looks for it in the object's own class.
    async def async_pre_call_hook(
        _: Any, *, user_api_key_dict: Any, data: JsonObject, call_type: str, **__: Any
    ) -> Any:
        return await fitting.fit(user_api_key_dict, data, call_type)

    return type("UllageCallback", (base,), {"async_pre_call_hook": async_pre_call_hook})()


class _Fitting:
    def __init__(self, pools: ContextPool | Mapping[str, ContextPool]) -> None:
        self._pools = pools
        self._mirrors = {provider: Mirror(name, provider) for provider, name in _FRAMEWORKS.items()}

    async def fit(self, key: Any, data: JsonObject, call_type: str) -> JsonObject:
        """Returns the request's data with the messages that fit; unchanged if they cannot be read."""
        pool = self._pools if isinstance(self._pools, ContextPool) else self._pools.get(str(data.get("model")))
        provider = _KINDS.get(call_type)
        messages = as_objects(data.get("messages"))
        if pool is None or provider is None or not messages:
            return data
        given = list(_given_messages(messages, provider))
        fit = partial(self._mirrors[provider].fit, given)
        try:
            shown = await pool.wait_for(_session_of(key, data, given), fit)
        except UllageError as error:
            _log.warning("a request of %s passes as it is: %s", data.get("model"), error)
            return data
        objects = dict(zip((one.id for one in given), messages, strict=True))
        return {**data, "messages": [each for one in shown for each in _messages(one, objects.get(own_id(one)))]}


def _session_of(key: Any, data: JsonObject, given: Sequence[Given]) -> str:
    """Returns the id of the conversation. It begins with the key's, so that no user reaches another's."""
    named = (as_object(data.get(name)).get("session_id") for name in ("metadata", "litellm_metadata"))
    session = next((one for one in (data.get("litellm_session_id"), *named) if one), None)
    owner = getattr(key, "api_key", None) or getattr(key, "token", None) or ""
    return f"litellm-{digest(owner)}-{digest(session or [data.get('system'), given[0].id])}"


def _given_messages(messages: Sequence[JsonObject], provider: Provider) -> Iterator[Given]:
    """Yields the messages, each with an id by its content: clients send the whole conversation each time."""
    seen: Counter[str] = Counter()
    for message in messages:
        raw: JsonObject = as_json(message)
        one = digest(_unmarked(raw))
        seen[one] += 1
        yield Given(id=one if seen[one] == 1 else f"{one}-{seen[one]}", raw=raw, read=[raw], provider=provider)


def _unmarked(value: Any) -> Any:
    if isinstance(value, list):
        return [_unmarked(each) for each in as_list(value)]
    known = as_object(value)
    return {name: _unmarked(each) for name, each in known.items() if name != _CACHE_MARK} if known else value


def _messages(shown: Shown, known: JsonObject | None) -> list[JsonObject]:
    raw = known or shown.raw
    return list(shown.changed) if shown.changed or raw is None else [raw]
