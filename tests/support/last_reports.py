"""The last usage in a recorded conversation, read from the raw file without any of Ullage's readers.

Each function here knows one family of files by its path, and only as much of the format as it needs. It returns the
tokens of the context at that report: the whole prompt, cached or not, and the answer. It returns None if the
conversation has no report since it was last compacted or cleared.
"""

import json
import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from support.transcripts import ROOT

Json = dict[str, Any]

# Families whose files have no usage of single calls. SWE-agent and tau-bench have sums at most; `outputTokens` alone,
# as in some files of Copilot, is not a size of a context.
WITHOUT_USAGE = (
    *("agent_fixtures/antigravity__*", "agent_fixtures/cursor__*", "agent_fixtures/droid__session_store_*"),
    *("agent_fixtures/droid__stream_json_*", "agent_fixtures/grok__*", "agent_fixtures/hermes__*"),
    # A made-up file, whose only usage is far below its visible text.
    "agent_fixtures/claude__small.jsonl",
    *("agent_fixtures/openclaw__*", "swe_agent_traj/*", "tau_bench_gpt4o/*", "openhands_llm_logs/*-message.json"),
)


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
