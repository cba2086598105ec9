"""The memory tool for a program's own agent: files of the model's notes, which remain after a conversation."""

from pathlib import Path
from typing import Any

from ullage.embed.messages import checked
from ullage.formats.requests import openai
from ullage.memory.memory_tool import DEFINITION, NAME, NATIVE_TYPE
from ullage.model.json_values import as_object
from ullage.service.memory import run_memory
from ullage.service.ports.models import ToolOutcome
from ullage.store.memories.memory_files import FolderMemory


@checked
class MemoryTool:
    """Runs a model's calls of the tool `memory` (`view`, `create`, `str_replace`, `insert`, `delete` and `rename`) on
    the files in the folder `base_dir`. Nothing outside the folder is read or written."""

    name = NAME

    def __init__(self, base_dir: Path | str) -> None:
        self.base_dir = Path(base_dir)
        self._files = FolderMemory(self.base_dir)

    def execute(self, arguments: dict[str, Any]) -> str:
        """Runs one tool call with these arguments and returns the text of its result. A call that fails returns a text
        for the model that begins with `Error`; no error is raised."""
        return self.run(arguments).text

    def run(self, arguments: dict[str, Any]) -> ToolOutcome:
        """Runs one tool call with these arguments and returns its text and whether it failed. No error is raised."""
        return run_memory(self._files, as_object(arguments))

    def definition(self, provider: str = "anthropic") -> dict[str, Any]:
        """Returns the tool's definition for the list `tools` of a request. For the provider `anthropic` it is the
        tool's type in Anthropic's API; for any other provider, a function with a schema in OpenAI's chat format."""
        if provider == "anthropic":
            return {"type": NATIVE_TYPE, "name": NAME}
        return openai.write_openai((), (DEFINITION,)).tools[0]
