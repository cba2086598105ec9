"""What Ullage knows about Codex: where its sessions are, where it compacts, and how Ullage is added to it.

It compacts at nine tenths of its model's window, or earlier if `model_auto_compact_token_limit` says so. Measured by
trial with 0.169: 244,800 of 272,000 and 90,000 of 100,000; the setting only lowers it. The window that Codex reports in
its files is 95 % of the real one (258,400 of 272,000); older versions report the real one. Of older versions nothing is
known: 0.34 made calls with 271,000 of 272,000 tokens and did not compact.

Behind the proxy, its adapter reports a compaction as a tool call to a client without ACP's updates of compactions.

Ullage is added by hooks and as an MCP server. Measured with 0.166 and 0.169: right after a compaction its file has the
summary, and the hook `SessionStart` of source `compact` runs before the next request, after a `/compact` with the next
prompt. What the hook gives back is a developer message that the file keeps, so that a resumed session has it, too.

Codex runs no hook before the user has trusted it. When Codex itself writes `config.toml`, comments stay, but CR LF
becomes LF and a byte order mark goes.
"""

import tomllib
from collections.abc import Collection, Sequence

from msgspec.structs import replace

from ullage.agents.agent import AcpAgent, Agent, Facts, Sessions, common_facts, first_prompt, last_text
from ullage.agents.codex import early_log, rollout
from ullage.agents.codex.rollout import is_context, text_of
from ullage.agents.codex.segments import companions, references
from ullage.agents.codex.session_writer import WRITER
from ullage.agents.machine import Machine
from ullage.agents.own_context import OwnContext, OwnSettings, Reading, Rule, Setup, inner, number, version_of
from ullage.agents.wiring import Approval, HookInFile, HookPlace, SettingsFile, Wiring
from ullage.model.json_values import JsonObject, as_object, as_objects, as_text
from ullage.tokens.families import inner_names


def _patterns(machine: Machine) -> tuple[str, ...]:
    # In a folder per day, and those that the user archived. Codex compresses old ones with Zstandard.
    home = _folder(machine)
    places = (f"{home}/sessions/*/*/*/rollout-*.jsonl", f"{home}/archived_sessions/rollout-*.jsonl")
    return tuple(place + ending for place in places for ending in ("", ".zst"))


def _facts_of(path: str, records: Sequence[JsonObject]) -> Facts:
    facts = common_facts(path, records)
    heads = (as_object(record.get("payload")) for record in records if record.get("type") == "session_meta")
    head = as_object(next(heads, None))
    subagent = as_object(head.get("source")).get("subagent")
    spawned = as_object(as_object(subagent).get("thread_spawn"))
    return replace(
        facts,
        session_id=as_text(head.get("id")) or facts.session_id,
        is_side=facts.is_side or bool(subagent),
        parent=facts.parent or as_text(spawned.get("parent_thread_id")),
    )


def _title_of(records: Sequence[JsonObject]) -> str:
    payloads = [as_object(record.get("payload", record)) for record in records]
    messages = (text_of(payload) for payload in payloads if payload.get("role") == "user")
    return last_text(payloads, "thread_name") or first_prompt(text for text in messages if not is_context(text))


_SHARE = 0.9
_NOT_SO = (0, 35)
_LIMIT = "model_auto_compact_token_limit"
# The part of a window that Codex uses, and the windows in the list of models of 0.171.
_USED = 19, 20
_WINDOWS = {
    500_000: ("gpt-6.2-sol", "gpt-6.1-sol", "gpt-6.1-terra"),
    272_000: (
        *("gpt-6.2-astra", "gpt-6-astra", "gpt-6-sol", "gpt-6-luna"),
        *("gpt-5.6-sol", "gpt-5.6-terra", "gpt-5.6-luna", "gpt-5.5"),
    ),
}
# Features by which Codex compacts elsewhere, or begins a new context without a summary.
_UNCERTAIN = ("token_budget", "async_compaction")
_CATALOGUE = "model_catalog_json"
# Of what follows a compaction's prefix the limit counts other tokens than the context's (0.171).
_SCOPE, _WHOLE = f"{_LIMIT}_scope", "total"


def _threshold(setup: Setup) -> Rule | None:
    if () < version_of(setup.version) < _NOT_SO:
        return None
    # A real window is a whole number of tokens. 272,000 and 200,000 are not 95 % of one; 258,400 and 95,000 are.
    whole, rest = divmod(setup.window * _USED[1], _USED[0])
    window = setup.window if rest else whole
    tokens, limit, name = round(window * _SHARE), setup.given.tokens, setup.given.name("tokens")
    if limit and limit < tokens:
        return Rule(tokens=limit, basis=name, setting=name)
    return Rule(tokens=tokens, basis=f"Codex compacts at nine tenths of {window:,}", ignored=name)


def _files(machine: Machine) -> tuple[str, ...]:
    home = _folder(machine)
    return (f"{home}/models_cache.json", f"{home}/config.toml", *machine.in_project(".codex/config.toml"))


def _named(files: Sequence[JsonObject]) -> tuple[str, ...]:
    # The list of models that the user has put in place of Codex's own.
    return tuple(path for file in files if (path := as_text(file.get(_CATALOGUE))))[-1:]


def _read(reading: Reading) -> None:
    # In place of Codex's own list, which is another file's.
    is_replaced = any(file.get(_CATALOGUE) for file in reading.files)
    source = _CATALOGUE if is_replaced else "models_cache.json"
    for place, file in enumerate(reading.files):
        for listed in as_objects(file.get("models")) if not is_replaced or not place else ():
            if reading.model and listed.get("slug") == reading.model:
                _take_window(reading, f"{source}: context_window", number(listed.get("context_window")))
                reading.number("tokens", "auto_compact_token_limit", listed.get("auto_compact_token_limit"))
        _take_window(reading, "model_context_window", number(file.get("model_context_window")))
        for name, feature in as_object(file.get("features")).items():
            if name in _UNCERTAIN and (feature is True or as_object(feature).get("enabled") is True):
                reading.unknown = f"features.{name}"
        reading.number("tokens", _LIMIT, file.get(_LIMIT))
        profile = as_text(file.get("profile"))
        reading.number("tokens", _LIMIT, inner(file, "profiles", profile, _LIMIT))
        for scope in (file.get(_SCOPE), inner(file, "profiles", profile, _SCOPE)):
            if scope is not None:
                reading.unknown = "" if scope == _WHOLE else f"{_SCOPE}={scope}"


def _take_window(reading: Reading, name: str, tokens: float | None) -> None:
    if tokens:
        reading.take("model_window", name, _used(int(tokens)), f"{name}={tokens:g}")


def _window(setup: Setup) -> Rule | None:
    """Returns the window that Codex gives a model of its own list, whatever a router or an effort adds to its name."""
    found = ((tokens, name) for name in inner_names(setup.model) for tokens, names in _WINDOWS.items() if name in names)
    tokens, name = next(found, (0, ""))
    if not tokens:
        return None
    basis = f"Codex 0.171 gives {name} {tokens:,} tokens and uses 95% of them"
    return Rule(tokens=_used(tokens), basis=basis)


def _used(tokens: int) -> int:
    return tokens * _USED[0] // _USED[1]


# A prompt, and what belongs to settings without an effect on when Codex compacts.
_KNOWN = frozenset({_LIMIT, _SCOPE, "compact_prompt", "experimental_compact_prompt_file", "model_reasoning_summary"})
OWN_CONTEXT = OwnContext(window=_window, threshold=_threshold, is_exact=True)
SETTINGS = OwnSettings(files=_files, read=_read, named=_named, known=_KNOWN, servers="mcp_servers", prefix="CODEX")

ACP = AcpAgent(
    name="codex-acp",
    compact_command="compact",
    # No tool has this title: the adapter titles a tool call by its command, file or server.
    compaction_call=lambda update: update.get("title") == "Compact conversation",
    # The adapter reports Codex's window for prompts, 95 % of the model's.
    whole_window=lambda window: window * _USED[1] // _USED[0],
)

# Variables that say where sessions are. Codex gives an MCP server only a few others, unless its entry names them.
WITHHELD = ("CODEX_HOME", "XDG_DATA_HOME")
# The names of events in the keys under which Codex keeps what the user trusts.
_EVENTS = {
    "PreCompact": "pre_compact",
    "SessionStart": "session_start",
    "UserPromptSubmit": "user_prompt_submit",
    "Stop": "stop",
}


def _folder(machine: Machine) -> str:
    return machine.folder("CODEX_HOME", ".codex")


def _config_path(machine: Machine) -> str:
    return f"{_folder(machine)}/config.toml"


def _is_trusted(config: str, hooks: Collection[HookInFile]) -> bool:
    """Says whether the user has trusted these hooks. Codex keeps a hash of each under its place; what it hashes is its
    own, so a hook that has changed since is not noticed here."""
    try:
        states = as_object(as_object(tomllib.loads(config.removeprefix("\ufeff")).get("hooks")).get("state"))
    except tomllib.TOMLDecodeError:
        return False
    return all(
        any(as_object(states.get(f"{path}:{place}")).get("trusted_hash") for path in hook.paths)
        for hook in hooks
        if (place := f"{_EVENTS.get(hook.event, hook.event)}:{hook.group}:{hook.number}")
    )


WIRING = Wiring(
    word="codex",
    files=(
        SettingsFile(
            path=lambda machine: f"{_folder(machine)}/hooks.json",
            hooks=(
                HookPlace(event="PreCompact"),
                HookPlace(event="SessionStart", matcher="compact"),
                HookPlace(event="UserPromptSubmit"),
                HookPlace(event="Stop", for_notes=True),
            ),
        ),
        SettingsFile(path=_config_path, syntax="toml", mcp_server=True, mcp_variables=WITHHELD),
    ),
    approval=Approval(
        path=_config_path,
        is_given=_is_trusted,
        remedy="start `codex` in a terminal and choose *Trust all and continue* where it asks about hooks",
    ),
    windows_shell="cmd",
    summary_in_file=True,
)

AGENT = Agent(
    name="Codex",
    formats=(early_log.FORMAT, rollout.FORMAT),
    companions=companions,
    references=references,
    # Where its sessions are, and where the user's data are. Codex 0.166 gives its servers few variables, none with the
    # session's id.
    withheld_variables=WITHHELD,
    session_in_request=lambda meta: as_text(meta.get("threadId")),
    sessions=Sessions(patterns=_patterns, title_of=_title_of, facts=_facts_of),
    own_context=OWN_CONTEXT,
    own_settings=SETTINGS,
    writer=WRITER,
    acp=ACP,
    wiring=WIRING,
)
