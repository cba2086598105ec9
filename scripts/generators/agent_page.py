"""The facts in `docs/guide/agents.md`: what the table of agents says of each. The rest is written by hand."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from generators.agent_folders import Names, folders_of
from ullage.agents.agent import Agent
from ullage.agents.machine import Machine
from ullage.agents.own_context import OwnContext, Rule, Setup
from ullage.agents.table import AGENTS, word_of
from ullage.agents.wiring import SettingsFile

# The window, in tokens, for which it is said where an agent compacts: the commonest one of Claude's models.
_WINDOW = 200_000
_SYSTEMS = {"linux": "Linux", "darwin": "macOS", "win32": "Windows"}
_LINUX = Machine(system="linux", home="~", cwd="PROJECT")
_CAN = ("gives back (`wire`)", "new sessions (`continue`)", "process known")


def agent_tables() -> Mapping[str, str]:
    """Returns the tables by the names of their places: `all agents`, and each agent's name."""
    rows = (
        (
            f"[{agent.name}](#{word_of(agent)})",
            _compacts(agent) or "–",
            *("✓" if value else "–" for value in (agent.wiring, agent.writer, agent.processes)),
        )
        for agent in AGENTS
    )
    every = table(("agent", "where it compacts by itself", *_CAN), rows)
    return {"all agents": every, **{agent.name: table(("", ""), _facts(agent)) for agent in AGENTS}}


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Returns a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _facts(agent: Agent) -> Iterator[tuple[str, str]]:
    yield from _places(agent)
    yield "formats", _code(known.name for known in agent.formats) or "those of the agent that it is built on"
    if agent.own_settings and (files := agent.own_settings.files(_LINUX)):
        yield "settings that say where it compacts", _code(files)
    if agent.acp.compact_command:
        focus = ", with words about what to keep" if agent.takes_focus else ""
        yield "its command that compacts", f"`/{agent.acp.compact_command}`{focus}"
    for file in agent.wiring.files if agent.wiring else ():
        yield f"`wire` adds to `{file.path(_LINUX)}`", _added(file)
    if agent.retention:
        kept = f"after {agent.retention.default:.0f} days without a change; `{agent.retention.setting}` keeps them"
        yield "deletes conversations", kept


def _places(agent: Agent) -> Iterator[tuple[str, str]]:
    if agent.sessions is None:
        yield "conversations", "wherever you export them: name the file, `ullage context FILE`"
        return
    asked = _Asked()
    agent.sessions.patterns(Machine(system="linux", home="~", cwd="PROJECT", variables=asked))
    by_system = {
        name: folders_of(agent, Machine(system=system, home="~", cwd="PROJECT")) for system, name in _SYSTEMS.items()
    }
    for name, folders in by_system.items():
        same = [other for other, those in by_system.items() if those == folders]
        if same[0] == name:
            where = "" if len(same) == len(_SYSTEMS) else f" ({', '.join(same)})"
            # Editors built on VS Code keep the same in folders of their own.
            own = [folder for folder in folders if "Storage" not in folder or "/Code/User/" in folder]
            others = ", and the same of editors built on it" if len(own) < len(folders) else ""
            yield f"conversations{where}", _code(own) + others
    if asked.names:
        yield "variables that move them", _code(asked.names)


def _compacts(agent: Agent) -> str:
    known = agent.own_context.threshold
    if known is OwnContext().threshold:
        return ""
    rule = known(Setup(window=_WINDOW))
    if rule is None:
        return "by version, model and settings"
    return f"{rule.tokens:,} of {_WINDOW:,}: {rule.basis}" if isinstance(rule, Rule) else rule.basis


def _added(file: SettingsFile) -> str:
    events = ", ".join(dict.fromkeys(hook.event for hook in file.hooks))
    parts = (
        f"hooks ({events})" if events else "",
        "the status line, if you ask for it" if file.status_line else "",
        "the MCP server" if file.mcp_server else "",
        "a plugin of Ullage's own" if file.plugin else "",
    )
    return ", ".join(filter(None, parts))


def _code(words: Iterable[str]) -> str:
    return ", ".join(f"`{word}`" for word in dict.fromkeys(words))


class _Asked(Names):
    """An empty environment; `names` are the variables that were asked for."""

    def __init__(self) -> None:
        self.names: dict[str, None] = {}

    def __getitem__(self, key: str) -> str:
        if key:
            self.names[key] = None
        raise KeyError(key)
