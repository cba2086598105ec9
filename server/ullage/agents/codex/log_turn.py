"""One request of a Codex log: puts the answer together from its events, then the results of its tools."""

from typing import Any

from ullage.formats.transcripts.builder import TranscriptBuilder
from ullage.model.blocks import Block, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from ullage.model.message import Role
from ullage.model.usage import Usage

# Stands for what the person typed where the log leaves it out.
UNRECORDED_PROMPT = "[The log does not record this message.]"


class CodexTurn:
    """Collects until a request ends. Streamed pieces count only where their whole never came."""

    def __init__(self, builder: TranscriptBuilder) -> None:
        self._builder = builder
        self._answer: list[Block] = []
        self._results: list[Block] = []
        self._streamed_thinking = ""
        self._streamed_text = ""
        self._prompted = False
        self.timestamp = 0

    def start(self) -> None:
        """A task begins: the person has said something."""
        self.finish()
        if not self._prompted:
            self._builder.add(Role.USER, (TextBlock(text=UNRECORDED_PROMPT),), timestamp=self.timestamp)
        self._prompted = False

    def add_user(self, text: str) -> None:
        """What the person said; the same comes as an operation and, in newer logs, as an event."""
        if self._prompted:
            return
        self.finish()
        self._builder.add(Role.USER, (TextBlock(text=text),), timestamp=self.timestamp)
        self._prompted = True

    def stream_thinking(self, delta: str) -> None:
        """A piece of reasoning."""
        self._streamed_thinking += delta

    def add_thinking(self, text: str) -> None:
        """A whole reasoning."""
        self._open_answer()
        self._streamed_thinking = ""
        self._answer.append(ThinkingBlock(thinking=text))

    def stream_text(self, delta: str) -> None:
        """A piece of the answer's text."""
        self._streamed_text += delta

    def add_text(self, text: str) -> None:
        """A whole text."""
        self._open_answer()
        self._take_streamed_thinking()
        self._streamed_text = ""
        self._answer.append(TextBlock(text=text))

    def begin_call(self, call_id: str, name: str, arguments: dict[str, Any]) -> None:
        """A tool call."""
        self._take_streamed()
        self._answer.append(ToolUseBlock(id=call_id, name=name, input=arguments))

    def end_call(self, call_id: str, output: str, *, failed: bool) -> None:
        """A tool's result."""
        content = (TextBlock(text=output),) if output else ()
        self._results.append(ToolResultBlock(tool_use_id=call_id, content=content, is_error=failed))

    def finish(self, usage: Usage | None = None) -> None:
        """The request is over."""
        self._take_streamed()
        if self._answer:
            message_id = self._builder.add(Role.ASSISTANT, self._answer, timestamp=self.timestamp)
            if usage is not None:
                self._builder.report(usage, message_id)
        if self._results:
            self._builder.add(Role.USER, self._results, timestamp=self.timestamp)
        self._answer, self._results = [], []

    def _open_answer(self) -> None:
        """A new text or reasoning after results is the next request's, even where no account came between."""
        if self._results:
            self.finish()

    def _take_streamed(self) -> None:
        self._take_streamed_thinking()
        if self._streamed_text:
            self._answer.append(TextBlock(text=self._streamed_text))
            self._streamed_text = ""

    def _take_streamed_thinking(self) -> None:
        if self._streamed_thinking:
            self._answer.append(ThinkingBlock(thinking=self._streamed_thinking))
            self._streamed_thinking = ""
