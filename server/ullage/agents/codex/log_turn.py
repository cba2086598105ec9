"""Builds the messages of one request of a Codex log: the answer from its events, then the results of its tools."""

from typing import Any

from ullage.formats.transcripts.builder import TranscriptBuilder
from ullage.model.blocks import Block, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from ullage.model.message import Role
from ullage.model.usage import Usage

# Replaces the user's prompt if the log doesn't contain it.
UNRECORDED_PROMPT = "[The log does not record this message.]"


class CodexTurn:
    """Collects the events of one request to the model, and adds its answer and tool results to the transcript when it
    ends.

    Streamed pieces of a text are used only if the log doesn't contain the complete text.
    """

    def __init__(self, builder: TranscriptBuilder) -> None:
        self._builder = builder
        self._answer: list[Block] = []
        self._results: list[Block] = []
        self._streamed_thinking = ""
        self._streamed_text = ""
        self._prompted = False
        self.timestamp = 0

    def start(self) -> None:
        """Begins a task (a prompt turn) and ends the request before it. If the log didn't contain the user's prompt, a
        placeholder is added for it."""
        self.finish()
        if not self._prompted:
            self._builder.add(Role.USER, (TextBlock(text=UNRECORDED_PROMPT),), timestamp=self.timestamp)
        self._prompted = False

    def add_user(self, text: str) -> None:
        """Adds the user's prompt to the transcript. A second prompt before the task begins is ignored.

        Newer logs contain each prompt twice, as an operation and as an event.
        """
        if self._prompted:
            return
        self.finish()
        self._builder.add(Role.USER, (TextBlock(text=text),), timestamp=self.timestamp)
        self._prompted = True

    def stream_thinking(self, delta: str) -> None:
        """Adds a piece of streamed reasoning."""
        self._streamed_thinking += delta

    def add_thinking(self, text: str) -> None:
        """Adds a complete reasoning text, which replaces its streamed pieces."""
        self._open_answer()
        self._streamed_thinking = ""
        self._answer.append(ThinkingBlock(thinking=text))

    def stream_text(self, delta: str) -> None:
        """Adds a piece of the answer's streamed text."""
        self._streamed_text += delta

    def add_text(self, text: str) -> None:
        """Adds a complete text of the answer, which replaces its streamed pieces."""
        self._open_answer()
        self._take_streamed_thinking()
        self._streamed_text = ""
        self._answer.append(TextBlock(text=text))

    def begin_call(self, call_id: str, name: str, arguments: dict[str, Any]) -> None:
        """Adds a tool call to the answer."""
        self._take_streamed()
        self._answer.append(ToolUseBlock(id=call_id, name=name, input=arguments))

    def end_call(self, call_id: str, output: str, *, failed: bool) -> None:
        """Adds the result of a tool call."""
        content = (TextBlock(text=output),) if output else ()
        self._results.append(ToolResultBlock(tool_use_id=call_id, content=content, is_error=failed))

    def finish(self, usage: Usage | None = None) -> None:
        """Ends the request: adds the answer with its `usage`, then a message with all tool results, to the transcript.

        If there is no answer, `usage` is dropped.
        """
        self._take_streamed()
        if self._answer:
            message_id = self._builder.add(Role.ASSISTANT, self._answer, timestamp=self.timestamp)
            if usage is not None:
                self._builder.report(usage, message_id)
        if self._results:
            self._builder.add(Role.USER, self._results, timestamp=self.timestamp)
        self._answer, self._results = [], []

    def _open_answer(self) -> None:
        """Ends the previous request if tool results have come, because text after results belongs to the next request.

        This is needed for requests that end without a `token_count`.
        """
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
