"""What can be known about a coding agent, as one value.

Each agent has a file or a folder with its own values; `table.py` lists the agents.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import PurePosixPath
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ullage.agents.inserted import is_typed, without_inserted
from ullage.agents.machine import Machine
from ullage.agents.new_session import SessionWriter
from ullage.agents.own_context import OwnContext, OwnPrompt, OwnSettings
from ullage.agents.wiring import Wiring
from ullage.formats.parsing import Document, as_timestamp
from ullage.formats.transcripts.format import Format
from ullage.model.json_values import JsonObject, as_object, as_objects, as_text

# Keys of a record under which agents put the facts of a session.
_INSIDE = ("payload", "data", "context", "row", "info", "$set")
_FOLDERS = ("cwd", "directory", "working_dir", "workDir", "workspace")
_MODELS = ("model", "selectedModel", "modelId", "model_id")
_IDS = ("sessionId", "session_id")
_PARENTS = ("parentID", "parent_id", "parent_session_id", "parent_thread_id", "parentTaskId")
_TIMES = ("time_updated", "updated_at")
# Records at the beginning of a file that may say whose conversation it is.
_HEADS = 4


class Facts(Struct, frozen=True, kw_only=True):
    """What some records of a conversation's file say about the conversation. A text is "", and a number 0, if they
    don't say it.

    `cwd` is the folder in which it began, `model` the model used last, and `session_id` the agent's own id of it.
    `is_side` is true for a sub-agent's conversation, and `parent` is then the agent's own id of the conversation that
    started it. `updated_at` is Unix milliseconds.
    """

    cwd: str = ""
    model: str = ""
    session_id: str = ""
    is_side: bool = False
    parent: str = ""
    updated_at: int = 0


def common_facts(path: str, records: Sequence[JsonObject]) -> Facts:  # noqa: ARG001 (other agents' need the path)
    """Returns the facts in these records, found under the keys that most agents use.

    `path` is the file's path, with forward slashes. In a row of a database, `id` is the conversation's id.
    """
    rows = [row for record in records[:_HEADS] if (row := as_object(record.get("row")))]
    session_id, parent = _first_text(_all_places(records), _IDS), _first_text(_all_places(records[:_HEADS]), _PARENTS)
    if is_side(records):
        # Such a record's session is the one that started the sub-agent.
        session_id, parent = _first_text(records, ("agentId",)), session_id
    return Facts(
        cwd=_first_text(_all_places(records), _FOLDERS),
        model=_model(records),
        session_id=session_id or _first_text(rows, ("id",)),
        is_side=is_side(records) or bool(parent),
        parent=parent,
        updated_at=max((as_timestamp(row.get(key)) for row in rows for key in _TIMES), default=0),
    )


def side_of(facts: Facts, session_id: str, parent: str) -> Facts:
    """Returns the facts of a sub-agent's conversation whose own id and whose parent's id its path says. What the path
    does not say ("") is as in `facts`."""
    return replace(facts, is_side=True, session_id=session_id or facts.session_id, parent=parent or facts.parent)


def is_side(records: Iterable[JsonObject]) -> bool:
    """Returns whether these records belong to a sub-agent's conversation: at least one has the key `isSidechain`, and
    it is true in all that have it."""
    said = [record["isSidechain"] is True for record in records if "isSidechain" in record]
    return bool(said) and all(said)


def _model(records: Sequence[JsonObject]) -> str:
    """Returns the last model's name in the records, or "". A name that begins with `<` marks an answer that no model
    has given, and is skipped."""
    for record in reversed(records):
        named = _first_text((as_object(record.get("message")), *_places(record)), _MODELS)
        if named and not named.startswith("<"):
            return named
    return ""


def _all_places(records: Iterable[JsonObject]) -> Iterator[JsonObject]:
    return (place for record in records for place in _places(record))


def _places(record: JsonObject) -> Iterator[JsonObject]:
    """Yields the objects in which a record may contain a session's facts: the record itself, and the objects under
    known keys in it."""
    yield record
    for key in _INSIDE:
        if inner := as_object(record.get(key)):
            yield inner
            if context := as_object(inner.get("context")):
                yield context


def _first_text(places: Iterable[JsonObject], keys: Sequence[str]) -> str:
    return next((text for place in places for key in keys if (text := as_text(place.get(key)))), "")


def in_folder(variable: str, default: str, *names: str) -> Callable[[Machine], tuple[str, ...]]:
    """Returns a function that returns paths or patterns on a machine, in the folder that an environment variable names,
    or else in `default` in the home folder."""
    return lambda machine: tuple(f"{machine.folder(variable, default)}/{name}" for name in names)


def beside(ending: str, *names: str, inside: str = "") -> Callable[[str], tuple[str, ...]]:
    """Returns a function that returns these files, relative to its folder, for a file whose path ends so and has
    `inside` in it."""
    return lambda path: names if path.endswith(ending) and inside in path else ()


_NUMBER = re.compile(r"\d+")


class Running(Struct, frozen=True, kw_only=True):
    """An agent's process: its process id, and the agent's own id of the conversation that it has."""

    process_id: int
    session_id: str


def running_in_record(_: str, records: Sequence[JsonObject]) -> Running | None:
    """Returns the process in the first record, under `pid`, and its conversation, under `sessionId`."""
    process_id, session_id = (records[0].get(key) for key in ("pid", "sessionId")) if records else (None, None)
    # A bool is an int, too.
    if type(process_id) is not int or process_id <= 0 or not as_text(session_id):
        return None
    return Running(process_id=process_id, session_id=as_text(session_id))


def running_in_name(path: str, _: Sequence[JsonObject]) -> Running | None:
    """Returns the process whose id is in the file's name, and the conversation whose id is the name of its folder."""
    file = PurePosixPath(path)
    number = _NUMBER.search(file.name)
    return Running(process_id=int(number[0]), session_id=file.parent.name) if number else None


class Processes(Struct, frozen=True, kw_only=True):
    """How an agent says which of its processes has which conversation.

    `patterns` returns glob patterns with absolute paths for its files. `running_in` returns what such a file says,
    judged by its path (with forward slashes) and its records, by default by the first of them. Returns None if it names
    no process or no conversation. A file may be left over from a process that was killed.
    """

    patterns: Callable[[Machine], tuple[str, ...]]
    running_in: Callable[[str, Sequence[JsonObject]], Running | None] = running_in_record


class Retention(Struct, frozen=True, kw_only=True):
    """When an agent deletes its transcripts by itself.

    - `patterns`: returns glob patterns for the files with the user's settings.
    - `days_in`: reads from such settings after how many days without a change a transcript is deleted; `inf` if never.
      Returns None if they don't say it.
    - `default`: the days if no settings say it.
    - `setting`: what the user writes into that file so that no transcript is deleted, as JSON.
    """

    patterns: Callable[[Machine], tuple[str, ...]]
    days_in: Callable[[JsonObject], float | None]
    default: float
    setting: str


class Occupancy(Struct, frozen=True, kw_only=True):
    """The size of an agent's context as the agent reports it.

    `used` is in tokens. `size` is the window in tokens, None if not given, and `model` the model's name, empty if not
    given. If `summed` is true, `used` adds up all requests of a turn, so it is the context's size only if the turn had
    a single request.
    """

    used: int
    summed: bool = False
    size: int | None = None
    model: str = ""


class AcpAgent(Struct, frozen=True, kw_only=True):
    """What one agent adds to the Agent Client Protocol behind the proxy.

    - `name`: the name that the agent gives itself when a connection is opened; empty if unknown.
    - `compact_command`: its slash command that compacts the context; empty if it has none.
    - `offers_command`: whether the agent lists that command among its own. Some agents have it and never list it.
    - `occupancy_in_update`: reads the context's size from a session update other than `usage_update`.
    - `occupancy_in_answer`: reads the context's size from the answer to a prompt.
    - `model_in_usage`: reads the model's name from a `usage_update`.
    - `window_of_model`: reads the window, in tokens, from a model that `session/new` lists.
    - `compaction_done`: says whether a session update reports that the agent has just compacted its context.
    - `compaction_call`: says whether an update of a tool call reports a compaction. Agents report them so to clients
      that take no updates of compactions.
    - `tool_in_call`: reads the tool's own name from a tool call.
    - `whole_window`: returns the window of the model, in tokens; the window that the agent reports may be only the part
      for the prompt.

    The readers return None, False or an empty string if the message has no such addition.
    """

    name: str = ""
    compact_command: str = ""
    offers_command: bool = True
    occupancy_in_update: Callable[[Mapping[str, Any]], Occupancy | None] = lambda _: None
    occupancy_in_answer: Callable[[Mapping[str, Any]], Occupancy | None] = lambda _: None
    model_in_usage: Callable[[Mapping[str, Any]], str] = lambda _: ""
    window_of_model: Callable[[Mapping[str, Any]], int | None] = lambda _: None
    compaction_done: Callable[[Mapping[str, Any]], bool] = lambda _: False
    compaction_call: Callable[[Mapping[str, Any]], bool] = lambda _: False
    tool_in_call: Callable[[Mapping[str, Any]], str] = lambda _: ""
    whole_window: Callable[[int], int] = lambda window: window


class Sessions(Struct, frozen=True, kw_only=True):
    """Where an agent keeps its conversations, and how they are titled in a list.

    - `patterns`: returns glob patterns with absolute paths for the files of its conversations on a machine.
    - `title_of`: returns a conversation's title from some of its records, such as the first and the last ones of its
      file; empty if these have none.
    - `facts`: returns what such records say of their conversation, given the file's path with forward slashes.
    - `fact_files`: returns small files that hold facts of a conversation, as glob patterns relative to its file's
      folder, judged by the file's path. Their contents are records, too. A file that is not JSON, the conversation's
      own or one next to it, is the record `{"file": name, "text": text}`.
    - `side`: returns the agent's own ids of a sub-agent's conversation and of the one that started it, judged by the
      path of a file that a pattern finds; "" if the path does not say one. None if it is no sub-agent's file.
    - `format`: the name of the files' format, if the agent has no formats of its own.
    - `table`: the table whose rows are conversations, if they are kept in a SQLite database. `newer_table`: that of
      newer versions, whose name sorts after it. Its row decides where both have a conversation.
    - `newest`: the table and its column of times that say when a conversation has changed last, if its own row doesn't.
    - `marks`: some of these bytes are in each record of a compaction, and in each that says the window otherwise than
      with every answer.
    - `superseded_by`: returns the path of the file that has more of a conversation than one that a pattern finds, and
      is read in its place where there is one; "" if there never is.
    - `registry`: returns the conversations' files that a file lists, as glob patterns, judged by the records of a file
      that a pattern finds. The file itself holds no conversation then.
    """

    patterns: Callable[[Machine], tuple[str, ...]]
    title_of: Callable[[Sequence[JsonObject]], str]
    facts: Callable[[str, Sequence[JsonObject]], Facts] = common_facts
    fact_files: Callable[[str], tuple[str, ...]] = lambda _: ()
    side: Callable[[str], tuple[str, str] | None] = lambda _: None
    format: str = ""
    table: str = ""
    newer_table: str = ""
    newest: tuple[str, str] | None = None
    marks: tuple[bytes, ...] = (b"ompact",)
    superseded_by: Callable[[str], str] = lambda _: ""
    registry: Callable[[Sequence[JsonObject]], tuple[str, ...]] | None = None

    def is_sub_agent(self, path: str) -> bool:
        """Returns whether a file that a pattern finds is a sub-agent's."""
        return self.side(path) is not None

    def facts_of(self, path: str, records: Sequence[JsonObject]) -> Facts:
        """Returns what the records and the path of a file say of its conversation."""
        facts, side = self.facts(path, records), self.side(path)
        return facts if side is None else side_of(facts, *side)


class Agent(Struct, frozen=True, kw_only=True):
    """Everything that Ullage knows about one coding agent.

    - `name`: the product's name.
    - `short`: the name in a few characters, for a status bar; empty if the name is short.
    - `formats`: the transcript formats that it writes, the more specific first.
    - `companions`: returns the files that belong to a transcript file, as glob patterns relative to its folder, judged
      by the file's path alone. The path has forward slashes.
    - `kept_beside`: returns further files that belong to the conversation, as patterns of the same kind. They aren't
      read, but the archive keeps them.
    - `reports_beside`: whether a companion of a log has the usage of its last request, and so is read again whenever it
      changes.
    - `references`: returns the files that a transcript's content refers to, as patterns of the same kind. The
      document's name is its path.
    - `sessions`: where it keeps its conversations; None if unknown.
    - `processes`: how it says which of its processes has which conversation; None if it doesn't.
    - `session_variable`, `folder_variable`: the environment variables in which it gives the programs that it starts its
      own id of the conversation, as it was then, and the folder of the project; "" if it gives none.
    - `withheld_variables`: environment variables that an MCP server needs, and that it does not give its servers.
    - `session_in_request`: reads its own id of the conversation from the `_meta` of a request to an MCP server; ""
      if the request has none.
    - `writer`: how sessions are written that it resumes; None if that is not known.
    - `tables`: the tables that hold conversations, if the agent keeps them in a SQLite database.
    - `takes_focus`: whether its command that compacts takes words about what the summary must keep.
    - `acp`: what it adds to the protocol behind the proxy.
    - `inserted`: what it inserts into the user's messages.
    - `retention`: when it deletes its transcripts by itself; None if never, or not known.
    - `own_context`: the window that it gives its models, and where it compacts.
    - `own_prompt`: which of the user's files it adds to each request, besides what its log contains.
    - `own_settings`: where its settings about compaction are, and what they say; None if unknown.
    - `wiring`: how Ullage is added to its settings, so that it runs Ullage by itself; None if that is not known.
    """

    name: str
    short: str = ""
    formats: tuple[Format, ...] = ()
    companions: Callable[[str], tuple[str, ...]] = lambda _: ()
    kept_beside: Callable[[str], tuple[str, ...]] = lambda _: ()
    reports_beside: bool = False
    references: Callable[[Document], tuple[str, ...]] = lambda _: ()
    sessions: Sessions | None = None
    processes: Processes | None = None
    session_variable: str = ""
    folder_variable: str = ""
    withheld_variables: tuple[str, ...] = ()
    session_in_request: Callable[[Mapping[str, Any]], str] = lambda _: ""
    writer: SessionWriter | None = None
    tables: tuple[str, ...] = ()
    retention: Retention | None = None
    own_context: OwnContext = OwnContext()
    own_prompt: OwnPrompt = OwnPrompt()
    own_settings: OwnSettings | None = None
    takes_focus: bool = False
    acp: AcpAgent = AcpAgent()
    wiring: Wiring | None = None


def prompt_and_answer(usage: Mapping[str, Any]) -> int | None:
    """Returns the input and output tokens of one request together, or None if the usage has no input tokens.

    The keys may be in snake case or in camel case. Missing output tokens count as 0.
    """
    prompt = _first(usage, "input_tokens", "inputTokens")
    answer = _first(usage, "output_tokens", "outputTokens") or 0
    return prompt + answer if prompt else None


def token_count(value: Any) -> int | None:
    """Returns the value if it is an integer of at least 0, otherwise None."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _first(usage: Mapping[str, Any], *names: str) -> int | None:
    return next((tokens for name in names if (tokens := token_count(usage.get(name))) is not None), None)


# Characters of a prompt in which its first lines are looked for.
_LONGEST = 10_000
# A slash command, also of a plugin, with nothing after it: "/clear", "/plugin:plan".
_COMMAND_ALONE = re.compile(r"/[\w:.-]{1,100}")


def first_line(text: str) -> str:
    """Returns the first line of a prompt that is not blank, cut to 200 characters, to serve as a title. A line that
    ends with a colon is followed by the next one, and gives its place to a heading in Markdown. Returns an empty string
    if every line is blank."""
    lines = [*islice((line.strip() for line in text[:_LONGEST].splitlines() if not line.isspace() and line), 2)]
    if len(lines) > 1 and lines[0].endswith((":", "\uff1a")):
        heading = lines[1].lstrip("#").strip()
        return (heading if heading != lines[1] and heading else f"{lines[0]} {lines[1]}")[:200]
    return lines[0][:200] if lines else ""


def is_lone_command(text: str) -> bool:
    """Returns whether a text is a slash command without a word after it. It is a title only if nothing else was
    typed."""
    return _COMMAND_ALONE.fullmatch(text.rstrip()) is not None


def first_prompt(contents: Iterable[object]) -> str:
    """Returns the first line of the first content that a user typed (see `first_line`), or an empty string if there is
    none. A lone command gives its place to what was typed after it.

    A content is text, an object with a `text`, or a list of such objects. What programs insert is left out.
    """
    command = ""
    for content in contents:
        parts = [as_text(part.get("text")) for part in as_objects(content)]
        for text in (as_text(content), as_text(as_object(content).get("text")), *parts):
            said = without_inserted(text).lstrip() if text else ""
            if said and not said.startswith("<") and is_typed(said):
                if not is_lone_command(said):
                    return first_line(said)
                command = command or first_line(said)
    return command


def last_text(records: Iterable[JsonObject], key: str) -> str:
    """Returns the value under `key` of the last record that has a text there which is not blank, without surrounding
    spaces. Returns an empty string if no record has one."""
    return next((text for record in reversed(list(records)) if (text := as_text(record.get(key)).strip())), "")
