"""Which of a session's prompts an agent of version 2 works on, by its answers and its `state_update`s. Pure.

A prompt is answered once it is in the transcript, and all of those have ended when the session is `idle`. The answer
may come after the message's update, and even after the end of its work.
"""

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from ullage.jsonrpc.envelope import RequestId
from ullage.model.json_values import JsonObject

IDLE = "idle"


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
