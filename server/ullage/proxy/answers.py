"""Answers the client's prompts in the way of the version that is spoken.

In version 1 the answer to a prompt ends its turn. In version 2 it says that the prompt is in the transcript, and a
`state_update` ends the turn.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Protocol
from uuid import uuid4

from msgspec import Struct
from msgspec.structs import replace

from ullage.api.protocol import acp_error_object
from ullage.jsonrpc.envelope import RequestId, cancelled
from ullage.model.errors import UllageError
from ullage.model.json_values import JsonObject, as_object, as_plain, as_text
from ullage.proxy.connection import IDLE, Connection, Pending, SentPrompt
from ullage.proxy.lines import Frame, Piece, fields
from ullage.proxy.recording import record_update
from ullage.proxy.session import Prompt, ProxiedSession
from ullage.proxy.session_life import State
from ullage.proxy.to_client import send_text, send_update

_RUNNING = "running"
# The work that the agent has begun by itself, among a session's prompts.
_OF_ITS_OWN = "ullage-agent-work"
Complete = Callable[[ProxiedSession, JsonObject], Awaitable[None]]


class Refusal(Struct, frozen=True, kw_only=True):
    """The error with which an agent ends a prompt. `tell` sends the client that error, as the end of the turn."""

    error: JsonObject
    tell: Callable[[], None]


class TurnEnds(Struct, frozen=True, kw_only=True):
    """What is done at the end of a prompt's turn, before the client is sent the end.

    - `complete`: records what is left of the turn; gets what the agent has said of the end.
    - `refused`: gets the agent's error, and returns whether another agent gets the prompt, so that the client must not
      get the error.
    """

    complete: Complete
    refused: Callable[[ProxiedSession, Prompt, Refusal], bool]


class Answers(Protocol):
    """How the client's prompts are answered."""

    def begin(self, session: ProxiedSession) -> None:
        """Shows the client that the proxy works on a prompt that it holds."""
        ...

    def reply(self, session: ProxiedSession, prompt: Prompt, text: str) -> None:
        """Answers a prompt without the agent: sends the text as an answer, then ends the turn."""
        ...

    def cancel(self, session: ProxiedSession, prompt: Prompt) -> None:
        """Answers a prompt that was cancelled while the proxy held it."""
        ...

    def refuse(self, session: ProxiedSession, prompt: Prompt, error: UllageError) -> None: ...

    def forward(self, session: ProxiedSession, prompt: Prompt, ends: TurnEnds) -> Pending:
        """Returns the `Pending` of a prompt that is about to be forwarded."""
        ...

    async def take(self, session: ProxiedSession, update: JsonObject, complete: Complete, /) -> "Taken":
        """Handles what an update of the agent says of the client's prompts. Returns what else is to be done with
        it."""
        ...

    def fail(self, session: ProxiedSession, error: UllageError) -> None:
        """Ends the turns that the client knows to be running, because the agent has ended."""
        ...


class Taken(Struct, frozen=True):
    """Whether an update of the agent is forwarded to the client, and whether it is recorded."""

    forwarded: bool = True
    recorded: bool = True


class AnswersToVersion1:
    """A prompt's answer ends its turn."""

    def begin(self, session: ProxiedSession) -> None:
        """Shows nothing: the client knows by the missing answer."""

    def reply(self, session: ProxiedSession, prompt: Prompt, text: str) -> None:
        send_text(session, text)
        session.connection.answer(prompt.id, {"stopReason": "end_turn"})

    def cancel(self, session: ProxiedSession, prompt: Prompt) -> None:
        session.connection.answer(prompt.id, {"stopReason": "cancelled"})

    def refuse(self, session: ProxiedSession, prompt: Prompt, error: UllageError) -> None:
        session.connection.refuse(prompt.id, error)

    def forward(self, session: ProxiedSession, prompt: Prompt, ends: TurnEnds) -> Pending:
        """Returns the `Pending` that ends the turn at the agent's answer."""
        return Pending(method="session/prompt", answered=partial(self._answered, session, prompt, ends))

    async def take(self, _: ProxiedSession, __: JsonObject, ___: Complete, /) -> Taken:
        """Does nothing: an update says nothing of prompts."""
        return Taken()

    def fail(self, session: ProxiedSession, error: UllageError) -> None:
        """Sends nothing: the prompts get errors as answers, as all requests do."""

    async def _answered(
        self, session: ProxiedSession, prompt: Prompt, ends: TurnEnds, piece: Piece, frame: Frame
    ) -> None:
        try:
            # Until the answer is forwarded the turn lasts: a notice as text must not be glued to the agent's words.
            if session.state is State.PROMPTING:
                await ends.complete(session, fields(frame.result))
        finally:
            # The client gets its answer even if an error is raised above.
            session.answered(prompt.id)
            tell = partial(session.connection.client.pass_on, piece)
            refusal = Refusal(error=fields(frame.error), tell=tell)
            if not (memoryview(frame.error) and ends.refused(session, prompt, refusal)):
                tell()


class AnswersToVersion2:
    """A prompt is answered once it is in the transcript, and the idle state ends its turn."""

    def begin(self, session: ProxiedSession) -> None:
        """Shows the session as running, unless it is shown so."""
        if session.foreground.state == IDLE:
            _show_state(session, {"state": _RUNNING})

    def reply(self, session: ProxiedSession, prompt: Prompt, text: str) -> None:
        """Sends the prompt as a message, its answer, the text, and the idle state unless the agent works."""
        self.begin(session)
        message_id = uuid4().hex
        _show_prompt(session, message_id, prompt.content)
        session.connection.answer(prompt.id, {"messageId": message_id})
        send_text(session, text)
        _settle(session, {"stopReason": "end_turn"})

    def cancel(self, session: ProxiedSession, prompt: Prompt) -> None:
        """Sends an error if the prompt is in no transcript, and the idle state."""
        if not prompt.is_in:
            session.connection.refuse(prompt.id, cancelled().error_object)
        _settle(session, {"stopReason": "cancelled"})

    def refuse(self, session: ProxiedSession, prompt: Prompt, error: UllageError) -> None:
        """Sends the error, and the idle state."""
        if not prompt.is_in:
            session.connection.refuse(prompt.id, error)
        _settle(session, _failed(error))

    def forward(self, session: ProxiedSession, prompt: Prompt, ends: TurnEnds) -> Pending:
        """Returns the `Pending` that forwards the answer. `take` ends the turn."""
        shown = prompt.content if prompt.changed or prompt.is_in else None
        failed = partial(self._failed, session, prompt, ends)
        session.foreground.send(SentPrompt(id=prompt.id, shown=shown, is_shown=prompt.is_in, failed=failed))
        answered = partial(self._answered, session, prompt, ends)
        return Pending(method="session/prompt", is_in=prompt.is_in, answered=answered)

    async def take(self, session: ProxiedSession, update: JsonObject, complete: Complete) -> Taken:
        """Ends the turns that have ended with a `state_update`. A message that shows a prompt of the client's is not
        recorded, because it was when it was forwarded."""
        match update.get("sessionUpdate"):
            case "state_update":
                if update.get("state") == IDLE:
                    for rest in session.connection.read_rest(session.agent_id):
                        await record_update(session, rest)
                continues = await _take_state(session, update, complete)
                return Taken(forwarded=not continues, recorded=False)
            case "user_message" | "user_message_chunk" if session.state is not State.OPENING:
                return _take_echo(session, update)
            case _:
                return Taken()

    def fail(self, session: ProxiedSession, error: UllageError) -> None:
        """Sends the idle state with the error, if the session is shown as running. If prompts are held, it then runs
        again for them."""
        if session.foreground.state != IDLE:
            self._show_failure(session, _failed(error))

    def _show_failure(self, session: ProxiedSession, ended: JsonObject) -> None:
        _show_state(session, {"state": IDLE, **ended})
        if session.holds.has_others:
            self.begin(session)

    def _failed(self, session: ProxiedSession, prompt: Prompt, ends: TurnEnds, error: JsonObject) -> bool:
        """Handles the error with which the agent's work on a prompt has ended, after the client was answered. Returns
        whether another agent gets the prompt."""
        tell = partial(self._show_failure, session, {"stopReason": "error", "error": error})
        return ends.refused(session, replace(prompt, is_in=True), Refusal(error=error, tell=tell))

    async def _answered(
        self, session: ProxiedSession, prompt: Prompt, ends: TurnEnds, piece: Piece, frame: Frame
    ) -> None:
        client, result = session.connection.client, fields(frame.result)
        if memoryview(frame.error):
            session.foreground.refuse(prompt.id)
            session.answered(prompt.id)
            refusal = Refusal(
                error=fields(frame.error), tell=partial(self._tell_refusal, session, prompt, piece, frame)
            )
            if not ends.refused(session, prompt, refusal):
                refusal.tell()
            return
        if not prompt.is_in:
            client.pass_on(piece)
        if session.foreground.accept(prompt.id, as_text(result.get("messageId"))):
            await _end(session, [prompt.id], result, ends.complete)

    def _tell_refusal(self, session: ProxiedSession, prompt: Prompt, piece: Piece, frame: Frame) -> None:
        ended: JsonObject = {"stopReason": "error", "error": fields(frame.error)}
        if prompt.is_in:
            # An agent before this one has answered the prompt.
            self._show_failure(session, ended)
        else:
            session.connection.client.pass_on(piece)
            _settle(session, ended)


VERSION_1, VERSION_2 = AnswersToVersion1(), AnswersToVersion2()


def answers_of(connection: Connection) -> Answers:
    """Returns how the prompts of a connection are answered."""
    return VERSION_1 if connection.version == 1 else VERSION_2


def show_current_state(session: ProxiedSession) -> None:
    """Sends the session's state as it is now. Version 2 demands it before a session's opening is answered."""
    if session.connection.version != 1:
        _show_state(session, {"state": session.foreground.state})


async def _take_state(session: ProxiedSession, update: JsonObject, complete: Complete) -> bool:
    """Handles a `state_update` of version 2 before it is forwarded: ends the turns that have ended with it, and notes
    work that the agent has begun by itself. Returns whether another agent gets the last prompt, because the agent
    refuses it: the client's turn then lasts until that agent has answered."""
    state = as_text(update.get("state"))
    shown, session.foreground.state = session.foreground.state, state
    ended = session.foreground.change(state)
    await _end(session, [prompt.id for prompt in ended], update, complete)
    failed = ended[-1].failed if ended and update.get("stopReason") == "error" else None
    if failed is not None and failed(as_object(update.get("error"))):
        session.foreground.state = shown
        return True
    if state != IDLE and not session.foreground and session.state in (State.IDLE, State.OPENING):
        session.foreground.send(SentPrompt(id=_OF_ITS_OWN, message_id=_OF_ITS_OWN))
        session.prompted(_OF_ITS_OWN)
    return False


def _take_echo(session: ProxiedSession, update: JsonObject) -> Taken:
    """Handles a user's message. If it shows a prompt that was changed on its way, the client is sent it as the client
    has sent it."""
    message_id = as_text(update.get("messageId"))
    prompt = session.foreground.echo(message_id)
    if prompt is None:
        return Taken()
    if prompt.shown is not None and not prompt.is_shown:
        prompt.is_shown = True
        _show_prompt(session, message_id, prompt.shown)
    return Taken(forwarded=prompt.shown is None, recorded=False)


async def _end(session: ProxiedSession, ended: list[RequestId | None], said: JsonObject, complete: Complete) -> None:
    if not ended:
        return
    try:
        if session.state is State.PROMPTING:
            await complete(session, said)
    finally:
        for prompt_id in ended:
            session.answered(prompt_id)


def _failed(error: UllageError) -> JsonObject:
    return {"stopReason": "error", "error": as_plain(acp_error_object(error))}


def _settle(session: ProxiedSession, ended: JsonObject) -> None:
    """Sends the idle state, if the session is shown as running, and neither the agent nor the proxy has another prompt
    of the client's."""
    if session.foreground.state != IDLE and not session.foreground and not session.holds.has_others:
        _show_state(session, {"state": IDLE, **ended})


def _show_prompt(session: ProxiedSession, message_id: str, content: list[Any]) -> None:
    said = {"sessionUpdate": "user_message", "messageId": message_id, "content": content}
    send_update(session, {**said, "_meta": {"ullage": {}}})


def _show_state(session: ProxiedSession, said: JsonObject) -> None:
    session.foreground.state = said["state"]
    send_update(session, {"sessionUpdate": "state_update", **said, "_meta": {"ullage": {}}})
