"""The agent's tasks, as a state folded over calls: created, started, done, dropped, or replaced as a whole list.

Read are the task tools of Claude Code (TodoWrite; TaskCreate, TaskUpdate, TaskList), Codex (`update_plan`), Gemini CLI
(`write_todos`), Qwen Code (`todo_write`), opencode (`todowrite`), Cursor (`todo_write` with `merge`), Copilot
(`manage_todo_list`, `update_todo`, `sql`), Roo (`update_todo_list`), Cline (`task_progress`), Kimi (`SetTodoList`),
Droid (`TodoWrite` with a text), and the trackers `bd` and `gh issue`, called in a shell. Of a conversation that begins
with a summary, what the summary says is to be done.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from ullage.agents.calls import ToolCall
from ullage.agents.shell import parts_of
from ullage.agents.tools import PLAN_KEYS, plain, text_of, value_of
from ullage.ledger.ledger_entry import Entry, Kind, Life
from ullage.ledger.words import has_words
from ullage.model.expressions import expression
from ullage.model.json_values import as_list, as_object, as_text

_CREATES, _UPDATES, _LISTS = {"taskcreate"}, {"taskupdate"}, {"tasklist", "taskget"}
# Tools that replace the list, compared as `plain` writes names.
_REPLACES = {
    *("todowrite", "writetodos", "updateplan", "settodolist", "managetodolist", "updatetodolist", "updatetodo"),
    *("todo", "todos", "settodos", "updatetodos", "todolist"),
}
# Keys of an entry's text and of its state, in the order in which they are looked for; and words and marks of states.
_TEXT_KEYS = ("content", "step", "title", "subject", "description", "text", "task", "name")
_STATE_KEYS = ("status", "state", "completed", "done", "checked")
_ID_KEYS = ("id", "taskId", "task_id")
_STATES: Mapping[str, Life] = {
    **dict.fromkeys(("inprogress", "active", "doing", "started", "current", "wip", *"~/>*-"), Life.IN_PROGRESS),
    **dict.fromkeys(("completed", "complete", "done", "closed", "finished", "true", "resolved", "x"), Life.DONE),
    **dict.fromkeys(("cancelled", "canceled", "deleted", "dropped", "removed", "skipped", "wontdo"), Life.DROPPED),
}
_BOX = expression(
    r"^[ \t]*(?:[-*+]|\d+[.)])?[ \t]*\[([ xX~/>*-]|[A-Za-z][\w -]{2,14})\][ \t]+(\S.*?)[ \t]*$", re.MULTILINE
)
_PROGRESS = "taskprogress"
_CREATED = expression(r"#([\w.-]{1,40}?)(?=[\s:,.]|$)")
# A line of a list of tasks: `#2 [in_progress] Wire the hooks [blocked by #1]`.
_LISTED = expression(r"^#([\w.-]{1,40}) \[([a-z_ -]{2,20})\] (.+?)(?: \[blocked by [^\]]*\])?$", re.MULTILINE)
# Copilot CLI keeps tasks in a table of its tool for databases.
_SQL = "sql"
_VALUE = expression(r"'((?:[^']|''){0,2000})'")
_ROW = expression(r"\((?:[^()']|'(?:[^']|''){0,2000}')*\)")
_INSERTED = expression(
    r"\bINSERT\b[^;(]{0,40}\bINTO\s+todos\s*\(([^)]{1,200})\)\s*VALUES\s*((?:[^;']|'(?:[^']|'')*')*)", re.IGNORECASE
)
_UPDATED = expression(
    r"\bUPDATE\s+todos\s+SET\b[^;]{0,200}?\bstatus\s*=\s*'(\w+)'[^;]{0,200}?\bWHERE\b([^;]*)", re.IGNORECASE
)
_DELETED = expression(r"\bDELETE\s+FROM\s+todos\s+WHERE\b([^;]*)", re.IGNORECASE)
# The section of a summary of Claude Code that lists what is to be done, and how it writes one item: `Task #3 [pending]:
# Wire the hooks`.
_PENDING = expression(r"(?:#{1,6} |\d{1,2}[.)] )?Pending Tasks\b[^`]{0,40}")
_ITEM = expression(r"(?:[-*+•]|\d{1,2}[.)])[ \t]+(\S.*)")
_NUMBERED = expression(r"Task #?(\d{1,4})[ \t]*((?:[(\[][^)\]]*[)\]])?)[ \t]*[:.–—-][ \t]*(\S.*)")
_NOTHING = expression(r"(?:none|nothing|no|all|n/a)\b", re.IGNORECASE)
_UNDONE = {"", "pending", "todo", "open", "notstarted"}
_BEGUN = expression(r"[\[(—–-]\s*\**in[ _-]progress\b", re.IGNORECASE)
_ENDED = expression(r"[✅✓☑]|\[[xX]\]|[\[(—–]\s*\**(?:done|completed?|resolved)\b", re.IGNORECASE)
# Words of an item that says what is to be done, and characters of the longest.
_LEAST_WORDS, _LONGEST = 2, 2_000
_OF_SUMMARY = "of the earlier summary"
_STATED = ("--status", "-s")
_BD_ID = expression(r"\b([a-z][\w]*-[\w.]{1,20})\b")
_ISSUE_ID = expression(r"/issues/(\d+)")


class TaskFold:
    """The tasks after the calls that were taken, by their ids."""

    def __init__(self) -> None:
        self._tasks: dict[str, Entry] = {}

    def take(self, call: ToolCall) -> None:
        """Applies what a call does to the tasks. A call that failed changes nothing."""
        if call.failed:
            return
        name = plain(call.name.rsplit("__", 1)[-1])
        if name in _CREATES:
            self._create(call)
        elif name in _UPDATES:
            self._update(call)
        elif name in _LISTS:
            self._sync(call)
        elif name in _REPLACES:
            self._replace(call)
        elif call.command:
            self._by_shell(call)
        elif name == _SQL:
            self._by_sql(text_of(call.input, ("query", "sql")), call.index)
        if progress := next((text for key, text in call.input.items() if plain(key) == _PROGRESS), None):
            self._replace_with(_boxes(as_text(progress)), call.index, merge=False)

    def take_summary(self, lines: Iterable[Entry]) -> tuple[Entry, ...]:
        """Takes the tasks that a summary at the beginning of a conversation lists. Returns its other lines."""
        rest: list[Entry] = []
        self._tasks = {name: task for name, task in self._tasks.items() if _OF_SUMMARY not in task.beside}
        for line in lines:
            if task := task_in(line):
                self._tasks[task.name] = task
            else:
                rest.append(line)
        return tuple(rest)

    def entries(self) -> tuple[Entry, ...]:
        """Returns the tasks in the order in which they were made, each with its newest state."""
        return tuple(self._tasks.values())

    def _put(self, name: str, text: str, life: Life, index: int) -> None:
        # Of a list without ids the text is the id.
        entry = Entry(kind=Kind.TASK, life=life, index=index, text=text, name=name or text)
        self._tasks[name or text] = entry

    def _create(self, call: ToolCall) -> None:
        subject = text_of(call.input, ("subject", "title", "content", "description"))
        made = _CREATED.search(call.result)
        if subject:
            name = made[1] if made else str(len(self._tasks) + 1)
            self._put(name, subject, _life(as_text(call.input.get("status"))), call.index)

    def _update(self, call: ToolCall) -> None:
        name = str(value_of(call.input, _ID_KEYS) or "").removeprefix("#")
        subject, state = text_of(call.input, ("subject", "title")), as_text(call.input.get("status"))
        task = self._tasks.get(name)
        # A task may have been created before the conversation began, for example before it was resumed.
        if text := subject or (task.text if task else ""):
            self._put(name, text, _life(state) if state or task is None else task.life, call.index)

    def _sync(self, call: ToolCall) -> None:
        """Takes the states that a list of all tasks shows."""
        for name, state, subject in _LISTED.findall(call.result):
            task, life = self._tasks.get(name), _life(state)
            if task is None or task.life is not life:
                self._put(name, subject, life, max(call.result_index, call.index))

    def _replace(self, call: ToolCall) -> None:
        given = value_of(call.input, (*PLAN_KEYS, "tasks"))
        if isinstance(given, str):
            self._replace_with(_boxes(given), call.index, merge=False)
        elif listed := list(_listed(given)):
            self._replace_with(listed, call.index, merge=call.input.get("merge") is True)
        elif isinstance(given, list):
            self._replace_with([], call.index, merge=False)

    def _replace_with(self, listed: list[tuple[str, str, Life]], index: int, *, merge: bool) -> None:
        before = self._tasks
        known = {task.text: task for task in before.values()}
        # A new list has what is still to be done of a summary, perhaps in other words.
        old = {name: _older(task) for name, task in before.items() if _OF_SUMMARY in task.beside}
        self._tasks = before | old if merge else old
        for name, text, life in listed:
            same = before.get(name) if merge else known.get(text)
            subject = text or (same.text if same else "")
            if same:
                self._tasks.pop(same.name, None)
            if subject:
                self._put(name, subject, life, same.index if same and same.life is life else index)

    def _by_sql(self, query: str, index: int) -> None:
        """Takes the states that a query writes into the table `todos`."""
        for columns, rows in _INSERTED.findall(query):
            names = [name.strip().lower() for name in columns.split(",")]
            for row in _ROW.findall(rows):
                given = dict(zip(names, (value.replace("''", "'") for value in _VALUE.findall(row)), strict=False))
                if text := given.get("title") or given.get("description", ""):
                    self._put(given.get("id", text), text, _life(given.get("status", "")), index)
        for state, where in _UPDATED.findall(query):
            self._set([name for name in _VALUE.findall(where) if name in self._tasks], _life(state), index)
        for where in _DELETED.findall(query):
            self._set([name for name in _VALUE.findall(where) if name in self._tasks], Life.DROPPED, index)

    def _by_shell(self, call: ToolCall) -> None:
        if "bd " not in call.command and "gh issue" not in call.command:
            return
        for part in parts_of(call.command):
            match part.words:
                case ("bd", verb, *words):
                    title, state = next((word for word in words if not word.startswith("-")), ""), _STATED
                    named, made, frame = [word for word in words if _BD_ID.fullmatch(word)], _BD_ID, "{}"
                case ("gh", "issue", verb, *words):
                    title, state = _option(words, ("--title", "-t")), ()
                    numbers = [word.lstrip("#") for word in words]
                    named, made, frame = [one for one in numbers if one.isdigit()], _ISSUE_ID, "issue {}"
                case _:
                    continue
            if verb != "create":
                stated = _option(words, state)
                life = {"close": Life.DONE, "reopen": Life.OPEN}.get(verb) or (_life(stated) if stated else None)
                self._set([frame.format(name) for name in named], life, call.index)
            elif title and (name := made.search(call.result)):
                self._put(frame.format(name[1]), title, Life.OPEN, call.index)

    def _set(self, names: Iterable[str], life: Life | None, index: int) -> None:
        for name in names:
            task = self._tasks.get(name)
            if life is not None and (task is None or task.life is not life):
                self._put(name, task.text if task else name, life, index)


def task_in(line: Entry) -> Entry | None:
    """Returns the task that a line of a summary names as not done, None if it names none: an item under the title of
    such tasks, or one with a box or a word for its state before it. An item that another introduces has its words
    before its own. A line that says that there is none, or that it is done, stays a line."""
    if len(line.text) + len(line.beside) > _LONGEST:
        return None
    *titles, text = [_plain_item(one) for one in (*line.beside.splitlines(), line.text)]
    boxed = _BOX.fullmatch(text)
    is_begun = boxed is not None and _life(boxed[1]) is Life.IN_PROGRESS
    is_open = is_begun or (boxed is not None and plain(boxed[1]) in _UNDONE)
    text = boxed[2] if boxed else text
    under = next((at for at, title in enumerate(titles) if _PENDING.fullmatch(title)), None)
    if under is not None and (_ITEM.fullmatch(line.text) or boxed):
        is_open = is_open or not boxed
        text = " ".join([*titles[under + 1 :], text])
    if not is_open or _ENDED.search(text) or _NOTHING.match(text) or not has_words(text, _LEAST_WORDS):
        return None
    numbered = _NUMBERED.fullmatch(text)
    return Entry(
        kind=Kind.TASK,
        life=Life.IN_PROGRESS if is_begun or _BEGUN.search(text) else Life.OPEN,
        index=line.index,
        text=" ".join(filter(None, numbered.groups()[1:])) if numbered else text,
        name=numbered[1] if numbered else text,
        beside=_OF_SUMMARY,
    )


def _plain_item(line: str) -> str:
    """Returns a line of a list without its mark and without emphasis."""
    item = _ITEM.fullmatch(line)
    return (item[1] if item and not _PENDING.fullmatch(line) else line).replace("**", "")


def _older(task: Entry) -> Entry:
    if task.life is Life.EARLIER:
        return task
    return replace(task, life=Life.EARLIER, beside=f"{task.life}; {_OF_SUMMARY}, not in the list after it")


def _listed(given: Any) -> Iterator[tuple[str, str, Life]]:
    """Yields the id, the text and the state of each entry of a list."""
    for item in as_list(given):
        if isinstance(item, str):
            yield "", item, Life.OPEN
            continue
        entry = as_object(item)
        text = text_of(entry, _TEXT_KEYS)
        state = next((entry[key] for key in _STATE_KEYS if entry.get(key) is not None), "")
        name = str(value_of(entry, _ID_KEYS) or "")
        if text or name:
            yield name, text, _life(str(state))


def _boxes(text: str) -> list[tuple[str, str, Life]]:
    """Returns the entries of a checklist in Markdown."""
    return [("", subject, _life(mark)) for mark, subject in _BOX.findall(text)]


def _life(state: str) -> Life:
    return _STATES.get(state) or _STATES.get(plain(state), Life.OPEN)


def _option(words: Sequence[str], names: tuple[str, ...]) -> str:
    for place, word in enumerate(words):
        name, _, value = word.partition("=")
        if name in names:
            return value or (words[place + 1] if place + 1 < len(words) else "")
    return ""
