"""What Ullage knows about pi: where its sessions are, its settings, where it compacts, and how Ullage is added to it.

The settings about compaction are `compaction.enabled` and `compaction.reserveTokens`, for a single model also
`compaction.modelOverrides`. An override of the user's own file counts more than the reserve of a project's.
`models.json` has the windows of models that the user added or changed.

Ullage is added by an extension (`plugin.js`), since the settings know no hooks, and as an MCP server, which pi has
since 1.0. Measured with 0.73.1 and 1.5.2: a compaction comes after a turn or before a prompt, and its summary is in the
file at once. The extension stores the brief with that prompt. Nothing can be added to the request for its summary: an
extension may only cancel a compaction or replace the whole summary (`SessionBeforeCompactResult` of 1.5.2).
"""

from collections.abc import Sequence

from msgspec.structs import replace

from ullage.agents.agent import AcpAgent, Agent, Sessions
from ullage.agents.machine import Machine, first_prompt, last_text
from ullage.agents.own_context import OwnContext, before_end
from ullage.agents.own_settings import Given, OwnSettings, Reading, Texts, inner, number, switch
from ullage.agents.pi.session_log import FORMAT, INSERTED
from ullage.agents.session_facts import Facts, common_facts
from ullage.agents.wiring import McpPlace, SettingsFile, Steering, Wiring
from ullage.model.json_values import JsonObject, as_object, as_objects, as_text


def patterns(machine: Machine) -> tuple[str, ...]:
    """Returns glob patterns for pi's session files: in a folder per project, a file per session. A folder that the user
    has chosen has the sessions of all projects."""
    default = f"{machine.folder('PI_CODING_AGENT_DIR', '.pi/agent')}/sessions/*/*.jsonl"
    chosen = machine.variables.get("PI_CODING_AGENT_SESSION_DIR")
    return (f"{machine.folder('PI_CODING_AGENT_SESSION_DIR', '')}/*.jsonl", default) if chosen else (default,)


def facts_of(path: str, records: Sequence[JsonObject]) -> Facts:
    """Returns the facts of a session. Its id is in the first record, of type `session`."""
    head = as_object(next((record for record in records if record.get("type") == "session"), None))
    return replace(common_facts(path, records), session_id=as_text(head.get("id")))


def title_of(records: Sequence[JsonObject]) -> str:
    """Returns a session's title from these of its records: the name that the user gave it, else the first line of the
    first prompt. Empty if they have neither."""
    messages = [as_object(record.get("message")) for record in records]
    named = last_text((record for record in records if record.get("type") == "session_info"), "name")
    return named or first_prompt(message.get("content") for message in messages if message.get("role") == "user")


def _files(machine: Machine) -> tuple[str, ...]:
    project = (f"{machine.cwd}/.pi/settings.json",) if machine.cwd else ()
    own = machine.folder("PI_CODING_AGENT_DIR", ".pi/agent")
    return (f"{own}/models.json", f"{own}/settings.json", *project)


def _read(texts: Texts) -> Given:
    reading = Reading()
    for file in texts.files:
        reading.take("automatic", "compaction.enabled", switch(inner(file, "compaction", "enabled")))
        reading.take("reserve", "compaction.reserveTokens", number(inner(file, "compaction", "reserveTokens")))
    for provider in as_objects([*as_object(inner(texts.files[0], "providers")).values()] if texts.files else []):
        listed = [one for one in as_objects(provider.get("models")) if one.get("id") == texts.model]
        for one in (*listed, as_object(inner(provider, "modelOverrides", texts.model))):
            reading.take("model_window", "models.json: contextWindow", number(one.get("contextWindow")) or None)
    for file in texts.files:
        for name, override in as_object(inner(file, "compaction", "modelOverrides")).items():
            # A model's name has the provider before it, which conversations are not counted by.
            if texts.model and name.partition("/")[2] == texts.model:
                setting = f"compaction.modelOverrides.{name}.reserveTokens"
                reading.take("reserve", setting, number(as_object(override).get("reserveTokens")))
    return reading.given()


_KNOWN = frozenset({"enabled", "reserveTokens", "keepRecentTokens", "modelOverrides"})
SETTINGS = OwnSettings(files=_files, read=_read, known=_KNOWN, prefix="PI_")


def _folder(machine: Machine) -> str:
    return machine.folder("PI_CODING_AGENT_DIR", ".pi/agent")


def _extension(machine: Machine) -> str:
    return f"{_folder(machine)}/extensions/ullage.js"


def _servers(machine: Machine) -> str:
    return f"{_folder(machine)}/mcp.json"


WIRING = Wiring(
    word="pi",
    folder=_folder,
    files=(
        # Otherwise the model only learns that there is a server, and calls its tools from scripts.
        SettingsFile(path=_servers, mcp_server=True, mcp_place=McpPlace(exposure="direct")),
        SettingsFile(path=_extension, syntax="whole", plugin=("plugin_call.js", "pi/plugin.js")),
    ),
    summary_in_file=True,
    steering=Steering(characters=4_000, is_answer=True),
)

AGENT = Agent(
    name="pi",
    formats=(FORMAT,),
    sessions=Sessions(patterns=patterns, title_of=title_of, facts_of=facts_of),
    # Read in its source, and measured: 89,639 of 100,000 are compacted.
    own_context=OwnContext(threshold=before_end(16_384)),
    own_settings=SETTINGS,
    acp=AcpAgent(compact_command="compact"),
    takes_focus=True,
    inserted=INSERTED,
    wiring=WIRING,
)
