"""Every recorded conversation shows the same figure on every surface, and the figure is the file's own."""

import asyncio
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from fnmatch import fnmatchcase
from functools import wraps
from pathlib import Path
from typing import Any, Never, Self

import msgspec
import pytest
from msgspec import Struct

from support.agents.launch import Launch
from support.agents.program import program
from support.command_line import ullage
from support.editors import EDITORS, STORY_NEOVIMS, neovim, neovim_environment
from support.lsp_client import Json, LspClient
from support.program import language_server
from support.systems import needs_linux
from support.tables import Test, every
from support.transcripts import ROOT, conversation_files
from ullage.cli.main import main
from ullage.model.words import short

_EXTENSION = EDITORS / "vscode"
_ESBUILD = _EXTENSION / "node_modules" / ".bin" / "esbuild"
# Seconds, for all files on a busy machine.
_PATIENCE = 600.0
_VSCODE = """
import { readFileSync } from 'node:fs';
import { statusView, tooltipMarkdown } from 'SRC/statusBar';
const shown = JSON.parse(readFileSync(0, 'utf8')).map((wire) => {
  const { used, size, cost, _meta } = wire;
  const usage = { sessionId: 's', title: 'A title', used, size, meta: _meta.ullage, cost, at: 0 };
  const health = { kind: 'running' };
  return {
    ...statusView({ health, usage, compaction: undefined, done: undefined }),
    tooltip: tooltipMarkdown(usage, undefined, 0),
  };
});
process.stdout.write(JSON.stringify(shown));
"""
# Messages of one page. Small, so that recordings have several pages.
_PAGE = 50
# Families whose files have no usage of single calls. SWE-agent and tau-bench have sums at most; `outputTokens` alone,
# as in some files of Copilot, is not a size of a context.
WITHOUT_USAGE = (
    *("agent_fixtures/antigravity__*", "agent_fixtures/cursor__*", "agent_fixtures/droid__session_store_*"),
    *("agent_fixtures/droid__stream_json_*", "agent_fixtures/grok__*", "agent_fixtures/hermes__*"),
    # A made-up file, whose only usage is far below its visible text.
    "agent_fixtures/claude__small.jsonl",
    *("agent_fixtures/openclaw__*", "swe_agent_traj/*", "tau_bench_gpt4o/*", "openhands_llm_logs/*-message.json"),
)
# One small file of each agent; they are read in every run, all others with --all.
SMALL = (
    *("claude_code_spotter/short.jsonl", "live/codex/normal.jsonl", "gemini_cli/session-fa4593e0.json"),
    *("live/qwen-code/2fd45262-0a01-4039-bfc6-8b432e1bf521.jsonl", "agent_fixtures/pi__small.jsonl"),
    *("agent_fixtures/kimi__small.jsonl", "agent_fixtures/copilot__small.jsonl", "live/opencode/opencode.db"),
    *("live/kilo/kilo.db", "live/aider/aider.chat.history.md", "live/mini-swe-agent/last_mini_run.traj.json"),
    *(
        "live/cline/1795312433931_vydr4/1795312433931_vydr4.messages.json",
        "agent_fixtures/droid__stream_json_small.jsonl",
    ),
    *("live/openhands/f50b0a8adfbd4067bbe0c6bfef48038d/base_state.json", "agent_fixtures/cursor__small.jsonl"),
    *("agent_fixtures/antigravity__cli_small.jsonl", "agent_fixtures/grok__chat_history.jsonl"),
    *("agent_fixtures/hermes__small.json", "agent_fixtures/openclaw__small.jsonl"),
)
# Folders that are one conversation, with the file in which its usage is.
FOLDERS = {
    "live/openhands/f50b0a8adfbd4067bbe0c6bfef48038d": "base_state.json",
    "live/cline/1795300000001_hand1": "1795300000001_hand1.messages.json",
    "live/cline/1795312433931_vydr4": "1795312433931_vydr4.messages.json",
    "live/cline/1795312636749_9l7wx": "1795312636749_9l7wx.messages.json",
    "live/kimi-code": "agents/main/wire.jsonl",
    "live/kimi-code/with-subagent": "agents/main/wire.jsonl",
}
# The unread lines of files that the other tests leave out. The first two have lines that no agent writes.
UNREAD = {
    "agent_fixtures/claude__schema_drift.jsonl": 2,
    "agent_fixtures/openclaw__schema_drift.jsonl": 1,
    "live/codex/reverted_base.jsonl": 0,
    "agent_fixtures/codex__small.jsonl": 0,
}
# Tokens of reasoning in the last answer, where a prompt follows it. They leave the context with that prompt.
REASONING = {"agent_fixtures/codex__large.jsonl": 128}
NAMES = [
    *(path.relative_to(ROOT).as_posix() for path in conversation_files()),
    *(name for name in (*FOLDERS, *UNREAD) if (ROOT / name).exists()),
]
pytestmark = [
    needs_linux,
    pytest.mark.skipif(not NAMES, reason="no recorded transcripts on this machine (set ULLAGE_TRANSCRIPTS)"),
]


class Figure(Struct, frozen=True, kw_only=True):
    """What every surface must agree on. Tokens; `percent` is one of the window."""

    used: int
    size: int | None
    percent: int | None
    source: str
    threshold: int | None

    @classmethod
    def of_wire(cls, usage: Json) -> Self:
        """Returns the figure of a usage update, or of a usage in a result."""
        meta = usage["_meta"]["ullage"]
        used = usage["used"] if "used" in usage else sum(meta["breakdown"].values())
        threshold = meta["threshold"] and meta["threshold"]["tokens"]
        assert threshold == meta["compactAt"]
        return cls(
            used=used,
            size=usage.get("size"),
            percent=meta["percent"],
            source=meta["source"],
            threshold=threshold,
        )


class Imported(Struct, frozen=True, kw_only=True):
    """What the Language Server says of one file. `message_ids` are those of the transcript's pages, and `inserted`
    those of markers, which are in no file."""

    session_id: str
    usage: Json
    messages: int
    unread: tuple[Json, ...]
    message_ids: tuple[str, ...]
    inserted: tuple[str, ...]


async def imported(store: Path, paths: Iterable[Path]) -> dict[Path, Imported]:
    """Imports the files by one Language Server."""
    async with language_server(store) as client:
        results = {path: await client.request("ullage/session/import", {"path": str(path)}) for path in paths}
        # Only now, because an import may teach where the agent of another conversation compacts.
        answers = {path: await _imported(client, result) for path, result in results.items()}
        assert await client.shutdown() == 0
        return answers


async def _imported(client: LspClient, result: Json) -> Imported:
    session = result["session"]
    usage = await client.request("ullage/context/get", {"sessionId": session["sessionId"]})
    entries = await _pages(client, session["sessionId"])
    return Imported(
        session_id=session["sessionId"],
        usage=usage,
        messages=result["messages"],
        unread=tuple(result["unread"]),
        message_ids=tuple(entry["message"]["id"] for entry in entries if not entry.get("inserted")),
        inserted=tuple(entry["message"]["id"] for entry in entries if entry.get("inserted")),
    )


async def _pages(client: LspClient, session_id: str) -> list[Json]:
    """Returns the transcript's entries, read page by page from the last one to the first, as a view that is scrolled
    up reads them."""
    params = {"sessionId": session_id, "scope": "transcript"}
    end = (await client.request("ullage/context/messages", {**params, "limit": 1}))["total"]
    entries: list[Json] = []
    while end > 0:
        start = max(0, end - _PAGE)
        page = await client.request("ullage/context/messages", {**params, "offset": start, "limit": end - start})
        assert len(page["entries"]) == end - start
        entries = page["entries"] + entries
        end = start
    return entries


async def replayed(store: Path, session_ids: Iterable[str], folder: Path) -> dict[str, Json]:
    """Loads the sessions by one `ullage acp`. Returns the update that has each session's usage."""
    command = (sys.executable, "-m", "ullage", "acp", "--store", str(store))
    launch = Launch(title="ullage acp", command=command, environment=dict(os.environ), cwd=folder)
    async with program(command, launch, folder / "acp.err") as end:
        await end.greet()
        updates: dict[str, Json] = {}
        for session_id in session_ids:
            end.messages.clear()
            await end.ask("session/load", sessionId=session_id, cwd=str(folder), mcpServers=[])
            told = await end.until(lambda message, session_id=session_id: _is_usage(message, session_id))
            updates[session_id] = told["params"]["update"]
        return updates


def _is_usage(message: Json, session_id: str) -> bool:
    params = message.get("params", {})
    return (
        params.get("sessionId") == session_id
        and "ullage" in params.get("update", {}).get("_meta", {})
        and ("breakdown" in params["update"]["_meta"]["ullage"])
    )


def in_neovim(nvim: Path, paths: Sequence[Path], folder: Path) -> dict[Path, Json]:
    """Imports the files in one real Neovim. Returns for each the statusline's text and the plugin's figures."""
    files = folder / "files.json"
    files.write_bytes(msgspec.json.encode([str(path) for path in paths]))
    command = [nvim, "--clean", "--headless", "-l", EDITORS / "nvim" / "tests" / "figures.lua"]
    wanted = {**neovim_environment(folder), "ULLAGE_FILES": str(files)}
    done = subprocess.run(command, env=wanted, capture_output=True, text=True, timeout=_PATIENCE, check=False)
    lines = [line for line in (done.stdout + done.stderr).splitlines() if line.startswith("{")]
    assert lines, done.stdout + done.stderr
    return {Path(path): shown for path, shown in msgspec.json.decode(lines[0]).items()}


def in_vscode(usages: Sequence[Json], folder: Path) -> list[Json]:
    """Returns the status item and the tooltip that the extension's own functions make of each usage."""
    (folder / "surface.ts").write_text(_VSCODE.replace("SRC", (_EXTENSION / "src").as_posix()))
    # There is no VS Code around them, and they need none.
    (folder / "vscode.cjs").write_text("")
    bundle = [_ESBUILD, "surface.ts", "--bundle", "--platform=node", "--format=cjs", "--alias:vscode=./vscode.cjs"]
    bundle += ["--outfile=surface.js"]
    subprocess.run(bundle, cwd=folder, capture_output=True, timeout=_PATIENCE, check=True)
    given = msgspec.json.encode(usages)
    done = subprocess.run(
        ["node", "surface.js"], cwd=folder, input=given, capture_output=True, timeout=_PATIENCE, check=True
    )
    return msgspec.json.decode(done.stdout)


def has_extension_tools() -> bool:
    """Whether the extension's bundler and Node are installed."""
    return _ESBUILD.exists() and shutil.which("node") is not None


def last_report(path: Path) -> int | None:
    """Returns the tokens of the last report that speaks of the conversation as it is at its end."""
    name = path.relative_to(ROOT).as_posix()
    if any(fnmatchcase(name, pattern) for pattern in WITHOUT_USAGE):
        return None
    for pattern, scan in SCANS.items():
        if fnmatchcase(name, pattern):
            return scan(path)
    raise AssertionError(f"{name}: no scan knows this family; add one here, or name it in WITHOUT_USAGE")


def claude_code(path: Path) -> int | None:
    """Walks from the last message to its parents. `message.usage` counts the uncached prompt apart from the cache."""
    records = {record["uuid"]: record for record in _lines(path) if "uuid" in record}
    side = _is_side_chain(records.values())
    last = [one["uuid"] for one in records.values() if one.get("isSidechain", False) is side and _is_chained(one)]
    at = last[-1] if last else None
    while at in records:
        # Taken out, so that a made-up circle of parents ends.
        record = records.pop(at)
        if record.get("subtype") == "compact_boundary":
            return None
        message = _inner(record, "message")
        if (usage := message.get("usage")) and message.get("model") != "<synthetic>":
            return _sum(
                usage, "input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens"
            )
        at = record.get("parentUuid")
    return None


def _is_chained(record: Json) -> bool:
    return record.get("type") in {"user", "assistant"}


def _is_side_chain(records: Any) -> bool:
    return all(record.get("isSidechain", False) for record in records)


def codex(path: Path) -> int | None:
    """`last_token_usage` of the last `token_count` after the last compaction."""
    found = None
    for record in _lines(path):
        payload = _inner(record, "payload")
        if record.get("type") == "compacted":
            found = None
        elif payload.get("type") == "token_count" and payload.get("info"):
            found = payload["info"]["last_token_usage"]["total_tokens"] or found
    return found


def codex_terminal(path: Path) -> int | None:
    """The last `token_count` of the longest conversation in a log of the terminal interface."""
    conversations: list[list[Json]] = []
    for record in _lines(path):
        message = _inner(_inner(record, "payload"), "msg")
        if message.get("type") == "session_configured":
            conversations.append([])
        elif conversations:
            conversations[-1].append(message)
    found = [message["total_tokens"] for message in max(conversations, key=len) if message.get("type") == "token_count"]
    return found[-1] if found else None


def gemini_cli(path: Path) -> int | None:
    """`tokens` of the last message that has some; a `$set` or `$rewindTo` changes the messages before it."""
    messages: list[Json] = []
    for line in _lines(path) if path.suffix == ".jsonl" else [json.loads(path.read_text())]:
        record = line.get("$set", line)
        if "$rewindTo" in record:
            at = [message.get("id") for message in messages].index(record["$rewindTo"])
            del messages[at:]
        elif "messages" in record:
            messages = list(record["messages"])
        elif "type" in record:
            messages = [message for message in messages if message.get("id") != record.get("id")] + [record]
    found = [message["tokens"] for message in messages if message.get("tokens")]
    return _sum(found[-1], "input", "output", "thoughts") if found else None


def qwen_code(path: Path) -> int | None:
    """Walks from the last record to its parents, up to a compression."""
    records = {record["uuid"]: record for record in _lines(path) if "uuid" in record}
    at: str | None = list(records)[-1] if records else None
    while at in records:
        record = records.pop(at)
        if record.get("subtype") == "chat_compression":
            return None
        if usage := record.get("usageMetadata"):
            return _sum(usage, "promptTokenCount", "candidatesTokenCount")
        at = record.get("parentUuid")
    return None


def pi(path: Path) -> int | None:
    """Walks from the last entry to its parents, up to a compaction. Old files have no ids: their order counts."""
    entries = [entry for entry in _lines(path) if entry.get("type") != "session"]
    known = {entry["id"]: entry for entry in entries if "id" in entry}
    while entries:
        entry = entries.pop()
        if entry["type"] == "compaction":
            return None
        if usage := _inner(entry, "message").get("usage"):
            return _sum(usage, "input", "output", "cacheRead", "cacheWrite")
        if "parentId" in entry:
            parent = known.pop(entry["parentId"], None)
            entries = [parent] if parent else []
    return None


def kimi_code(path: Path) -> int | None:
    """The last `token_counting.measured`, unless the context was cleared or compacted after it."""
    found = None
    for record in _lines(path):
        kind, event = record.get("type", ""), _inner(record, "event")
        if kind in {"context.clear", "context.apply_compaction", "context.undo"}:
            found = None
        elif usage := event.get("usage"):
            found = _sum(usage, "inputOther", "output", "inputCacheRead", "inputCacheCreation")
    return found


def copilot_cli(path: Path) -> int | None:
    """The last `session.usage_record` of the agent itself, unless a compaction ended after it."""
    found = None
    for record in _lines(path):
        if record.get("type") == "session.compaction_complete" and record["data"].get("success", True):
            found = None
        elif record.get("type") == "session.usage_record" and not record.get("agentId"):
            found = _sum(record["data"]["usage"], "inputTokens", "outputTokens")
    return found


def cline(path: Path) -> int | None:
    """`metrics` of the last message that has some. Cline counts the cached prompt within `inputTokens`."""
    found = [message["metrics"] for message in json.loads(path.read_text())["messages"] if message.get("metrics")]
    return _sum(found[-1], "inputTokens", "outputTokens") if found else None


def opencode_database(path: Path) -> int | None:
    """`tokens` of the newest session's last message that has some, unless that message is a summary."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as database:
        [[session]] = database.execute(
            "select id from session where parent_id is null order by time_updated desc limit 1"
        ).fetchall()
        rows = database.execute("select data from message where session_id = ? order by time_created, id", [session])
        return _opencode(json.loads(data) for (data,) in rows)


def opencode_export(path: Path) -> int | None:
    """The same of an exported session."""
    return _opencode(message["info"] for message in json.loads(path.read_text())["messages"])


def _opencode(messages: Iterator[Json]) -> int | None:
    found = None
    for message in messages:
        tokens = message.get("tokens")
        if message.get("summary") is True:
            found = None
        elif tokens and tokens["input"] + tokens["output"] > 0:
            found = _sum(tokens, "input", "output", "reasoning") + _sum(tokens["cache"], "read", "write")
    return found


def openhands(path: Path) -> int | None:
    """The last of the agent's own `token_usages`."""
    state = json.loads(path.read_text())
    usages = state["stats"]["usage_to_metrics"]["agent"]["token_usages"]
    return _sum(usages[-1], "prompt_tokens", "completion_tokens")


def mini_swe(path: Path) -> int | None:
    """`response.usage` of the last message that has one. A refused answer is withdrawn: the error takes its place."""
    extras = [_inner(message, "extra") for message in json.loads(path.read_text())["messages"]]
    last = [extra for extra in extras if "usage" in _inner(extra, "response")][-1]
    if last.get("interrupt_type"):
        return None
    return _sum(last["response"]["usage"], "prompt_tokens", "completion_tokens")


def trae(path: Path) -> int | None:
    """`usage` of the last interaction. OpenAI counts the cached prompt within the prompt, Anthropic apart from it."""
    whole = json.loads(path.read_text())
    usage = whole["llm_interactions"][-1]["response"]["usage"]
    found = _sum(usage, "input_tokens", "output_tokens")
    cached = _sum(usage, "cache_creation_input_tokens", "cache_read_input_tokens")
    return found + cached if whole["provider"] in {"anthropic", "bedrock"} else found


def litellm(path: Path) -> int | None:
    """`usage` of the one response."""
    return _sum(json.loads(path.read_text())["response"]["usage"], "prompt_tokens", "completion_tokens")


def aider(path: Path) -> int | None:
    """The last line `> Tokens: 594 sent, 10 received.`"""
    found = re.findall(r"^> Tokens: ([\d.]+k?) sent, ([\d.]+k?) received", path.read_text(), re.MULTILINE)
    return sum(round(float(part.rstrip("k")) * (1000 if part.endswith("k") else 1)) for part in found[-1])


SCANS: Mapping[str, Callable[[Path], int | None]] = {
    **dict.fromkeys(("claude_code_*", "live/claude_code/*", "agent_fixtures/claude__*"), claude_code),
    **dict.fromkeys(("codex_rollout/*", "live/codex/*", "agent_fixtures/codex__*"), codex),
    "codex_tui_log/*": codex_terminal,
    **dict.fromkeys(("gemini_cli/*", "live/gemini-cli/*", "agent_fixtures/gemini__*"), gemini_cli),
    **dict.fromkeys(("live/qwen-code/*", "agent_fixtures/qwen__*"), qwen_code),
    **dict.fromkeys(("pi/*", "live/pi*/*", "agent_fixtures/pi__*"), pi),
    **dict.fromkeys(("live/kimi-code/*", "agent_fixtures/kimi__*"), kimi_code),
    **dict.fromkeys(("live/copilot-cli/*", "agent_fixtures/copilot__*"), copilot_cli),
    **dict.fromkeys(("live/opencode/*.db", "live/kilo/*.db"), opencode_database),
    "live/opencode/export.json": opencode_export,
    "live/cline/*": cline,
    "live/openhands/*": openhands,
    **dict.fromkeys(("mini_swe_gemini3/*", "live/mini-swe-agent/*"), mini_swe),
    "iso_bench_trae/*": trae,
    "openhands_llm_logs/*/*": litellm,
    "live/aider/*": aider,
}


def _lines(path: Path) -> Iterator[Json]:
    for line in path.read_bytes().splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict):
            yield record


def _inner(record: Json, name: str) -> Json:
    """Returns the object under a name, empty if there is none."""
    return record.get(name) or {}


def _sum(usage: Json, *names: str) -> int:
    return sum(usage.get(name) or 0 for name in names)


class Shown(Struct, frozen=True, kw_only=True):
    """What the surfaces show of the chosen files."""

    imports: dict[Path, Imported]
    replays: dict[str, dict[str, object]]
    folder: Path
    store: Path


@pytest.fixture(scope="module")
def chosen(request: pytest.FixtureRequest) -> list[Path]:
    return [ROOT / name for name in NAMES if name in SMALL or request.config.getoption("--all")]


@pytest.fixture(scope="module")
def shown(chosen: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """The files in one Language Server, and then the same sessions in one `ullage acp`."""
    folder = tmp_path_factory.mktemp("everywhere")
    store = folder / "s.db"
    imports = asyncio.run(imported(store, chosen))
    replays = asyncio.run(replayed(store, [one.session_id for one in imports.values()], folder))
    return Shown(imports=imports, replays=replays, folder=folder, store=store)


def every_transcript(test: Test) -> Test:
    """Has a test hold for the name of every file that is imported."""

    @wraps(test)
    def tried(name: str, shown: Shown, **others: Any) -> None:
        if ROOT / name in shown.imports:
            test(name=name, shown=shown, **others)

    return every("name", NAMES)(tried) if NAMES else test


def figure_of(shown: Shown, name: str) -> Figure:
    return Figure.of_wire(shown.imports[ROOT / name].usage)


def assert_of_file(printed: str, shown: Shown, name: str) -> None:
    """Checks the object of `ullage context FILE --json`, which reads the file by itself."""
    told = msgspec.json.decode(printed)
    assert figure_of(shown, name) == Figure(
        used=told["used"],
        size=told["window"],
        percent=told["percent"],
        source=told["source"],
        threshold=told["compacts_at"],
    )


@every_transcript
def test_the_command_line_shows_the_servers_figure(name: str, shown: Shown, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["context", str(ROOT / name), "--store", str(shown.store), "--json"]) == 0
    assert_of_file(capsys.readouterr().out, shown, name)


def test_the_real_program_shows_the_servers_figure(shown: Shown) -> None:
    ran = ullage("context", ROOT / SMALL[0], "--store", shown.store, "--json")
    assert ran.status == 0, ran.err
    assert_of_file(ran.out, shown, SMALL[0])


@every_transcript
def test_a_session_that_acp_loads_has_the_figure_of_its_import(name: str, shown: Shown) -> None:
    update = shown.replays[shown.imports[ROOT / name].session_id]
    assert Figure.of_wire(update) == figure_of(shown, name)


def test_vs_code_shows_the_servers_figure(shown: Shown, lacking: Callable[[str], Never]) -> None:
    if not has_extension_tools():
        lacking("esbuild of editors/vscode (npm ci)")
    views = in_vscode([one.usage for one in shown.imports.values()], shown.folder)
    for (path, one), view in zip(shown.imports.items(), views, strict=True):
        figure = Figure.of_wire(one.usage)
        assert f"{figure.used:,}" in view["label"], path
        if figure.size is None:
            assert view["text"] == f"{short(figure.used)} · limit unknown", path
            assert f"{figure.used:,} tokens" in view["tooltip"], path
            continue
        near = "" if figure.source == "reported" else "~"
        assert f" {near}{figure.percent}% " in view["text"], path
        assert f"{figure.size:,}" in view["label"], path
        assert figure.source in view["label"], path
        assert f"{figure.percent} per cent" in view["label"], path
        assert f"{figure.used:,} of {figure.size:,} tokens" in view["tooltip"], path
        compacts = re.search(r"compacts at (\S+)", view["tooltip"])
        assert (compacts and compacts[1]) == (figure.threshold and short(figure.threshold)), path


@pytest.mark.editor
@pytest.mark.parametrize("version", STORY_NEOVIMS)
def test_neovim_shows_the_servers_figure(
    version: str, shown: Shown, tmp_path: Path, lacking: Callable[[str], Never]
) -> None:
    nvim = neovim(version) or lacking(f"Neovim {version}")
    wrong: dict[Path, object] = {}
    for path, told in in_neovim(nvim, list(shown.imports), tmp_path).items():
        figure = Figure.of_wire(shown.imports[path].usage)
        text = told.pop("text")
        near = "" if figure.source == "reported" else "~"
        share = f"{near}{figure.percent}% {short(figure.used)}/{short(figure.size)}" if figure.size else ""
        if (share or f"{short(figure.used)} · limit unknown") not in text or Figure(**told) != figure:
            wrong[path] = (text, told, figure)
    assert wrong == {}


@every_transcript
def test_the_figure_is_the_files_own_last_report_and_what_follows_it(name: str, shown: Shown) -> None:
    figure, report = figure_of(shown, name), last_report(ROOT / name / FOLDERS.get(name, ""))
    pending = shown.imports[ROOT / name].usage["_meta"]["ullage"]["pendingMessages"]
    match figure.source:
        case "reported":
            assert (figure.used, pending) == (report, 0)
        case "stale":
            assert report is not None
            assert figure.used >= report - REASONING.get(name, 0)
            assert pending > 0
        case _:
            assert report is None


@every_transcript
def test_every_line_that_an_agent_wrote_is_read(name: str, shown: Shown) -> None:
    assert len(shown.imports[ROOT / name].unread) == UNREAD.get(name, 0), shown.imports[ROOT / name].unread


@every_transcript
def test_every_message_is_reached_from_the_last_page_to_the_first(name: str, shown: Shown) -> None:
    one = shown.imports[ROOT / name]
    assert len(one.message_ids) == one.messages
    every = one.message_ids + one.inserted
    assert len(set(every)) == len(every)
