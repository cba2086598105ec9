"""Folds the messages of a conversation into its ledger, one after another. Another message costs what it has in it."""

import re
from collections.abc import Callable, Container, Iterable, Iterator, Sequence

from msgspec.structs import replace

from ullage.agents.calls import ToolCall, fenced_call, joined_call
from ullage.agents.inserted import is_summary
from ullage.agents.results import fenced_command
from ullage.agents.tools import plain, text_of
from ullage.ledger.agent_tasks import TaskFold
from ullage.ledger.agent_words import WordsFold, still_standing
from ullage.ledger.changed_files import CommitFold, FileFold, changed_words
from ullage.ledger.checks import CheckFold
from ullage.ledger.jobs import JobFold
from ullage.ledger.ledger_entry import Entry, Ledger, Life
from ullage.ledger.outline import outline_of
from ullage.ledger.said import SaidFold
from ullage.model.message import Message, Role, TextBlock, ToolResultBlock, ToolUseBlock

# Prompts after which a list of tasks that was not updated is old.
_MANY_PROMPTS = 5
# Prompts after which it was most likely given up.
_TOO_MANY = 20
# How OpenHands asks for a call in a text. The answer is the parameter of a last call.
_CALL_IN_TAGS = re.compile(r"<function=(?!finish)\w+>")
_PLANS = {plain(name) for name in ("ExitPlanMode", "exit_plan_mode")}


class Fold:
    """The fold so far. `cwd` is the project's folder; empty if unknown. `ids` are those of the messages that were
    taken, in order, and `end` is the index that the next one has if none is left out."""

    def __init__(self, cwd: str = "") -> None:
        self.cwd, self.end = cwd, 0
        self.ids: list[str] = []
        self._said, self._tasks, self._words, self._jobs = SaidFold(), TaskFold(), WordsFold(), JobFold()
        self._files = FileFold(cwd)
        self._checks, self._commits = CheckFold(self._files), CommitFold(self._files)
        # The calls that wait for their results.
        self._calls: dict[str, tuple[ToolUseBlock, int]] = {}
        self._changed: dict[str, int] = {}
        self._earlier: tuple[Entry, ...] = ()
        self._before: Message | None = None
        # What was made of these messages last, and with which focus.
        self._made: tuple[frozenset[str], Ledger] | None = None

    def take_all(self, messages: Sequence[Message], indices: Sequence[int], check: Callable[[], None]) -> None:
        """Folds messages with these indices. `check` is called before each; its exception ends the work."""
        for message, index in zip(messages, indices, strict=True):
            check()
            self.take(message, index)

    def take(self, message: Message, index: int) -> None:
        """Folds the next message. `index` is its index in the transcript, larger than those before."""
        if message.role is Role.USER:
            self._take_user(message, index)
        elif message.role is Role.ASSISTANT:
            self._take_agent(message, index)
        self._before, self.end, self._made = message, index + 1, None
        self.ids.append(message.id)

    def ledger(self, focus: frozenset[str] = frozenset()) -> Ledger:
        """Returns the ledger of the messages so far. Words of the agent that have a word of `focus` (in lower case) are
        in it, however old."""
        if self._made is None or self._made[0] != focus:
            self._made = focus, self._entries(focus)
        return self._made[1]

    def _entries(self, focus: frozenset[str]) -> Ledger:
        said = self._said.entries()
        return Ledger(
            end=self.end,
            said=said,
            tasks=tuple(_aged(self._tasks.entries(), [entry.index for entry in said])),
            problems=self._checks.problems(),
            checks=self._checks.checks(),
            commits=self._commits.entries(),
            files=self._files.entries(),
            jobs=self._jobs.entries(self._calls.values()),
            words=self._words.entries(self._changed, focus),
            earlier=tuple(still_standing(self._earlier, self._changed)),
            branch=self._commits.branch,
        )

    def _take_agent(self, message: Message, index: int) -> None:
        uses = [block for block in message.content if isinstance(block, ToolUseBlock)]
        if text := message.text.strip():
            self._said.agent_said(text)
            # Agents without function calling end a text that is no answer with a command in a fence or in tags.
            if not uses and not text.endswith("```") and not _CALL_IN_TAGS.search(text):
                self._words.take_text(text, index)
        for use in uses:
            self._calls[use.id] = (use, index)
            if plain(use.name) in _PLANS and (plan := text_of(use.input, ("plan",))):
                self._said.agent_said(plan)
                self._words.take_text(plan, index)

    def _take_user(self, message: Message, index: int) -> None:
        if message.compaction:
            self._take_summary(message.compaction.summary, index)
            return
        pair = [self._before, message] if self._before else []
        if command := fenced_command(pair, 0) if pair else "":
            # The output of a command that the agent wrote in its text.
            self._take_call(fenced_call(command, self.end - 1, message.text))
            return
        for block in message.content:
            if isinstance(block, ToolResultBlock) and block.tool_use_id in self._calls:
                use, at = self._calls.pop(block.tool_use_id)
                self._take_call(joined_call(use, at, block, index))
        if message.text and is_summary(message.text):
            self._take_summary(message.text, index)
            return
        for block in message.content:
            if isinstance(block, TextBlock):
                for ended in self._jobs.take_note(block.text, index):
                    self._take_work(ended)
        if typed := self._said.take_typed(message, index):
            self._words.take_answer(typed, index)

    def _take_summary(self, summary: str, index: int) -> None:
        """Takes an earlier summary. What it lists as to be done are tasks, unless the ledger knows the messages that it
        stands for."""
        self._earlier = outline_of(summary, index)
        if not self._said.has_any:
            self._earlier = self._tasks.take_summary(self._earlier)

    def _take_call(self, call: ToolCall) -> None:
        self._said.take_call(call)
        self._tasks.take(call)
        self._take_work(call)
        if ended := self._jobs.take(call):
            self._take_work(ended)
        if plain(call.name) in _PLANS:
            self._words.take_answer("did not approve it" if call.failed else "approved it", call.result_index)

    def _take_work(self, call: ToolCall) -> None:
        for word in changed_words(self._files.take(call)):
            self._changed[word] = call.index
        if call.command:
            self._checks.take(call)
            self._commits.take(call)


def _aged(tasks: tuple[Entry, ...], prompts: list[int]) -> Iterator[Entry]:
    """Yields the tasks, those that are not done with how many prompts came after the list was last updated, if these
    are many: the agent may have given it up. After still more prompts the list is one of earlier work."""
    updated = max((task.index for task in tasks), default=0)
    since = sum(index > updated for index in prompts)
    for task in tasks:
        is_open = task.life in (Life.OPEN, Life.IN_PROGRESS)
        if not is_open or since < _MANY_PROMPTS:
            yield task
            continue
        told = f"no task was updated in the {since} prompts since"
        is_old = since >= _TOO_MANY
        yield replace(task, life=Life.EARLIER, beside=f"{task.life}; {told}") if is_old else replace(task, beside=told)


def fold(messages: Iterable[Message], cwd: str = "", without: Container[str] = ()) -> Ledger:
    """Returns the ledger of messages, whose indices count from 0. Those with an id in `without` are not taken."""
    folded = Fold(cwd)
    for index, message in enumerate(messages):
        if message.id not in without:
            folded.take(message, index)
    return folded.ledger()
