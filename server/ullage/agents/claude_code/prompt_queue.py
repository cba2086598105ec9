"""The prompts that the user typed while the model was working.

`queue-operation` lines record how each is queued (`enqueue`), given to the next turn (`dequeue`, followed by a user
line), put back into the input field (`popAll`), or given to the running turn (`remove`). After a `remove` some
versions write a `queued_command` attachment, others nothing: then the queue has the only copy of what the user said.
"""

import re

from msgspec import Struct

from ullage.agents.claude_code.entry import Entry
from ullage.model.json_values import as_text

# A command of the agent's own is not sent to the model; what it does has lines of its own.
_COMMAND = re.compile(r"/[\w:-]+(?:\s|$)")


class Prompt(Struct, frozen=True, kw_only=True):
    """A prompt that the user queued. `at` is its time as the log writes it; `timestamp` is the same in Unix
    milliseconds."""

    text: str
    at: str
    timestamp: int


class PromptQueue:
    """The prompts that the user typed while the model was working and that the model has not been given yet."""

    def __init__(self) -> None:
        self._waiting: list[Prompt] = []
        self._attached: list[str] = []
        self._given: list[str] = []

    def operate(self, entry: Entry) -> Prompt | None:
        """Applies a `queue-operation` line. Returns the prompt that the model is given by it, if no earlier line
        contains the prompt; else None."""
        operation, text = as_text(entry.value.get("operation")), as_text(entry.value.get("content"))
        if operation == "enqueue" and text:
            at = as_text(entry.value.get("timestamp"))
            self._waiting.append(Prompt(text=text, at=at, timestamp=entry.timestamp))
        elif operation == "popAll":
            self._drop(text)
        elif operation == "remove":
            return self._remove()
        return None

    def said(self, text: str) -> None:
        """Removes a prompt from the queue, because a user line contains it."""
        self._drop(text)

    def attached(self, text: str) -> bool:
        """Removes a prompt from the queue, because an attachment contains it. The `remove` line of the prompt may
        follow.

        Returns False if `operate` has returned the prompt already, so that the attachment must not be added.
        """
        if text.strip() in self._given:
            self._given.remove(text.strip())
            return False
        if self._drop(text):
            self._attached.append(text)
        return True

    def _drop(self, text: str) -> bool:
        found = next((prompt for prompt in self._waiting if prompt.text.strip() == text.strip()), None)
        if found is not None:
            self._waiting.remove(found)
        return found is not None

    def _remove(self) -> Prompt | None:
        if self._attached or not self._waiting:
            self._attached = self._attached[1:]
            return None
        # Recorded sessions show that what the user typed goes before a notification that was queued earlier.
        found = next((prompt for prompt in self._waiting if not prompt.text.startswith("<")), self._waiting[0])
        self._waiting.remove(found)
        self._given.append(found.text.strip())
        return None if _COMMAND.match(found.text) else found
