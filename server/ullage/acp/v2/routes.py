"""The methods of version 2, served by the handlers of version 1."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from ullage.acp.announce import UPDATE_METHOD
from ullage.acp.connection import Spoken
from ullage.acp.sessions import OpenSessionParams
from ullage.acp.v2.prompt_life import PromptLife
from ullage.acp.v2.shown import opened_as_v2, question_as_v2, update_as_v2
from ullage.api import session_methods as api
from ullage.api.engine import Handler, Reply
from ullage.api.wire import REQUEST_PERMISSION
from ullage.model.errors import InvalidRequest
from ullage.model.json_values import JsonObject, as_object, as_plain

# A method's name, the type of its params, and its handler.
Route = tuple[str, Any, Handler]
_RENAMED = {"authenticate": "auth/login", "logout": "auth/logout"}
_GONE = frozenset({"session/load", "session/set_mode"})
_OPENED = frozenset({"session/new", "session/fork", "session/set_config_option"})


def routes_of(routes: Sequence[Route], life: PromptLife) -> Iterator[Route]:
    """Yields the methods of version 2 with their handlers, from those of version 1."""
    known = {name: (params, handler) for name, params, handler in routes}
    for name, params, handler in routes:
        if name in _OPENED:
            yield name, params, _shaped(handler)
        elif name not in _GONE and name not in _REPLACED:
            yield _RENAMED.get(name, name), params, handler
    if "logout" not in known:
        yield "auth/logout", api.Nothing, _log_out
    for name, replaced in _REPLACED.items():
        yield replaced(name, known, life)


def spoken(life: PromptLife, new_id: Callable[[], str]) -> Spoken:
    """Returns how the messages to a client of version 2 differ. `new_id` makes the ids of texts that are no messages of
    the transcript."""

    def shaped(method: str, params: Any) -> Any:
        if method == UPDATE_METHOD:
            said = as_plain(params)
            update = update_as_v2(as_object(said.get("update")), new_id)
            return None if update is None else {**said, "update": update}
        return question_as_v2(as_plain(params)) if method == REQUEST_PERMISSION.name else params

    def asking(_: str, params: Any) -> AbstractContextManager[None]:
        session_id = getattr(params, "session_id", "")
        return life.blocked(session_id) if session_id else nullcontext()

    return Spoken(shaped=shaped, asking=asking)


def _shaped(handler: Handler) -> Handler:
    async def handle(params: Any) -> Any:
        return _as_v2(await handler(params))

    return handle


def _as_v2(result: Any) -> Any:
    if isinstance(result, Reply):
        return Reply(opened_as_v2(as_plain(result.result)), result.then)
    return opened_as_v2(as_plain(result))


class ResumeParams(OpenSessionParams, frozen=True, kw_only=True, rename="camel"):
    """Version 2's `ResumeSessionRequest`. The transcript is replayed if `replay_from` is not None."""

    replay_from: JsonObject | None = None


_Known = dict[str, tuple[Any, Handler]]


def _prompt(name: str, known: _Known, life: PromptLife) -> Route:
    return name, known[name][0], life.prompt


def _resume(name: str, known: _Known, life: PromptLife) -> Route:
    """Version 2 has one method to open a session: whether the transcript is replayed is one of its params."""
    resume, load = known[name][1], known["session/load"][1]

    async def handle(given: ResumeParams) -> Any:
        cursor = given.replay_from
        if cursor is not None and cursor.get("type") != "start":
            raise InvalidRequest(f"a replay begins at the start, not at {cursor}")
        result = await (resume if cursor is None else load)(given)
        life.show_state(given.session_id)
        return _as_v2(result)

    return name, ResumeParams, handle


def _close(name: str, known: _Known, life: PromptLife) -> Route:
    params, close = known[name]

    async def handle(given: Any) -> Any:
        result = await close(given)
        await life.ended(given.session_id)
        return result

    return name, params, handle


_REPLACED: dict[str, Callable[[str, _Known, PromptLife], Route]] = {
    "session/prompt": _prompt,
    "session/resume": _resume,
    "session/close": _close,
}


async def _log_out(_: Any) -> api.Nothing:
    # There is nothing to forget: the keys are the user's.
    return api.Nothing()
