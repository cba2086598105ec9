"""What Ullage knows about Hermes Agent: where its sessions are, how they are read, its settings, and where it compacts.

Sessions are rows of one database (`state.db`), or are exported as JSON; messages have the shape of OpenAI's chat API.
An answer is written before its tools run. `/undo` marks rows (`active` is 0), and a compaction all of them
(`compacted` is 1, too): then come copies of the first messages, the summary, and copies of the last messages, as rows
with ids of their own. The summary may be at the end of the first of these last. With `compression.in_place: false` a
compaction begins another session instead, which names the first as its parent. So do branches and sub-agents, with a
mark in `model_config`. Tokens are sums of all requests of a session.

Seen with 0.19.0 and a model that was played; the settings are also read in its source (`agent/context_compressor.py`).
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from ullage.agents.agent import Agent, Facts, Sessions, common_facts, last_text
from ullage.agents.inserted import HERMES_COMPACTED
from ullage.agents.machine import Machine
from ullage.agents.own_context import (
    OwnContext,
    OwnSettings,
    Reading,
    Rule,
    Setup,
    Threshold,
    inner,
    number,
    switch,
    switched_off,
)
from ullage.agents.record_reader import RecordReader
from ullage.formats.parsing import Document, as_count, as_timestamp, to_json, usage_beside
from ullage.formats.transcripts.builder import kept_place
from ullage.formats.transcripts.chat import ChatReader, read_functions, read_parts, result_block
from ullage.formats.transcripts.format import (
    ListedConversation,
    Records,
    choose,
    incremental,
    parsed,
    records_of,
    rows_of,
)
from ullage.model.json_values import JsonObject, as_list, as_object, as_objects, as_text
from ullage.model.message import Role, TextBlock, join_texts


def _home(machine: Machine) -> str:
    windows = machine.system == "win32"
    default = f"{machine.folder('LOCALAPPDATA', 'AppData/Local')}/hermes" if windows else f"{machine.home}/.hermes"
    return machine.folder("HERMES_HOME", "") if machine.variables.get("HERMES_HOME") else default


def _patterns(machine: Machine) -> tuple[str, ...]:
    return (f"{_home(machine)}/state.db", f"{_home(machine)}/profiles/*/state.db")


def _facts_of(path: str, records: Sequence[JsonObject]) -> Facts:
    """Returns the facts of a session. Its row has no time of its last change: not every one that ends says so."""
    facts = common_facts(path, records)
    row = as_object(next((record.get("row") for record in records if "row" in record), None))
    is_side, began = _is_delegated(row), as_timestamp(row.get("started_at"))
    return replace(facts, cwd=_folder(row), is_side=is_side, parent=facts.parent if is_side else "", updated_at=began)


def _title_of(records: Sequence[JsonObject]) -> str:
    return last_text((as_object(record.get("row", record)) for record in records), "title")


NAME = "hermes"
TABLES = ("sessions", "messages")
_NEWEST = "messages", "timestamp"
_FACTS = "facts"
# How a column with a list of parts begins.
_PARTS = "\0json:"
_FOLDER = re.compile(r"^Current working directory: (.+)$", re.MULTILINE)
# Records that are no messages: a compaction, and that the user went back.
_SUMMARY, _BACK = "summary", "back"
# Fields of the records.
_TIME, _SIZE, _ENDED = "timestamp", "size", "finish_reason"
# Around the message at whose end a summary is.
_BEFORE, _AFTER = "[PRIOR CONTEXT", "[END OF PRIOR CONTEXT — COMPACTION SUMMARY BELOW]"
# Characters of a token, as Hermes itself reckons.
_CHARACTERS = 4
# Seconds in which a compaction writes all of its rows. Each has the time a microsecond after the last one's.
_AT_ONCE = 0.01
# Messages at the beginning that a compaction may keep. It keeps 3 by default, and the results of their calls.
_MOST_FIRST = 50


def _matches(document: Document) -> bool:
    if any({"tool_call_id", "compacted", "session_id"} <= row.keys() for row in rows_of(document, "messages")):
        return True
    if any({"parent_session_id", "api_call_count"} <= row.keys() for row in rows_of(document, "sessions")):
        return True
    session = as_object(document.value)
    is_saved = isinstance(session.get("messages"), list) and {"session_id", "platform", "session_start"} <= set(session)
    return is_saved or bool(_exported(document))


def _exported(document: Document) -> Sequence[JsonObject]:
    """Returns the rows of the sessions that `hermes sessions export` wrote, one a line, with those of their messages
    in them. Only messages of the context are there."""
    values = document.objects if document.value is None else (as_object(document.value),)
    return values if values and {"source", "messages", "api_call_count"} <= values[0].keys() else ()


def _records(document: Document) -> Records:
    """Returns a record with the session's facts, then one per message, compaction or going back. `document.run` chooses
    a session of a database, by default the newest that is not a sub-agent's; the others are listed as skipped."""
    exported = _exported(document)
    if document.value is not None and not exported:
        session = as_object(document.value)
        facts: JsonObject = {_FACTS: {key: value for key, value in session.items() if key != "messages"}}
        return records_of([facts, *as_objects(session.get("messages"))])
    sessions = exported or rows_of(document, "sessions")
    rows = [row for one in exported for row in as_objects(one.get("messages"))] or rows_of(document, "messages")
    sizes = Counter(as_text(row.get("session_id")) for row in rows)
    newest = {as_text(row.get("session_id")): as_timestamp(row.get("timestamp")) for row in rows}
    found = [
        ListedConversation(
            id=as_text(row.get("id")),
            title=as_text(row.get("title")),
            updated=newest.get(as_text(row.get("id")), 0) or as_timestamp(row.get("started_at")),
            messages=sizes[as_text(row.get("id"))],
            is_child=_is_delegated(row),
        )
        for row in sessions
    ]
    chosen, others = choose(found, document)
    session = sessions[chosen] if sessions else {}
    own = sorted(
        (row for row in rows if row.get("session_id") == session.get("id")), key=lambda row: as_count(row.get("id"))
    )
    return records_of(
        [{_FACTS: session}, *_steps([*map(_Row, own)], is_continued=bool(exported) or _is_continued(session))], others
    )


def _is_delegated(row: JsonObject) -> bool:
    return row.get("source") == "subagent" or "_delegate_from" in as_object(parsed(row.get("model_config")))


def _folder(row: JsonObject) -> str:
    """Returns the folder of a session. The row of a branch does not say it, but its system prompt does."""
    named = as_text(row.get("cwd")) or as_text(as_object(parsed(row.get("model_config"))).get("cwd"))
    found = None if named else _FOLDER.search(as_text(row.get("system_prompt")))
    return found[1] if found else named


def _is_continued(row: JsonObject) -> bool:
    """Returns whether a session began with another one's compaction."""
    is_branch = "_branched_from" in as_object(parsed(row.get("model_config")))
    return bool(row.get("parent_session_id")) and not is_branch and not _is_delegated(row)


class _Row:
    """A message's row. Its `key` is also that of its copies; only a result may be another one in these. `summary` is
    the summary that the message is. If it has one at its end (`is_joined`), the key is that of the message alone."""

    def __init__(self, row: JsonObject) -> None:
        content = row.get("content") or ""
        if isinstance(content, str) and content.startswith(_PARTS):
            content = parsed(content.removeprefix(_PARTS))
        text = join_texts(read_parts(content))
        before, joint, after = text.partition(_AFTER)
        self.is_joined = bool(joint) and text.startswith(_BEFORE)
        self.summary = after.strip() if self.is_joined else text if text.startswith(HERMES_COMPACTED) else ""
        self.is_undone = row.get("active") == 0 and not row.get("compacted")
        own = before.partition("\n")[2].strip() if self.is_joined else text.strip()
        calls, answered = parsed(row.get("tool_calls")), as_text(row.get("tool_call_id"))
        self.key = row.get("role"), answered or own, tuple(as_text(call.get("id")) for call in as_objects(calls))
        self.id, self.time = str(row.get("id")), row.get("timestamp") or 0
        self.record: JsonObject = {
            "id": self.id,
            "role": row.get("role"),
            "content": content,
            "tool_call_id": answered,
            "tool_calls": calls,
            "reasoning_content": row.get("reasoning_content") or row.get("reasoning"),
            _TIME: row.get("timestamp"),
            _SIZE: len(text) + len(to_json(calls) if calls else ""),
            # An answer that was broken off, or copied into a branch, has none.
            _ENDED: row.get("finish_reason"),
        }


def _steps(rows: Sequence[_Row], *, is_continued: bool) -> Iterator[JsonObject]:
    """Yields a record per message that is no copy, one per compaction, and one where the user went back to a place.
    `is_continued` says that the session began with another one's compaction."""
    # The context without what was undone, and the place of the last message of it.
    live: list[_Row] = []
    tip, begin, is_back = "", 0, False
    for end in (*(place for place, row in enumerate(rows) if row.summary), len(rows)):
        new, is_end = rows[begin:end], end == len(rows)
        count = 0 if is_end else _copied(live, new, rows[end].time)
        for row in new[: len(new) - count]:
            if is_back and not row.is_undone:
                yield {_BACK: tip}
            yield row.record
            is_back = row.is_undone
            if not is_back:
                tip = row.id
                live.append(row)
        if is_back:
            yield {_BACK: tip}
            is_back = False
        if is_end:
            return
        own, is_first = rows[end], not begin
        head = live if is_continued and is_first else live[:count]
        copies = [*(head if head is live else new[len(new) - count :]), *rows[end + (not own.is_joined) :]]
        tail = _kept(live[len(head) :], copies[len(head) :], own.time)
        kept = [*head, *tail]
        changed = [
            copy.record | {"id": row.id}
            for row, copy in zip(kept, copies, strict=False)
            if row.key[1] == row.record["tool_call_id"] != "" and row.record["content"] != copy.record["content"]
        ]
        ids = {"leading": [row.id for row in head], "kept": [row.id for row in tail], "changed": changed}
        yield {_SUMMARY: own.summary, "id": f"{own.id}-summary", _TIME: own.record[_TIME], **ids}
        begin, tip = end + len(tail) + (not own.is_joined), f"{own.id}-summary"
        live = []
        for row, copy in zip(kept, copies, strict=False):
            is_back = copy.is_undone
            if not is_back:
                tip = kept_place(f"{own.id}-summary", row.id)
                live.append(row)


def _copied(live: Sequence[_Row], new: Sequence[_Row], time: float) -> int:
    """Returns how many of the new rows, at their end, are copies of the first messages of the context, made at this
    time."""
    for count in range(min(len(new), _MOST_FIRST), 0, -1):
        context = [*live, *(row for row in new[: len(new) - count] if not row.is_undone)][:count]
        if len(context) == count and _are_copies(new[len(new) - count :], context, time):
            return count
    return 0


def _kept(live: Sequence[_Row], rows: Sequence[_Row], time: float) -> Sequence[_Row]:
    """Returns the last messages of the context of which the first rows are copies, made at this time."""
    for at in (at for at, row in enumerate(live) if rows and row.key == rows[0].key):
        if len(live) - at <= len(rows) and _are_copies(rows, live[at:], time):
            return live[at:]
    return ()


def _are_copies(rows: Sequence[_Row], live: Sequence[_Row], time: float) -> bool:
    """Returns whether these rows are copies of messages, made at this time. Of those that a session resumed with, they
    have the messages' own times."""
    return all(
        row.key == one.key and (row.time == one.time or abs(row.time - time) < _AT_ONCE)
        for row, one in zip(rows, live, strict=False)
    )


class HermesReader(RecordReader):
    """Reads one session of Hermes Agent. Each record is a complete message, so no event is held back."""

    agent = "Hermes"

    def _begin(self) -> None:
        self._chat = ChatReader(self._builder)
        self._prompt: tuple[str, str] = "", ""
        self._session: JsonObject = {}
        self._answer = ""
        # Characters: of each message, of the context at each place, and of the contexts of all requests.
        self._sizes: dict[str, int] = {}
        self._contexts: dict[str, int] = {}
        self._requests = self._sum = 0

    def _read(self, value: JsonObject, number: int) -> None:
        builder, time, before = self._builder, as_timestamp(value.get(_TIME)), self._builder.tip
        if _FACTS in value:
            self._take_facts(as_object(value[_FACTS]))
        elif _BACK in value:
            builder.rewind(as_text(value[_BACK]), time)
        elif _SUMMARY in value:
            self._compact(value, time)
        elif added := self._chat.add(value, time):
            self._take_size(value, before, added)
        else:
            role = as_text(value.get("role"))
            builder.skip(number, f"message of role {role!r}", expected=role == "session_meta")

    def is_complete(self) -> bool:
        """Returns True: only complete messages are in the database."""
        return True

    def _flush(self) -> None:
        """Adds the usage of the only request. Of several there is only the sum, so the context is estimated: it differs
        from the mean of these as its text does from the mean of theirs."""
        usage = usage_beside(self._session, "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
        requests = as_count(self._session.get("api_call_count"))
        if requests == 1 and self._answer:
            self._builder.report_late(usage, self._answer)
        elif requests and self._requests:
            more = self._contexts.get(self._builder.tip, 0) - self._sum / self._requests
            self._builder.estimate(max(1, int(usage.prompt / requests + more / _CHARACTERS)))

    def _compact(self, value: JsonObject, time: int) -> None:
        builder, summary = self._builder, as_text(value[_SUMMARY])
        for copy in as_objects(value.get("changed")):
            content = [result_block(copy.get("tool_call_id"), read_parts(copy.get("content")))]
            builder.exchange(as_text(copy.get("id")), Role.USER, content, time)
            self._sizes[as_text(copy.get("id"))] = as_count(copy.get(_SIZE))
        leading, kept = ([*map(as_text, as_list(value.get(name)))] for name in ("leading", "kept"))
        edit = builder.compact(summary, as_text(value.get("id")), time, leading=leading, kept=kept)
        size = self._contexts[edit] = len(summary)
        for message in (*leading, *kept):
            size = self._contexts[kept_place(edit, message)] = size + self._sizes.get(message, 0)
        self._answer = ""

    def _take_size(self, value: JsonObject, place: str, added: str) -> None:
        """Counts a message that was added after a place, and the context of the request that it answers."""
        before, size = self._contexts.get(place, 0), as_count(value.get(_SIZE))
        self._sizes[added], self._contexts[added] = size, before + size
        if value.get("role") == "assistant":
            self._answer = added
            if value.get(_ENDED):
                self._requests, self._sum = self._requests + 1, self._sum + before

    def _take_facts(self, facts: JsonObject) -> None:
        self._session = facts
        builder = self._builder
        builder.session_id = as_text(facts.get("session_id")) or as_text(facts.get("id"))
        builder.parent = as_text(facts.get("parent_session_id"))
        builder.is_sub_agent = _is_delegated(facts)
        builder.title = as_text(facts.get("title"))
        builder.cwd = _folder(facts)
        builder.use_model(as_text(facts.get("model")))
        tools = [
            tool | as_object(tool.get("function")) | {"function": None, "parameters": tool.get("input_schema")}
            for tool in as_objects(facts.get("tools"))
        ]
        builder.declare(read_functions(tools))
        prompt_id, before = self._prompt
        if (prompt := as_text(facts.get("system_prompt"))) and prompt != before:
            content = (TextBlock(text=prompt),)
            if prompt_id:
                builder.exchange(prompt_id, Role.SYSTEM, content)
            self._prompt = prompt_id or builder.add(Role.SYSTEM, content), prompt


FORMAT = replace(incremental(NAME, _matches, HermesReader, _records), is_complete=HermesReader.is_complete)

_SWITCH, _SHARE = "enabled", "threshold"


def _files(machine: Machine) -> tuple[str, ...]:
    return (f"{_home(machine)}/config.yaml",)


def _read(reading: Reading) -> None:
    for file in reading.files:
        off, model = switch(inner(file, "compression", _SWITCH)), as_object(file.get("model"))
        if off is not None:
            reading.take("automatic", "compression.enabled", off)
        reading.take("share", "compression.threshold", number(inner(file, "compression", _SHARE)))
        if reading.model and model.get("default") == reading.model:
            reading.size("model_window", "model.context_length", model.get("context_length"))
        reading.size("max_output", "model.max_tokens", model.get("max_tokens"))
    reading.size("max_output", "HERMES_MAX_TOKENS", reading.variables.get("HERMES_MAX_TOKENS"))


# Those that are known and left out say what is kept, and how the summary is made.
SETTINGS = OwnSettings(
    files=_files,
    read=_read,
    known=frozenset(
        {
            *(_SWITCH, _SHARE, "target_ratio", "protect_last_n", "protect_first_n", "hygiene_hard_message_limit"),
            *("abort_on_summary_failure", "codex_gpt55_autoraise", "codex_gpt55_autoraise_notice", "in_place"),
            "codex_app_server_auto",
        }
    ),
    servers="mcp_servers",
)

_SHARE_ALONE, _SMALL_WINDOW, _SHARE_OF_SMALL, _LEAST, _SHARE_OF_LEAST = 0.5, 512_000, 0.75, 64_000, 0.85


def _threshold(setup: Setup) -> Threshold:
    given = setup.given
    if given.automatic is False:
        return switched_off(given)
    chosen = _SHARE_ALONE if given.share is None else given.share
    part = max(chosen, _SHARE_OF_SMALL) if setup.window < _SMALL_WINDOW else chosen
    within = setup.window - (given.max_output or 0)
    within, of = (within, " before the answer") if 0 < within < setup.window else (setup.window, "")
    tokens, basis = int(within * part), f"{part:.0%} of the window{of}"
    if tokens < _LEAST:
        tokens, basis = _LEAST, f"at least {_LEAST:,} tokens"
    if tokens >= within:
        tokens, basis = int(within * _SHARE_OF_LEAST), f"{_SHARE_OF_LEAST:.0%} of the window{of}"
    name = given.name("share")
    took = part == chosen and int(within * part) == tokens
    return Rule(tokens=tokens, basis=basis, setting=name if took else "", ignored="" if took else name)


AGENT = Agent(
    name="Hermes",
    formats=(FORMAT,),
    sessions=Sessions(patterns=_patterns, title_of=_title_of, facts=_facts_of, table="sessions", newest=_NEWEST),
    session_variable="HERMES_SESSION_ID",
    tables=TABLES,
    own_context=OwnContext(threshold=_threshold),
    own_settings=SETTINGS,
)
