"""What Ullage knows about Factory's Droid: where its sessions are, and how they are read.

A session (`~/.factory/sessions/*/ID.jsonl`) has one `{type, id, timestamp}` per line. The content of a `message` is in
the shape of Anthropic's API. The model is named in `ID.settings.json`, which is written again after each request, some
milliseconds before or after the answer. `lastCallTokenUsage` there is the usage of that request, without the tokens
that were written to the provider's cache; `tokenUsage` is the sum of the session.

It compacts when the sum of these counts of the last request is larger than a limit: that of the model or of all
models in the settings, else 250,000 tokens, and at most the model's largest prompt (read in its program, version
0.225.2). What that is for models with smaller windows depends on how they think, so without a setting their threshold
is not known.

What `droid exec --output-format stream-json` prints is read, too: one `{type, timestamp}` per line. The last line,
`completion`, repeats the final answer. Its usage is the sum of the run's requests.
"""

from collections.abc import Sequence
from pathlib import PurePosixPath

from msgspec.structs import replace

from ullage.agents.agent import Agent, Facts, Sessions, common_facts, first_prompt, in_folder, last_text
from ullage.agents.machine import Machine
from ullage.agents.own_context import OwnContext, OwnSettings, Reading, Rule, Setup, Threshold, switched_off, version_of
from ullage.agents.record_reader import PieceRecordReader, RecordReader
from ullage.formats.parsing import Document, Line, as_count, as_timestamp, convert_usage, usage_beside
from ullage.formats.transcripts.chat import read_arguments, read_blocks, text_block
from ullage.formats.transcripts.format import Records, incremental
from ullage.model.json_values import JsonObject, as_object, as_objects, as_text
from ullage.model.message import Role, TextBlock
from ullage.model.usage import Usage

# In a folder per project; in early versions without such a folder.
_PATTERNS = in_folder("", ".factory/sessions", "*/*.jsonl", "*.jsonl")


def _facts_of(path: str, records: Sequence[JsonObject]) -> Facts:
    facts = common_facts(path, records)
    head = as_object(next((record for record in records if record.get("type") == "session_start"), None))
    return replace(facts, session_id=as_text(head.get("id")) or facts.session_id)


def _title_of(records: Sequence[JsonObject]) -> str:
    messages = [as_object(record.get("message")) for record in records]
    prompts = (message.get("content") for message in messages if message.get("role") == "user")
    return last_text(records, "sessionTitle") or last_text(records, "title") or first_prompt(prompts)


_USUAL, _SINCE = 250_000, (0, 225)
_LIMIT, _OF_MODEL, _CHECKED = "compactionTokenLimit", "compactionTokenLimitPerModel", "compactionThresholdCheckEnabled"


def _threshold(setup: Setup) -> Threshold:
    given = setup.given
    if given.automatic is False:
        return switched_off(given)
    if given.tokens:
        name, tokens = given.name("tokens"), min(given.tokens, setup.window)
        return Rule(tokens=tokens, basis=name, setting=name)
    if setup.window <= _USUAL or version_of(setup.version) < _SINCE:
        return None
    return Rule(tokens=_USUAL, basis=f"Droid compacts at {_USUAL:,} tokens")


def _files(machine: Machine) -> tuple[str, ...]:
    own = machine.folder("", ".factory")
    # The second of each names the MCP servers.
    project = machine.in_project(".factory/settings.json", ".factory/mcp.json")
    return (f"{own}/settings.json", f"{own}/mcp.json", *project)


def _read(reading: Reading) -> None:
    sections = [section for file in reading.files for section in (file, as_object(file.get("general")))]
    for section in sections:
        if isinstance(checked := section.get(_CHECKED), bool):
            reading.take("automatic", _CHECKED, checked)
        reading.number("tokens", _LIMIT, section.get(_LIMIT))
        for model in as_objects(section.get("customModels")):
            # The ids of older versions have the model's name; the number tells models with one name apart.
            shown = "-".join(as_text(model.get("displayName")).split())
            own = (model.get("model"), model.get("id"), f"custom:{model.get('model')}")
            if reading.model and (reading.model in own or reading.model.rpartition("-")[0] == f"custom:{shown}"):
                reading.number("model_window", "customModels: maxContextLimit", model.get("maxContextLimit"))
    for section in sections:
        of_model = as_object(section.get(_OF_MODEL)).get(reading.model)
        reading.number("tokens", f"{_OF_MODEL}.{reading.model}", of_model)


SETTINGS = OwnSettings(
    files=_files,
    read=_read,
    known=frozenset({_LIMIT, _OF_MODEL, _CHECKED, "compactionModel"}),
    servers="mcpServers",
    prefix="FACTORY",
)

NAME = "droid"
_OWN_LINES = {"todo_state", "agent_turn_outcome", "session_end"}
_SETTINGS, _USED = "settings", "used"
_COUNTS = ("inputTokens", "outputTokens", "cacheReadTokens", "")


def _matches(document: Document) -> bool:
    return any(value.get("type") == "session_start" and "id" in value for value in document.objects)


def _companions(path: str) -> tuple[str, ...]:
    return (f"{PurePosixPath(path).stem}.settings.json",) if "/.factory/" in path and path.endswith(".jsonl") else ()


def _records(document: Document) -> Records:
    """Returns the settings, and the lines, of which the last answer follows the usage of the last request."""
    settings = [as_object(companion.value) for companion in document.companions]
    used = [as_object(one.get("lastCallTokenUsage")) for one in settings]
    answers = [at for at, line in enumerate(document.lines) if _role(line.value or {}) == "assistant"]
    last = answers[-1] if answers else 0
    return Records(
        lines=(
            *(Line(number=1, value={"type": _SETTINGS, "model": one.get("model")}) for one in settings),
            *document.lines[:last],
            *(Line(number=1, value={"type": _USED} | one) for one in used),
            *document.lines[last:],
        )
    )


def _role(value: JsonObject) -> str:
    return as_text(as_object(value.get("message")).get("role"))


class DroidReader(RecordReader):
    """Reads the lines of one session of Droid. Each line is complete. A usage may be written a moment before its
    answer: it is that of the next line if this is an answer, else that of the last answer, if that has none yet or no
    other line has come since: what was read with it may have been the usage before."""

    def _begin(self) -> None:
        self._said: list[str] = []
        # The last answer, and whether its usage is known; "" if a later usage can't be its own.
        self._answer, self._is_known = "", False
        self._used: Usage = Usage()
        self._reported: Usage = self._used

    def _read(self, value: JsonObject, number: int) -> None:
        kind = as_text(value.get("type"))
        if kind == _USED:
            used = usage_beside(value, *_COUNTS)
            self._used = used if used.prompt else self._used
            return
        if kind == _SETTINGS:
            self._builder.use_model(as_text(value.get("model")))
            return
        if _role(value) != "assistant":
            self._report()
            self._answer = "" if self._is_known else self._answer
        if kind == "message":
            self._take_message(value, number)
        elif kind == "compaction_state":
            self._take_compaction(value)
        elif kind == "session_start":
            self._take_facts(value, number)
        else:
            self._builder.skip(number, f"{kind or 'unknown'} line", expected=kind in _OWN_LINES)

    def _take_facts(self, value: JsonObject, number: int) -> None:
        self._builder.agent = "Droid"
        # Older files have the number of the format here.
        self._builder.version = as_text(value.get("version"))
        self._builder.session_id = as_text(value.get("id"))
        self._builder.title = as_text(value.get("sessionTitle")) or as_text(value.get("title"))
        self._builder.cwd = as_text(value.get("cwd"))
        self._builder.skip(number, "session_start line", expected=True)

    def _take_message(self, value: JsonObject, number: int) -> None:
        message = as_object(value.get("message"))
        if as_text(message.get("visibility")) == "user_only":
            self._builder.skip(number, "shown to the user and not sent to the model", expected=True)
            return
        answer = message.get("role") == "assistant"
        if answer:
            self._builder.use_model(as_text(message.get("modelId")))
        role = Role.ASSISTANT if answer else Role.SYSTEM if message.get("role") == "system" else Role.USER
        content = read_blocks(message.get("content"))
        added = self._builder.add(role, content, as_text(value.get("id")), as_timestamp(value.get("timestamp")))
        self._said.append(added)
        if answer:
            self._answer, self._is_known = added, False
            self._report()

    def _report(self) -> None:
        if self._answer and self._used != self._reported:
            # Of what was paid the agent keeps only the sum of all requests.
            self._builder.report(self._used, self._answer, is_copied=True)
            self._reported, self._is_known = self._used, True

    _flush = _report

    def _take_compaction(self, value: JsonObject) -> None:
        """Adds a compaction of the first `removedCount` messages, or of all if the line has no such count."""
        removed = as_count(value.get("removedCount")) or len(self._said)
        self._builder.compact(
            as_text(value.get("summaryText")) or as_text(as_object(value.get("summary")).get("body")),
            as_text(value.get("id")),
            as_timestamp(value.get("timestamp")),
            kept=self._said[removed:],
        )


FORMAT = incremental(NAME, _matches, DroidReader, _records)

STREAM_NAME = "droid-stream"
_STREAM_OWN_LINES = {"system", "error", "reasoning_start", "reasoning_end"}


def matches_stream(document: Document) -> bool:
    """Returns whether any line is a tool call or the end of a run in the shape of Droid's `stream-json` output."""
    return any(
        (value.get("type") == "completion" and "finalText" in value)
        or (value.get("type") == "tool_call" and "toolName" in value and "parameters" in value)
        for value in document.objects
    )


class DroidStreamReader(PieceRecordReader):
    """Reads the lines of one run of `droid exec`. The pieces of a message are held back until another message
    begins."""

    def _begin(self) -> None:
        self._called = False
        self._said = ""

    def _read(self, value: JsonObject, number: int) -> None:
        time = as_timestamp(value.get("timestamp"))
        known = as_text(value.get("session_id")) or as_text(value.get("sessionId"))
        self._builder.session_id = known or self._builder.session_id
        match value.get("type"):
            case "message":
                self._take_message(value, time)
            case "tool_call":
                self._called = True
                given = read_arguments(value.get("parameters"))
                self._pieces.call(as_text(value.get("toolName")), given, _call_id(value), time=time)
            case "tool_result":
                failed = value.get("isError") is True
                self._pieces.result([text_block(value.get("value"))], _call_id(value), failed=failed, time=time)
            case "completion":
                self._take_end(value, time)
            case _:
                kind = as_text(value.get("type"))
                self._builder.agent = "Droid"
                self._builder.use_model(as_text(value.get("model")))
                self._builder.cwd = self._builder.cwd or as_text(value.get("cwd"))
                self._builder.skip(number, f"{kind or 'unknown'} line", expected=kind in _STREAM_OWN_LINES)

    def _take_message(self, value: JsonObject, time: int) -> None:
        text = as_text(value.get("text"))
        if value.get("role") == "assistant":
            self._said = text
            self._pieces.piece(Role.ASSISTANT, [TextBlock(text=text)], as_text(value.get("id")), time)
        else:
            self._pieces.say(Role.USER, [TextBlock(text=text)], as_text(value.get("id")), time)

    def _take_end(self, value: JsonObject, time: int) -> None:
        text = as_text(value.get("finalText"))
        if text and text != self._said:
            self._pieces.piece(Role.ASSISTANT, [TextBlock(text=text)], as_text(value.get("id")), time)
        self._pieces.end()
        # Only the usage of a single request is that of the context.
        if not self._called and self._pieces.last_answer:
            self._builder.report(convert_usage(as_object(value.get("usage"))), self._pieces.last_answer, time)


def _call_id(value: JsonObject) -> str:
    return as_text(value.get("toolCallId")) or as_text(value.get("id"))


STREAM_FORMAT = incremental(STREAM_NAME, matches_stream, DroidStreamReader)

AGENT = Agent(
    name="Droid",
    formats=(FORMAT, STREAM_FORMAT),
    companions=_companions,
    reports_beside=True,
    sessions=Sessions(patterns=_PATTERNS, title_of=_title_of, facts=_facts_of),
    own_context=OwnContext(threshold=_threshold),
    own_settings=SETTINGS,
)
