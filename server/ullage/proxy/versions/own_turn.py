"""A prompt of the proxy's own in a session of an agent of version 2, whose updates about it the client is not sent."""

import asyncio

from ullage.model.errors import AgentError
from ullage.model.json_values import JsonObject, as_object, as_text
from ullage.proxy.versions.foreground import Foreground, SentPrompt

_ECHOES = ("user_message", "user_message_chunk")


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
