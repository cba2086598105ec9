"""What the tools `ullage_search`, `ullage_open` and `ullage_lost` answer: a model finds messages of its conversation,
reads them in pages by their references (`#80-90`), and sees what a compaction left out.

`ullage_context` says how full the context is, how that is known, and which messages fill it. A team's archive is
searched and read in the same way. A result has at most 4 KB.
"""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Container, Iterable, Iterator, Mapping, Sequence
from heapq import nlargest
from itertools import groupby, islice
from typing import Any

import msgspec
from msgspec import Struct

from ullage.agents.discovery import is_in
from ullage.agents.inserted import speaker_of
from ullage.api.protocol import context_text, usage_result
from ullage.jsonrpc.envelope import INVALID_PARAMS, RpcError
from ullage.lost import LONGEST
from ullage.lost.left_out import LeftOut, characters, left_out, write_brief
from ullage.mcp.tool_table import (
    PREFIX,
    TOOLS,
    CallToolParams,
    CallToolResult,
    ContextInput,
    LostInput,
    OpenInput,
    SearchInput,
)
from ullage.model.errors import InvalidRequest, MessageNotFound, SessionNotFound, UllageError
from ullage.model.json_values import encode_json
from ullage.model.message import Block, TextBlock, ToolResultBlock, ToolUseBlock, number_of
from ullage.model.updates import TextContent, UsageMeta
from ullage.model.usage import UsageSource
from ullage.model.words import good_moment, next_prompt, rate_limits
from ullage.redaction.clean import HISTORY, RECORD, clean, cut, one_line, quoted, size_of
from ullage.service.archive.search import block_lines, find_entry, message_lines, search
from ullage.service.conversation.conversation import Conversation, Entry, read_entries, view_page
from ullage.service.conversation.workspace import Workspace
from ullage.service.ports.store import COPY_PREFIX, ReadsTeam, SearchHit, TeamHit

# The most UTF-8 bytes of a result: about 1,000 tokens, so that looking something up cannot fill the room that a
# compaction has made.
MAX_RESULT = 4_096


def fits(lines: Iterable[str], room: int = MAX_RESULT) -> bool:
    """Returns whether the lines, each with a line break, have at most `room` UTF-8 bytes together."""
    return sum(map(size_of, lines)) <= room


class Asked(Struct, frozen=True, kw_only=True):
    """What a tool looks things up in: `own`, the model's conversation, up to date, and the others of its project.
    `folder` is the folder that the agent works in."""

    own: Conversation
    folder: str
    workspace: Workspace


# Messages that one stretch may have. More is a transcript, which no model needs in its context.
LONGEST_STRETCH = 50
_FORM = re.compile(
    r"(?P<session>[\w.:-]{1,128})?#(?P<first>[0-9]{1,9})(?:\s*[-–]\s*#?(?P<last>[0-9]{1,9}))?|(?P<bare>[0-9]{1,9})"
)
_SHOWN = 40


class Reference(Struct, frozen=True, kw_only=True):
    """A stretch of messages, `first` to `last`, numbered from 1. `session` is the session's id or the beginning of it,
    "" for the model's own conversation."""

    session: str
    first: int
    last: int


def read_reference(text: str) -> Reference:
    """Returns what a reference means. Raises `InvalidRequest` for another form, or not 1 to 50 messages."""
    match = _FORM.fullmatch(text.strip())
    if match is None:
        raise InvalidRequest(
            f"open: {text[:_SHOWN]!r} is no reference. Give one as `ullage_search` shows it: #85, #80-90, or with a "
            "session s_0198c2#85"
        )
    first = int(match["first"] or match["bare"])
    last = int(match["last"] or first)
    if not 1 <= first <= last:
        raise InvalidRequest(f"open: #{first}-{last} is empty: messages are numbered from #1 on, the first comes first")
    if last - first >= LONGEST_STRETCH:
        raise InvalidRequest(
            f"open: a stretch has at most {LONGEST_STRETCH} messages; open #{first}-{first + LONGEST_STRETCH - 1} first"
        )
    return Reference(session=match["session"] or "", first=first, last=last)


def reference_of(index: int, session: str = "") -> str:
    """Returns the reference of the message at `index` of a session, "" for the model's own conversation."""
    return f"{session}#{number_of(index)}"


# Bytes of a page, so that the lines around the quotation fit, too.
_PAGE = MAX_RESULT - 400
# Bytes that come with a head: a line break before it, and what may end it.
_AROUND_HEAD = len("\n, continued:")


class _Line(Struct, frozen=True):
    """A line of a stretch: which message it belongs to, and its text, quoted."""

    index: int
    text: str


def shown_page(reference: str, heads: Mapping[int, str], texts: Mapping[int, str], page: int) -> str:
    """Returns a page of the messages with these texts, by index, each under its head. `reference` is what the model has
    asked for, and asks for again to have the next page. Raises `InvalidRequest` if there is no such page."""
    pages = [*_pages(heads, [*_lines(texts)])]
    if page > len(pages):
        raise InvalidRequest(f"open: {reference.strip()[:40]} has {len(pages)} pages; there is no page {page}")
    begun = {line.index for earlier in pages[: page - 1] for line in earlier}
    body: list[str] = []
    for index, lines in groupby(pages[page - 1], key=lambda line: line.index):
        body += ["", heads[index] + (", continued:" if index in begun else ":"), *(line.text for line in lines)]
    more = f' Next: ullage_open with ref "{reference.strip()}" and page {page + 1}.' if page < len(pages) else ""
    return "\n".join([HISTORY, *body, "", f"Page {page} of {len(pages)}.{more}"])


def _lines(texts: Mapping[int, str]) -> Iterator[_Line]:
    for index, text in texts.items():
        for line in quoted(text) or ["(nothing that can be shown as text)"]:
            yield _Line(index, line)


def _pages(heads: Mapping[int, str], lines: Sequence[_Line]) -> Iterator[list[_Line]]:
    """Divides the lines into pages that fit. A message that begins on a page also needs room for its head."""
    page: list[_Line] = []
    room = _PAGE
    for line in lines:
        whole_head = size_of(heads[line.index]) + _AROUND_HEAD
        head = 0 if page and page[-1].index == line.index else whole_head
        if page and size_of(line.text) + head > room:
            yield page
            page, room, head = [], _PAGE, whole_head
        page.append(line)
        room -= size_of(line.text) + head
    yield page


# Characters of a passage before the place that matches.
_BEFORE = 160
# Characters of the beginning and of the end of a result. What a file is shows its beginning, how a command ended shows
# its end.
_BEGINS, _ENDS = 80, 110
_RESULTS = 2
_MATCH = re.compile(r"\*\*(.+?)\*\*", re.DOTALL)


def passage(entry: Entry, snippet: str, length: int) -> Iterator[str]:
    """Yields lines of a quotation: at most `length` characters of a message around the match in `snippet`."""
    yield from quoted(around("\n".join(message_lines(entry.message)), snippet, length))


def around(text: str, snippet: str, length: int) -> str:
    """Returns a text around the match that a search hit's `snippet` marks, at most `length` characters of it."""
    # The whole text is cleaned before the passage is cut: half a key is not known as a key.
    text = clean(text)
    start = max(0, _place(text, snippet) - min(_BEFORE, length // 3))
    start = text.rfind("\n", 0, start) + 1 if text.rfind("\n", 0, start) >= start - _BEFORE else start
    return text[start : start + length]


def results_of(conversation: Conversation, entry: Entry, shown: Container[str]) -> Iterator[str]:
    """Yields how the results of the tools begin and end that a message calls, as lines of a quotation: of two results
    at most. Yields nothing if it calls none, if the next message has no result, or if its id is one of `shown`."""
    calls = {block.id for block in entry.message.content if isinstance(block, ToolUseBlock)}
    if not calls or entry.index + 1 >= conversation.transcript.messages:
        return
    (after,) = read_entries(conversation, entry.index + 1, entry.index + 2)
    if after.message.id in shown:
        return
    blocks = (block for block in after.message.content if isinstance(block, ToolResultBlock))
    for block in islice((block for block in blocks if block.tool_use_id in calls), _RESULTS):
        text = " ".join(clean("\n".join(block_lines(block))).split())
        whole = len(text) <= _BEGINS + _ENDS + 3
        yield from quoted(text if whole else f"{text[:_BEGINS]} … {text[-_ENDS:]}")


def _place(text: str, snippet: str) -> int:
    """Returns where in a message's text the passage of a search hit begins, 0 if it isn't found. The text may be
    cleaned, so the words around the match need not be there."""
    marked = _MATCH.search(snippet)
    if marked is None:
        return 0
    before, after = snippet[: marked.start()].rpartition("\n")[2][-20:], snippet[marked.end() :].partition("\n")[0][:20]
    for wanted in (f"{before}{marked[1]}{after.partition('**')[0]}", marked[1]):
        if (place := text.lower().find(wanted.lower())) >= 0:
            return place
    return 0


# Characters of a passage, of the best hits and of the others: so most results have room for all that are asked for.
_BEST_HITS, _BEST, _OTHERS = 3, 480, 240
# Hits of all sessions among which those of one project are looked for.
_LOOKED_AT = 200
# Hits among which those are left out that are earlier calls of these tools: more than a conversation makes of a query.
_ECHOES = 20
# What comes before a tool's own name: our prefix, and that of the agent (`mcp__ullage__ullage_search`).
_SERVER = re.compile(r"\w*ullage\w*?[_.:/-]+", re.IGNORECASE)
# The names of each tool's arguments.
OwnTools = Mapping[str, frozenset[str]]


async def search_text(asked: Asked, query: str, limit: int, own: OwnTools, *, whole_project: bool) -> str:
    """Returns the passages that match `query` best, each with its reference: from the model's own conversation, or from
    all stored ones of its project. If none fits the query, returns the references alone: a model takes what it reads
    for evidence. Earlier calls of the tools `own` are left out. Raises `InvalidRequest` if the query has no word."""
    session_id, most = (None, _LOOKED_AT) if whole_project else (asked.own.id, limit + _ECHOES)
    found = await search(asked.own.workspace, session_id, query, most)
    matches = _project_hits(asked, found.hits) if whole_project else found.hits
    hits = [*islice((hit for hit in matches if not _is_echo(asked, hit, own)), limit)]
    note = f" {found.note}" if found.note else ""
    where = "the stored conversations of this project" if whole_project else "this conversation"
    if not any(hit.fits for hit in hits):
        wider = "" if whole_project else ', or scope "project"'
        lacks = (
            f"Nothing in {where} {'has most of the words together, so there may be no answer' if hits else 'matches'}."
        )
        nearest = f" The nearest: {', '.join(_references(asked, hits[:_BEST_HITS]))}." if hits else ""
        return f"{lacks} Try names as they stood, other words{wider}.{note}{nearest}"
    lines = [RECORD, f"The best matches in {where}, the best first.{note}"]
    last = "A whole message: ullage_open with its reference."
    room = MAX_RESULT - sum(map(size_of, lines)) - size_of(last) - 100
    shown = 0
    ids = {hit.message_id for hit in hits}
    for hit in hits:
        shows = ["", *_hit_lines(asked, hit, ids, _BEST if shown < _BEST_HITS else _OTHERS)]
        room -= sum(map(size_of, shows))
        if room < 0:
            break
        lines += shows
        shown += 1
    left = f"{len(hits) - shown} more did not fit here. " if shown < len(hits) else ""
    return "\n".join([*lines, "", left + last])


def open_text(asked: Asked, text: str, page: int) -> str:
    """Returns a page of the messages meant. Raises `InvalidRequest`, `SessionNotFound` or `MessageNotFound`."""
    reference = read_reference(text)
    conversation = _session_of(asked, reference)
    total = conversation.transcript.messages
    if reference.first > total:
        raise MessageNotFound(f"open: there is no #{reference.first}: the messages are #1 to #{total}")
    entries = read_entries(conversation, reference.first - 1, min(reference.last, total))
    heads = {entry.index: _head(entry, _shown_id(asked.own, conversation.id)) for entry in entries}
    texts = {entry.index: "\n".join(message_lines(entry.message)) for entry in entries}
    return shown_page(text, heads, texts, page)


def _project_hits(asked: Asked, hits: Sequence[SearchHit]) -> Iterator[SearchHit]:
    own = asked.own
    store = own.workspace.ports.store
    known = {session_id: store.info(session_id).cwd for session_id in {hit.session_id for hit in hits}}
    return (hit for hit in hits if hit.session_id == own.id or _is_of_project(asked, known[hit.session_id]))


def _is_echo(asked: Asked, hit: SearchHit, own: OwnTools) -> bool:
    """Returns whether a message has nothing but calls of these tools, or results of such calls. An agent writes a call
    to its record before the tool runs, so a search would find its own query first, and later ones what earlier results
    have quoted."""
    message = find_entry(_open(asked, hit.session_id), hit.message_id).message
    return bool(message.content) and all(_is_ours(block, own) for block in message.content)


def _is_ours(block: Block, own: OwnTools) -> bool:
    match block:
        case ToolUseBlock(name=name, input=given):
            # An agent may have another tool of the same name, whose arguments are others.
            fields = own.get(_SERVER.sub("", name, count=1))
            return fields is not None and fields >= given.keys()
        case ToolResultBlock(content=parts):
            return any(isinstance(part, TextBlock) and (RECORD in part.text or HISTORY in part.text) for part in parts)
        case _:
            return False


def _hit_lines(asked: Asked, hit: SearchHit, shown: Container[str], length: int) -> Iterator[str]:
    conversation = _open(asked, hit.session_id)
    entry = find_entry(conversation, hit.message_id)
    yield f"{_head(entry, _shown_id(asked.own, hit.session_id))}:"
    yield from passage(entry, hit.snippet, length)
    yield from results_of(conversation, entry, shown)


def _references(asked: Asked, hits: Sequence[SearchHit]) -> Iterator[str]:
    for hit in hits:
        entry = find_entry(_open(asked, hit.session_id), hit.message_id)
        yield cut(reference_of(entry.index, _shown_id(asked.own, hit.session_id)), 200)


def _session_of(asked: Asked, reference: Reference) -> Conversation:
    """Returns the session of a reference, only of the model's own project. Raises `SessionNotFound`."""
    own, name = asked.own, reference.session
    if not name or name == own.id:
        return own
    store = own.workspace.ports.store
    ids = store.find_ids(name, 2)
    if len(ids) == 1 or name in ids:
        session_id = name if name in ids else ids[0]
        if session_id == own.id or _is_of_project(asked, store.info(session_id).cwd):
            return _open(asked, session_id)
    raise SessionNotFound(
        f"open: no session {name[:40]!r} of this project; give a reference as `ullage_search` with scope "
        "project shows it"
    )


def _is_of_project(asked: Asked, cwd: str) -> bool:
    """Returns whether a conversation that began in the folder `cwd` is about the same project as the model's own: in
    the folder of that one, in the folder that the agent works in, or inside one of them."""
    roots = {asked.own.transcript.cwd, asked.folder} - {"", "/"}
    return any(is_in(cwd, root) for root in roots)


def _open(asked: Asked, session_id: str) -> Conversation:
    return asked.own if session_id == asked.own.id else asked.workspace.open(session_id)


def _shown_id(own: Conversation, session_id: str) -> str:
    return "" if session_id == own.id else session_id


def _head(entry: Entry, session: str) -> str:
    where = "archived" if entry.archived else "in the context"
    return f"{cut(reference_of(entry.index, session), 200)} {speaker_of(entry.message)}, {where}"


# Bytes of the line that says whose a passage is, and from which conversation: others have chosen its words.
_WHOSE = 200
# Characters of a passage: eight of them have room.
_PASSAGE = 360
# Bytes that the words around the passages need.
_REST = 100


async def search_team(asked: Asked, query: str, limit: int) -> str:
    """Returns the passages in the team's archive that match `query` best, each with whose it is.

    Raises `InvalidRequest` if no archive was chosen or the query has no word."""
    hits = await _team(asked, "search").search(query, limit)
    if not hits:
        return "Nothing in the team's archive matches. Try names as they stood, or other words."
    doubt = (
        ""
        if any(hit.passage.hit.fits for hit in hits)
        else " None has most of the words together, so there may be no answer."
    )
    lines = [RECORD, f"The best matches in the team's archive, the best first.{doubt}"]
    room = MAX_RESULT - sum(map(size_of, lines)) - _REST
    shown = 0
    for hit in hits:
        shows = ["", *_team_hit(hit)]
        room -= sum(map(size_of, shows))
        if room < 0:
            break
        lines += shows
        shown += 1
    left = [f"{len(hits) - shown} more did not fit here."] if shown < len(hits) else []
    return "\n".join([*lines, "", *left, "A whole message: open with its reference."])


def _team(asked: Asked, tool: str) -> ReadsTeam:
    if asked.own.workspace.team is None:
        raise InvalidRequest(f"{tool}: there is no team's archive here")
    return asked.own.workspace.team


def _whose(*names: str) -> str:
    return one_line(" · ".join(filter(None, names)), _WHOSE)


def _team_head(index: int, session_id: str, role: str) -> str:
    return f"{reference_of(index, session_id)} {role}"


def _team_hit(hit: TeamHit) -> Iterator[str]:
    found = hit.passage.hit
    yield _whose(hit.owner, hit.folder, hit.title)
    yield f"{_team_head(found.index, found.session_id, found.role)}:"
    yield from quoted(around(hit.passage.text, found.snippet, _PASSAGE))


_NOTHING = (
    "Everything that the user typed is in what the last compaction kept, and so are the open tasks and problems, the "
    "changed files and the last commit."
)
_LAST = "A whole message: ullage_open with its number, such as #85."


class Unknown(UllageError):
    """What was left out is not known."""


async def brief_text(own: Conversation) -> str:
    """Returns the brief that is given back to an agent after its compaction, or why there is none."""
    try:
        entries = (await _left_out(own)).entries
    except Unknown as error:
        return str(error)
    return write_brief(entries, LONGEST, characters, cwd=own.transcript.cwd).text or _NOTHING


async def _left_out(own: Conversation) -> LeftOut:
    records = own.workspace.ports.store.read(own.id)
    # In a thread, because reading a long conversation for the first time takes a second.
    found = await asyncio.to_thread(left_out, records, own.transcript.cwd)
    if found is None:
        raise Unknown("This conversation has no compaction in force, so nothing was left out of your context.")
    if not found.compaction.is_readable:
        raise Unknown(
            "The summary of the last compaction is encrypted, so what it leaves out is not known. Use ullage_search."
        )
    return found


def _bytes(text: str) -> int:
    return len(text.encode(errors="replace"))


# Messages that are listed as the biggest.
_BIGGEST = 6
# Bytes of a line of evidence.
_EVIDENCE = 300
_SOURCES = {
    UsageSource.REPORTED: "The provider has reported the figure",
    UsageSource.STALE: "The figure is the provider's last report and a count of what came after it",
    UsageSource.ESTIMATED: "The figure is an estimate, because the provider has not reported it",
}


def figures_json(own: Conversation) -> str:
    """Returns the figures of the conversation's context as JSON."""
    return encode_json(usage_result(own)).decode()


async def figure_text(own: Conversation) -> str:
    """Returns the context's figure, its parts, the evidence for it, and references of the biggest messages."""
    usage = usage_result(own)
    meta = usage.meta.ullage
    now = own.workspace.ports.clock.now()
    of = f" of {usage.size:,}" if usage.size is not None else ""
    lines = [
        context_text(usage),
        "",
        f"Exactly {usage.used:,}{of} tokens.",
        *_figure_lines(meta, now),
        "",
        "The biggest messages:",
    ]
    page = await view_page(own, 0, None)
    lines += [
        *(
            cut(
                f"- {'a summary' if entry.inserted else reference_of(entry.index)} {speaker_of(entry.message)}: "
                f"{entry.tokens:,} tokens",
                _EVIDENCE,
            )
            for entry in nlargest(_BIGGEST, page.entries, key=lambda entry: entry.tokens)
            if entry.tokens
        )
    ] or ["- none"]
    lines += ["", RECORD]
    for line in _evidence(own, meta, now):
        if fits([*lines, line], MAX_RESULT):
            lines.append(line)
    return "\n".join(lines)


def _figure_lines(meta: UsageMeta, now: int) -> Iterator[str]:
    since = "" if meta.reported_at is None else f", {_ago(now - meta.reported_at)}"
    yield f"{_SOURCES[meta.source]}{since}. Messages after the report: {meta.pending_messages:,}."
    if meta.left is not None:
        where = f"the compaction at {meta.compact_at:,}" if meta.compact_at is not None else "the window is full"
        yield f"Left until {where}: {meta.left:,} tokens."
    if meta.calls_left is not None:
        calls = meta.calls_left
        yield f"Calls left until then: about {calls.mean:,}" + (f", at least {calls.low:,}." if calls.low else ".")
    if meta.cache is not None:
        until = time.strftime("%H:%M", time.localtime(meta.cache.until / 1_000))
        yield f"Prompt cache: {next_prompt(meta.cache, until, now)}."
    if limits := rate_limits(meta.rate_limits, now):
        yield f"Rate limits used: {limits}."


def _ago(milliseconds: int) -> str:
    minutes = max(0, milliseconds) // 60_000
    for size, unit in ((1440, "days"), (60, "hours")):
        if minutes >= 2 * size:
            return f"{minutes // size:,} {unit} ago"
    return f"{minutes} minutes ago"


def _evidence(own: Conversation, meta: UsageMeta, now: int) -> Iterator[str]:
    """Yields what is said for the window and the threshold, as a quotation: names in it come from the conversation."""
    facts = (
        ("window", f"{meta.window.size:,} ({meta.window.source.value}): {meta.window.basis}" if meta.window else ""),
        ("contradiction", (meta.window.contradiction or "") if meta.window else ""),
        (
            "compacts",
            f"at {meta.threshold.tokens:,}, {meta.threshold.percent} % ({meta.threshold.source.value}): "
            f"{meta.threshold.basis}"
            if meta.threshold
            else "",
        ),
        *(("remark", remark.text) for remark in meta.remarks),
        ("moment", good_moment(meta.moment, own.used, meta.cache, now) if meta.moment else ""),
        ("agent", meta.agent),
        ("model", meta.model),
        ("folder", own.transcript.cwd),
        ("title", own.transcript.title),
    )
    yield from (one_line(f"{name}: {words}", _EVIDENCE) for name, words in facts if words)


async def _to_search(asked: Asked, given: SearchInput) -> str:
    if given.scope == "team":
        return await search_team(asked, given.query, given.limit)
    own = {tool.name: frozenset(tool.arguments.__struct_fields__) for tool in TOOLS}
    return await search_text(asked, given.query, given.limit, own, whole_project=given.scope == "project")


async def _to_open(asked: Asked, given: OpenInput) -> str:
    reference = read_reference(given.ref)
    if reference.session.startswith(COPY_PREFIX):
        team = _team(asked, "open")
        messages = await team.open(reference.session, reference.first - 1, reference.last)
        whose = _whose(messages[0].owner, messages[0].folder, messages[0].title)
        heads = {one.index: _team_head(one.index, one.session_id, one.role) for one in messages}
        heads[messages[0].index] = f"{whose}\n{heads[messages[0].index]}"
        return shown_page(given.ref, heads, {one.index: one.text for one in messages}, given.page)
    return open_text(asked, given.ref, given.page)


async def _to_context(asked: Asked, _: ContextInput) -> str:
    return await figure_text(asked.own)


async def _to_lost(asked: Asked, given: LostInput) -> str:
    kind = given.kind
    try:
        entries = (await _left_out(asked.own)).entries
    except Unknown as error:
        return str(error)
    chosen = [entry for entry in entries if kind in (None, entry.kind.value)]
    if not chosen:
        return _NOTHING if kind is None else f"The last compaction left out no entry of the kind {kind}."
    brief = write_brief(chosen, MAX_RESULT - size_of(_LAST) - 2, _bytes, cwd=asked.own.transcript.cwd)
    return f"{brief.text}\n\n{_LAST}"


# By the tool's name, what returns the text of its result.
_ANSWERS: dict[str, Callable[[Asked, Any], Awaitable[str]]] = {
    "search": _to_search,
    "open": _to_open,
    "context": _to_context,
    "lost": _to_lost,
}
_BY_NAME = {tool.name: tool for tool in TOOLS}
# Bytes of an error's text: it may repeat what the caller gave.
_LONGEST_ERROR = 600


async def call_tool(params: CallToolParams, ask: Callable[[], Awaitable[Asked]]) -> CallToolResult:
    """Returns the result of one call. The tool's name may be without `PREFIX`. `ask` returns what the tool needs, and
    is called once the arguments are known to be right. An `UllageError` and wrong arguments become results, so that the
    model can correct its call. Raises `RpcError` (-32602) if there is no such tool."""
    tool = _BY_NAME.get(params.name.removeprefix(PREFIX))
    if tool is None:
        known = ", ".join(PREFIX + name for name in _BY_NAME)
        raise RpcError(INVALID_PARAMS, f"There is no tool {cut(params.name, 80)!r}; the tools are {known}.", "NotFound")
    try:
        arguments = tool.read(params.arguments)
    except msgspec.ValidationError as error:
        return _failed(f"{tool.name}: {error}. Its arguments: {tool.usage}.")
    try:
        return CallToolResult(content=(TextContent(text=await _ANSWERS[tool.name](await ask(), arguments)),))
    except UllageError as error:
        return _failed(str(error))


def _failed(reason: str) -> CallToolResult:
    return CallToolResult(content=(TextContent(text=cut(" ".join(reason.split()), _LONGEST_ERROR)),), is_error=True)
