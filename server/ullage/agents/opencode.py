"""What Ullage knows about opencode: where its sessions are, its settings, and how Ullage is added to it.

Kilo Code's CLI is built on it and keeps its sessions and settings in the same way.

The settings about compaction are `compaction.auto`, `compaction.reserved` (`compaction.buffer` in opencode 2), the
limits of a model of the user's own, and those in the list of models that the program keeps.

Ullage is added by a plugin (`opencode_plugin.js`), since the settings know no hooks, and as an MCP server. Measured
with 1.18.33: after a compaction the next request is made from the messages in the database, which has the summary by
then. The plugin adds the brief to these messages each time; opencode keeps none of it, so a resumed session asks again.
What the plugin adds to the `context` of a compaction is at the end of the request for the summary.
"""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from ullage.agents.agent import AcpAgent, Agent, Facts, Sessions, common_facts, last_text
from ullage.agents.machine import Machine
from ullage.agents.opencode_sessions import FORMAT, TABLES, given_title
from ullage.agents.own_context import (
    ABSOLUTE,
    Exists,
    OwnContext,
    OwnPrompt,
    OwnSettings,
    Reading,
    Setup,
    Threshold,
    chosen_paths,
    in_repository,
    inner,
    positive,
    switch,
    switched_off,
    version_of,
)
from ullage.agents.wiring import GuideForm, McpPlace, SettingsFile, Wiring
from ullage.formats.parsing import parse_json
from ullage.formats.transcripts.format import parsed
from ullage.model.json_values import JsonObject, as_list, as_object, as_text


def _patterns(machine: Machine) -> tuple[str, ...]:
    """Returns glob patterns for opencode's databases (a test version has one of its own), and for the session files of
    older versions. They are the same on every operating system. `OPENCODE_DB` names another database, by a path that
    may be relative to the folder of the usual one."""
    folder = f"{machine.data}/opencode"
    named = machine.variables.get("OPENCODE_DB", "").replace("\\", "/")
    if named and not ABSOLUTE.match(named):
        named = f"{folder}/{named}"
    databases = (named,) if named else (f"{folder}/opencode.db", f"{folder}/opencode-*.db")
    return (*databases, f"{folder}/storage/session/*/*.json")


def _facts_of(path: str, records: Sequence[JsonObject]) -> Facts:
    facts = common_facts(path, records)
    ids = (as_text(record.get("id")) for record in records if "projectID" in record)
    model = as_text(as_object(parsed(facts.model)).get("id")) or facts.model
    return replace(facts, model=model, session_id=facts.session_id or next(ids, ""))


def _title_of(records: Sequence[JsonObject]) -> str:
    return given_title(last_text((as_object(record.get("row", record)) for record in records), "title"))


def _companions(path: str) -> tuple[str, ...]:
    # The files of a session's messages, and of their parts.
    folder, _, name = path.rpartition("/")
    if not folder.rpartition("/")[0].endswith("storage/session") or not name.endswith(".json"):
        return ()
    return (f"../../message/{name.removesuffix('.json')}/*.json", "../../part/*/*.json")


# Tokens. The most of an answer that is kept free of the window, and what is kept free of a model's largest prompt, if
# the settings name that.
_ANSWER, _RESERVED = 32_000, 20_000
# From this version on a buffer is kept free of the window and of the largest prompt (its documentation, "Compaction").
_BOTH_LIMITS = (2,)
# The variable that switches compaction off, after the program's name.
_OFF = "_DISABLE_AUTOCOMPACT"


def _threshold(setup: Setup) -> Threshold:
    """Returns the threshold by the largest prompt that the settings name, less the reserve, and no more than the
    longest answer has; or by the window less the longest answer, which must be known. From version 2 on the smaller of
    both, each less the reserve."""
    given = setup.given
    if given.automatic is False:
        return switched_off(given)
    longest = given.max_output or setup.max_output
    answer, reserve = min(longest or _ANSWER, _ANSWER), _RESERVED if given.reserve is None else given.reserve
    is_new = version_of(setup.version) >= _BOTH_LIMITS
    if is_new:
        kept = max(answer, reserve)
        of_window = f"{kept:,} tokens before the end of the window"
        if given.window is None or given.window - reserve >= setup.window - kept:
            return positive(setup.window - kept, of_window, given.name("reserve"))
    if given.window is not None:
        kept = min(reserve, longest or answer) if given.reserve is None and not is_new else reserve
        basis = f"{kept:,} tokens before the end of {given.window:,}"
        return positive(given.window - kept, basis, given.name("window"))
    if longest is None:
        return None
    kept = min(longest, _ANSWER)
    return positive(setup.window - kept, f"{kept:,} tokens, for the answer, before the end of the window")


def _files(name: str, machine: Machine) -> tuple[str, ...]:
    folder = f"{machine.folder('XDG_CONFIG_HOME', '.config')}/{name}"
    named = machine.variables.get(f"{name.upper()}_CONFIG", "").replace("\\", "/")
    folders = (folder, *((machine.cwd, f"{machine.cwd}/.{name}") if machine.cwd else ()))
    own, *project = (f"{place}/{name}.{ending}" for place in folders for ending in ("json", "jsonc"))
    first, *rest = project
    listed = f"{machine.folder('XDG_CACHE_HOME', '.cache')}/{name}/models.json"
    return (listed, own, first, *((named,) if named else ()), *rest)


def _read(prefix: str, reading: Reading) -> None:
    # The settings in this variable come after all files.
    inline, _ = parse_json(reading.variables.get(f"{prefix}_CONFIG_CONTENT", "").encode())
    for file in (*reading.files, as_object(inline)):
        if switch(inner(file, "compaction", "auto")) is False:
            reading.take("automatic", "compaction.auto", False)
        for name in ("reserved", "buffer"):
            reading.number("reserve", f"compaction.{name}", inner(file, "compaction", name))
        limits = [*_limits(as_object(file.get("provider")), reading.model)]
        # Several providers of the list may offer a model. Which one answers is not known.
        listed = [] if limits else [*_limits(file, reading.model)]
        for limit in limits or (listed[:1] if all(one == listed[0] for one in listed) else []):
            reading.size("model_window", "limit.context", limit.get("context"))
            reading.size("window", "limit.input", limit.get("input"))
            reading.size("max_output", "limit.output", limit.get("output"))
    # The variable comes after all files.
    off = f"{prefix}{_OFF}"
    if switch(reading.variables.get(off)):
        reading.take("automatic", off, False)


def _limits(providers: JsonObject, model: str) -> Iterator[JsonObject]:
    for provider in providers.values():
        if limit := as_object(inner(as_object(provider), "models", model, "limit")):
            yield limit


# Those besides the ones above do not change when a context is compacted.
_KNOWN = frozenset({"auto", "reserved", "buffer", "prune", "keep", "tail_turns", "model", "preserve_recent_tokens"})


def _own_settings(name: str, prefix: str) -> OwnSettings:
    known = _KNOWN | {f"{prefix}{_OFF}"}
    return OwnSettings(
        files=lambda machine: _files(name, machine),
        read=lambda texts: _read(prefix, texts),
        known=known,
        servers="mcp",
        prefix=prefix,
    )


SETTINGS, KILO_SETTINGS = _own_settings("opencode", "OPENCODE"), _own_settings("kilo", "KILO")


# Of these names only the first that the repository has counts.
_INSTRUCTIONS = ("AGENTS.md", "CLAUDE.md", "CONTEXT.md")


def _own_files(
    machine: Machine, settings: Sequence[JsonObject], exists: Exists, name: str = "opencode"
) -> Iterator[str]:
    everywhere = (f"{_folder(machine, name)}/AGENTS.md", machine.folder("", ".claude/CLAUDE.md"))
    yield from [path for path in everywhere if exists(path)][:1]
    folders = in_repository(machine, exists)
    found = ([path for folder in folders if exists(path := f"{folder}/{name}")] for name in _INSTRUCTIONS)
    yield from next(filter(None, found), ())
    yield from chosen_paths(machine, folders, (item for file in settings for item in as_list(file.get("instructions"))))


def _kilo_files(machine: Machine, settings: Sequence[JsonObject], exists: Exists) -> Iterator[str]:
    yield from _own_files(machine, settings, exists, "kilo")
    for folder in (machine.folder("", ""), *machine.in_project("")):
        yield from (f"{folder.rstrip('/')}/{name}/rules/*.md" for name in _KILO)


def _skills(
    machine: Machine, exists: Exists, name: str = "opencode", own: Sequence[str] = (".opencode",)
) -> Iterator[str]:
    shared = (*own, ".agents", ".claude")
    folders = (_folder(machine, name), *(machine.folder("", each) for each in shared))
    for folder in (*folders, *(f"{above}/{each}" for above in in_repository(machine, exists) for each in shared)):
        yield f"{folder}/skills/*/SKILL.md"


_KILO = (".kilo", ".kilocode")


def _folder(machine: Machine, name: str = "opencode") -> str:
    return f"{machine.folder('XDG_CONFIG_HOME', '.config')}/{name}"


WIRING = Wiring(
    word="opencode",
    files=(
        SettingsFile(
            path=lambda machine: f"{_folder(machine)}/opencode.jsonc",
            # In the order in which it chooses one to write to.
            instead=lambda machine: (f"{_folder(machine)}/opencode.json", f"{_folder(machine)}/config.json"),
            mcp_server=True,
            mcp_place=McpPlace(key="mcp", kind="local"),
        ),
        SettingsFile(
            path=lambda machine: f"{_folder(machine)}/plugin/ullage.js",
            syntax="whole",
            plugin=("plugin_call.js", "opencode_plugin.js"),
        ),
    ),
    summary_in_file=True,
    # Its own request for a summary has 2,900 characters.
    guide=GuideForm(characters=4_000, is_answer=True),
)

AGENT = Agent(
    name="opencode",
    formats=(FORMAT,),
    companions=_companions,
    sessions=Sessions(
        patterns=_patterns, title_of=_title_of, facts=_facts_of, table="session", newer_table="session_v2"
    ),
    tables=TABLES,
    # Measured by trial: 92,000 of 100,000 with answers of up to 8,000, and 52,000 with prompts of up to 60,000.
    own_context=OwnContext(threshold=_threshold),
    own_prompt=OwnPrompt(files=_own_files, skills=_skills),
    own_settings=SETTINGS,
    acp=AcpAgent(name="OpenCode", compact_command="compact", offers_command=False),
    wiring=WIRING,
)


KILO_AGENT = Agent(
    name="Kilo Code",
    short="Kilo",
    sessions=Sessions(
        patterns=lambda machine: (f"{machine.data}/kilo/kilo.db",),
        title_of=_title_of,
        format="opencode",
        facts=_facts_of,
        table="session",
    ),
    # Measured by trial: the same as opencode's.
    own_context=OwnContext(threshold=_threshold),
    own_prompt=OwnPrompt(files=_kilo_files, skills=lambda machine, exists: _skills(machine, exists, "kilo", _KILO)),
    own_settings=KILO_SETTINGS,
)
