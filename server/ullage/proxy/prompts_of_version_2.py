"""Which of a session's prompts an agent of version 2 works on, by its answers and its `state_update`s.

A prompt is answered once it is in the transcript, and all of those have ended when the session is `idle`. The answer
may come after the message's update, and even after the end of its work.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from ullage.jsonrpc.envelope import RequestId
from ullage.model.errors import AgentError
from ullage.model.json_values import JsonObject, as_object, as_text

IDLE = "idle"
_ECHOES = ("user_message", "user_message_chunk")


class SentPrompt(Struct, kw_only=True, eq=False):
    """A prompt that the agent was sent. `message_id` is "" until it is in the transcript.

    `shown` is the content that the client has sent, if the agent was sent another, and None if it was sent the same.
    `is_shown` is true once the client was sent that content back.
    `failed` is called with the error with which the agent's work on it has ended. It returns whether another agent gets
    the prompt.
    `ran` is true once the agent has worked since, and `over` once that has ended.
    """

    id: RequestId | None
    shown: list[Any] | None = None
    is_shown: bool = False
    failed: Callable[[JsonObject], bool] | None = None
    message_id: str = ""
    ran: bool = False
    over: bool = False


class Foreground:
    """The prompts of one session that have not ended. `state` is the state that the client was sent last."""

    def __init__(self) -> None:
        self.state = IDLE
        self._sent: dict[RequestId | None, SentPrompt] = {}
        self._by_message: dict[str, SentPrompt] = {}

    def __bool__(self) -> bool:
        return bool(self._sent)

    def send(self, prompt: SentPrompt) -> None:
        """Adds a prompt that is about to be sent to the agent."""
        if not self._sent:
            self._by_message.clear()
        self._sent[prompt.id] = prompt

    def accept(self, prompt_id: RequestId | None, message_id: str) -> bool:
        """Takes the agent's answer to a prompt. Returns whether the prompt's work has ended already."""
        prompt = self._sent.get(prompt_id)
        if prompt is None:
            return False
        prompt.message_id = message_id
        self._by_message[message_id] = prompt
        if prompt.over:
            del self._sent[prompt_id]
        return prompt.over

    def refuse(self, prompt_id: RequestId | None) -> None:
        """Takes the agent's refusal of a prompt."""
        self._sent.pop(prompt_id, None)

    def echo(self, message_id: str) -> SentPrompt | None:
        """Returns the prompt that a user's message shows, or None if it shows none. The first message that is not
        known shows the prompt that was sent first."""
        known = self._by_message.get(message_id)
        if known is None:
            known = next((prompt for prompt in self._sent.values() if not prompt.message_id), None)
            if known is not None:
                known.message_id = message_id
                self._by_message[message_id] = known
        return known

    def change(self, state: str) -> list[SentPrompt]:
        """Takes a state of the session. Returns the prompts whose work has ended."""
        if state != IDLE:
            for prompt in self._sent.values():
                prompt.ran = True
            return []
        ended = [prompt for prompt in self._sent.values() if prompt.message_id]
        for prompt in ended:
            del self._sent[prompt.id]
        for prompt in self._sent.values():
            prompt.over = prompt.ran
        return ended

    def clear(self) -> None:
        """Drops all prompts, because the agent has ended."""
        self._sent.clear()
        self._by_message.clear()


class OwnTurn:
    """Follows one prompt of the proxy's own by the agent's answer and updates."""

    def __init__(self) -> None:
        self._foreground = Foreground()
        self._prompt = SentPrompt(id=None)
        self._foreground.send(self._prompt)
        self._ended: asyncio.Future[JsonObject] = asyncio.get_running_loop().create_future()
        self._last: JsonObject = {}

    def accept(self, result: JsonObject) -> None:
        """Takes the agent's result of the prompt."""
        if self._foreground.accept(None, as_text(result.get("messageId"))):
            self._end(self._last)

    def take(self, update: JsonObject) -> bool:
        """Takes an update of the session. Returns whether it is about the prompt, so that the client must not be sent
        it."""
        kind = update.get("sessionUpdate")
        if kind == "state_update":
            self._last = update
            if self._foreground.change(as_text(update.get("state"))):
                self._end(update)
        return kind == "state_update" or (
            kind in _ECHOES and self._foreground.echo(as_text(update.get("messageId"))) is self._prompt
        )

    async def ended(self) -> None:
        """Returns once the agent is idle after the prompt. Raises `AgentError` if the prompt has failed, or if the
        agent has ended."""
        idle = await self._ended
        if idle.get("stopReason") == "error":
            raise AgentError(f"the agent failed: {as_text(as_object(idle.get('error')).get('message'))}")

    def agent_ended(self) -> None:
        """Fails the prompt, because the agent's process has ended."""
        if not self._ended.done():
            self._ended.set_exception(AgentError("the agent ended"))
            # Read here, because the task that waits may be gone.
            self._ended.exception()

    def _end(self, idle: JsonObject) -> None:
        if not self._ended.done():
            self._ended.set_result(idle)
