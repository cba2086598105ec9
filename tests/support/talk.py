"""Conversations with an agent in few words, for tests of the ledger."""

from typing import Any

from ullage.model.message import Block, Message, Role, TextBlock, ToolResultBlock, ToolUseBlock


class Talk:
    """A conversation that grows by what the user types, what the agent says, and what its calls do."""

    def __init__(self) -> None:
        self.messages: list[Message] = []

    def user(self, text: str) -> "Talk":
        return self._add(Role.USER, TextBlock(text=text))

    def agent(self, text: str) -> "Talk":
        return self._add(Role.ASSISTANT, TextBlock(text=text))

    def call(self, name: str, given: dict[str, Any], result: str = "ok", *, failed: bool = False) -> "Talk":
        """Adds a call and, as the next message, its result."""
        call = f"call{len(self.messages)}"
        self._add(Role.ASSISTANT, ToolUseBlock(id=call, name=name, input=given))
        return self._add(
            Role.USER, ToolResultBlock(tool_use_id=call, content=(TextBlock(text=result),), is_error=failed)
        )

    def shell(self, command: str, result: str = "", *, failed: bool = False) -> "Talk":
        return self.call("Bash", {"command": command}, result, failed=failed)

    def edit(self, path: str, old: str, new: str) -> "Talk":
        return self.call(
            "Edit", {"file_path": path, "old_string": old, "new_string": new}, f"The file {path} was updated."
        )

    def write(self, path: str, text: str) -> "Talk":
        return self.call("Write", {"file_path": path, "content": text}, f"File created successfully at: {path}")

    def read(self, path: str, text: str = "x = 1") -> "Talk":
        return self.call("Read", {"file_path": path}, text)

    def _add(self, role: Role, block: Block) -> "Talk":
        self.messages.append(Message(id=f"m{len(self.messages)}", role=role, content=(block,)))
        return self
