"""Writes the files that are generated from the server's structs, or with --check names each file that has drifted.

Each output is a path and a function that returns the file's whole text. A generator for another language is one more
line in `OUTPUTS`. The examples are golden files of the tests: `./scripts/test tests/golden --update-golden` writes
those.
"""

import argparse
import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from inspect import getdoc
from pathlib import Path
from typing import Any

from msgspec import to_builtins

from generators import ROOT, as_json, settle
from generators.agent_folders import in_lua
from generators.agent_page import agent_tables, table
from generators.manifest import with_generated, with_texts, with_version
from generators.plugins import plugin_files
from generators.typescript import typescript
from generators.wire import optional_members
from ullage import __version__
from ullage.acp.agent import KEY_METHOD, LOGIN_METHOD, PROTOCOL_VERSION, introduce
from ullage.acp.connection import Client
from ullage.acp.session_tools import MODES
from ullage.acp.version_2 import VERSION
from ullage.api.methods import methods_document, schema_document, settings_schema
from ullage.model.events import EditTrigger
from ullage.model.updates import CompactionStatus, Level, Severity
from ullage.model.usage import Keeper, Nearness, ThresholdSource, UsageSource, WindowSource

PROTOCOL = ROOT / "protocol"
README, EXAMPLES = PROTOCOL / "README.md", PROTOCOL / "examples"
AGENTS_PAGE = ROOT / "docs" / "guide" / "agents.md"
VSCODE = ROOT / "editors" / "vscode"
MANIFEST = VSCODE / "package.json"
NLS = VSCODE / "package.nls.json"
LOCK = VSCODE / "package-lock.json"
# The settings that users change; the others are advanced.
FIRST_SETTINGS = (
    "model",
    "provider",
    "models",
    "context.enabled",
    "context.warnAt",
    "context.compactAt",
    "summary.writer",
    "archive.enabled",
    "store",
)
# The entry of `ullage mcp` in the MCP registry.
REGISTRY = ROOT / "server.json"
NVIM = ROOT / "editors" / "nvim"


# The fields that a status line or a client of a compaction reads and whose values are words.
WORDS: Mapping[str, type[StrEnum]] = {
    "`level`": Level,
    "`nearness`": Nearness,
    "`source`, `usedSource`": UsageSource,
    "`managedBy`": Keeper,
    "`window.source`": WindowSource,
    "`threshold.source`": ThresholdSource,
    "`status` of a compaction": CompactionStatus,
    "`trigger`": EditTrigger,
    "`severity`": Severity,
}


def readme() -> str:
    """Returns the hand-written README with new tables."""
    methods = methods_document()
    tables = {
        "words": words_table(),
        "methods": methods_table(methods["methods"]),
        "types": types_table(),
        "client methods": table(
            ("method", "params", "result", "what it asks"),
            [(f"`{m['name']}`", f"`{m['params']}`", f"`{m['result']}`", m["doc"]) for m in methods["clientMethods"]],
        ),
        "updates": table(
            ("`sessionUpdate`", "type", "what it says"),
            [(f"`{one['sessionUpdate']}`", f"`{one['type']}`", one["doc"]) for one in methods["updates"]],
        ),
        "notices": notices_table(),
        "acp": acp_table(),
        "errors": table(
            ("code", "`data.kind`", "meaning"),
            [(str(error["code"]), f"`{error['kind']}`", error["doc"]) for error in methods["errors"]],
        ),
        "settings": settings_table(settings_schema()["properties"]),
    }
    return with_regions(README, tables)


def with_regions(document: Path, contents: Mapping[str, str]) -> str:
    """Returns a document's text with everything between `<!-- generated: NAME -->` and `<!-- end -->` replaced, for
    each name of the contents."""
    text = document.read_text(encoding="utf-8")
    for name, content in contents.items():
        start, end = f"<!-- generated: {name} -->", "<!-- end -->"
        pattern = re.compile(f"({re.escape(start)}\n).*?({re.escape(end)})", re.DOTALL)
        text, found = pattern.subn(lambda match, content=content: match[1] + content + match[2], text)
        if found != 1:
            raise SystemExit(f"{document.relative_to(ROOT)} needs one region {start} … {end}; it has {found}")
    return text


def words_table() -> str:
    """Returns a table of the fields of a status line whose values are words, each with the words and what they mean."""
    rows = [
        (field, ", ".join(f"`{word}`" for word in kind), " ".join((getdoc(kind) or "").split()))
        for field, kind in WORDS.items()
    ]
    return table(("field", "words", "meaning"), rows)


def acp_table() -> str:
    """Returns a table of what the agent of the Agent Client Protocol says of itself: its versions, capabilities, ways
    to authenticate and modes."""
    said = to_builtins(introduce(__version__, (), Client(), uses_servers=True))
    able = {name: value for name, value in said["agentCapabilities"].items() if name != "_meta"}
    rows = [
        ("`protocolVersion`", f"{PROTOCOL_VERSION}, or {VERSION} if the client asks for {VERSION} or more"),
        *((f"`{name}`", f"`{json.dumps(value)}`") for name, value in able.items()),
        *((f"`authMethods`: `{method['id']}`", method["description"]) for method in (KEY_METHOD, LOGIN_METHOD)),
        *((f"`modes`: `{mode.id}`", mode.description) for mode in MODES),
    ]
    return table(("member", "value"), rows)


# The types of which the methods' results and the notifications are made, and which a client reads.
SHOWN_TYPES = (
    "SessionResult",
    "UsageResult",
    "UsageMeta",
    "CallsLeft",
    "Hidden",
    "IdleCompaction",
    "PromptCache",
    "Remark",
    "KnownWindow",
    "KnownThreshold",
    "Entry",
    "SearchHit",
    "CompactResult",
    "RevertResult",
    "HistoryEntry",
    "LostEntry",
    "FollowedConversation",
)
# Methods that the page names only: few clients need them, and the schema says the rest.
BRIEF = ("models", "agents", "continuing", "team")


def methods_table(methods: Sequence[Mapping[str, Any]]) -> str:
    """Returns a table with one row per method: its params and result by their fields, and what it does."""
    types = schema_document()["$defs"]
    rows = [(f"`{m['name']}`", *_shapes(types, m), _says(types, m)) for m in methods]
    return table(("method", "params", "result", "what it does"), rows)


def _shapes(types: Mapping[str, Any], method: Mapping[str, Any]) -> tuple[str, str]:
    params, result = method["params"], method["result"]
    if method["name"].partition("/")[0] in BRIEF:
        return f"`{params}`", f"`{result}`" if result else "none: a notification"
    if result is None:
        given = "none: a notification"
    elif result in SHOWN_TYPES:
        given = f"`{result}`"
    else:
        given = fields_of(types, result, with_values=False) or "`{}`"
    return fields_of(types, params, with_values=True), given


def _says(types: Mapping[str, Any], method: Mapping[str, Any]) -> str:
    """Returns what a method does, with what the types that are its own say of their fields."""
    if method["name"].partition("/")[0] in BRIEF:
        return method["doc"]
    shared = method["params"] in ("SessionParams", "FollowingParams")
    said = [method["doc"] if shared else types[method["params"]]["description"]]
    result = method["result"]
    if result and result not in (*SHOWN_TYPES, "Nothing", "FollowingResult", "HistoryResult", "PromptResult"):
        said.append(types[result]["description"])
    return " ".join(said)


def types_table() -> str:
    """Returns a table of the types that many results have."""
    types = schema_document()["$defs"]
    rows = [(f"`{name}`", fields_of(types, name, with_values=False), _by_wire(types[name])) for name in SHOWN_TYPES]
    return table(("type", "fields", "meaning"), rows)


def _by_wire(kind: Mapping[str, Any]) -> str:
    """Returns what a type says of its fields, with their names as they are on the wire."""
    named = {re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower(): name for name in kind["properties"]}
    return re.sub(r"`(\w+)`", lambda found: f"`{named.get(found[1], found[1])}`", kind["description"])


def fields_of(types: Mapping[str, Any], name: str, *, with_values: bool) -> str:
    """Returns the fields of an object: with `with_values` those that may be left out with their default or a `?`, and
    the words that a field may have; else by name alone, with the type of what is in a list."""
    kind = types[name]
    needed = set(kind.get("required", ()))
    return ", ".join(
        f"`{_field(types, at, field, at in needed, with_values)}`" for at, field in kind["properties"].items()
    )


def _field(types: Mapping[str, Any], name: str, field: Mapping[str, Any], is_needed: bool, with_values: bool) -> str:
    options = [types.get(str(one.get("$ref", "")).rpartition("/")[2], one) for one in field.get("anyOf", [field])]
    words = next((one["enum"] for one in options if "enum" in one), ())
    if with_values:
        default = field.get("default")
        if words:
            choice = " or ".join(json.dumps(word) for word in words)
            return f"{name}{'' if is_needed else '?'}: {choice}"
        if is_needed:
            return name
        return f"{name} = {json.dumps(default)}" if isinstance(default, bool | int | float) else f"{name}?"
    inner = str(field.get("items", {}).get("$ref", "")).rpartition("/")[2]
    return f"{name}: {inner}[]" if inner in SHOWN_TYPES else name


def notices_table() -> str:
    """Returns a table of the kinds of notices that have an example, with the text of the example."""
    examples = (json.loads(path.read_text("utf-8")) for path in sorted(EXAMPLES.glob("update.notice.*.json")))
    notices = (example["update"] for example in examples)
    rows = [(f"`{one['_meta']['ullage']['kind']}`", f"`{one['severity']}`", one["title"]) for one in notices]
    return table(("`_meta.ullage.kind`", "`severity`", "for example"), rows)


def settings_table(settings: Mapping[str, Mapping[str, Any]]) -> str:
    """Returns the tables of settings: first those that users change, then all others."""
    rows = {
        name: (f"`{name}`", f"`{json.dumps(value['default'])}`", value["description"])
        for name, value in settings.items()
    }
    first = table(("setting", "default", "meaning"), [rows[name] for name in FIRST_SETTINGS])
    others = [row for name, row in rows.items() if name not in FIRST_SETTINGS]
    return f"{first.rstrip()}\n\n### Advanced\n\n{table(('setting', 'default', 'meaning'), others)}"


OUTPUTS: Mapping[Path, Callable[[], str]] = {
    PROTOCOL / "methods.json": lambda: as_json(methods_document()),
    PROTOCOL / "schema.json": lambda: as_json(schema_document()),
    PROTOCOL / "settings.schema.json": lambda: as_json(settings_schema()),
    README: readme,
    AGENTS_PAGE: lambda: with_regions(AGENTS_PAGE, agent_tables()),
    VSCODE / "src" / "protocol.gen.ts": typescript,
    MANIFEST: lambda: with_generated(MANIFEST.read_text()),
    NLS: lambda: with_texts(NLS.read_text()),
    LOCK: lambda: with_version(LOCK.read_text(), ""),
    REGISTRY: lambda: with_version(REGISTRY.read_text(), 0),
    NVIM / "tests" / "optional.gen.json": lambda: as_json(optional_members()),
    NVIM / "lua" / "ullage" / "following" / "agent_folders.lua": in_lua,
    **{ROOT / path: text for path, text in plugin_files().items()},
}


def main() -> int:
    """Runs the script and returns its exit status: 1 if --check found drift."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a file has drifted")
    files = {path: text() for path, text in OUTPUTS.items()}
    return settle(files, "gen_protocol.py", check=parser.parse_args().check)


if __name__ == "__main__":
    sys.exit(main())
