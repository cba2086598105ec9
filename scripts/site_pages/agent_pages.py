"""The site's pages on coding agents, one for each: what the table of agents says, and what is particular."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from site_pages.particulars import PARTICULARS
from ullage.agents.agent import Agent
from ullage.agents.machine import Machine
from ullage.agents.own_context import OwnContext, Rule, Setup
from ullage.agents.table import AGENTS, word_of
from ullage.agents.wiring import SettingsFile

HEADING = "Each agent"
FOLDER = "agents"
# The window, in tokens, for which a page says where the agent compacts: the commonest one of Claude's models.
_WINDOW = 200_000
_SYSTEMS = (("linux", "Linux"), ("darwin", "macOS"), ("win32", "Windows"))
# Editors built on VS Code keep the same files in folders of their own, which a page doesn't repeat.
_OTHER_EDITORS = ("Code - Insiders/", "VSCodium/", "Cursor/User/", "Windsurf/")


def agent_pages() -> tuple[tuple[str, str, str], ...]:
    """Returns for each page its heading in the navigation, its title and its path on the site, the index first."""
    agents = ((HEADING, agent.name, f"{FOLDER}/{word_of(agent)}.md") for agent in AGENTS)
    return ((HEADING, "All agents", f"{FOLDER}/index.md"), *agents)


def write_agent_pages(staged: Path) -> None:
    """Writes the index and a page for each agent into the folder of the staged pages."""
    folder = staged / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "index.md").write_text(_index(), encoding="utf-8")
    for agent in AGENTS:
        (folder / f"{word_of(agent)}.md").write_text(page_of(agent), encoding="utf-8")


def page_of(agent: Agent) -> str:
    """Returns an agent's page as Markdown."""
    rows = [f"| {name} | {text} |" for name, text in _facts(agent)]
    notes = [f"- {note}" for note in PARTICULARS.get(agent.name, ())]
    particular = ["", f"## What is particular to {agent.name}", "", *notes] if notes else []
    return "\n".join([f"# {agent.name}", "", "| | |", "|---|---|", *rows, *particular, *_next(agent), ""])


def _index() -> str:
    head = (
        "# All agents\n\nThe conversations of these agents are read from their own files, never changed, and shown "
        "while they continue. The tables are made from the same values that the program reads.\n\n"
        "| agent | where it compacts is known | gives back after a compaction (`wire`) | new sessions (`continue`) | "
        "which process has which conversation |\n|---|:-:|:-:|:-:|:-:|\n"
    )
    lines = (
        f"| [{agent.name}]({word_of(agent)}.md) | {_tick(_compacts(agent))} | {_tick(agent.wiring)} | "
        f"{_tick(agent.writer)} | {_tick(agent.processes)} |"
        for agent in AGENTS
    )
    return head + "\n".join(lines) + "\n"


def _tick(value: object) -> str:
    return "✓" if value else "–"


def _facts(agent: Agent) -> Iterator[tuple[str, str]]:
    yield from _places(agent)
    formats = ", ".join(f"`{known.name}`" for known in agent.formats)
    yield "what its files are", formats or "those of the agent that it is built on"
    yield "while it runs", _live(agent)
    yield "where it compacts by itself", _compacts(agent) or "not known to Ullage, so no distance is shown"
    if agent.own_settings:
        yield "settings that are read for that", _paths(agent.own_settings.files(_Asked("linux").machine))
    if agent.acp.compact_command:
        focus = ", with words about what to keep" if agent.takes_focus else ""
        yield "its own command that compacts", f"`/{agent.acp.compact_command}`{focus}"
    yield "what `ullage wire` changes", _wired(agent)
    yield "what `ullage continue` does", _continued(agent)
    if agent.retention:
        yield (
            "when it deletes conversations",
            (f"after {agent.retention.default:.0f} days without a change; `{agent.retention.setting}` keeps them"),
        )


def _places(agent: Agent) -> Iterator[tuple[str, str]]:
    if agent.sessions is None:
        yield "where its conversations are", "wherever you export them: name the file, `ullage context FILE`"
        return
    asked = _Asked("linux")
    found = {name: _plain(agent.sessions.patterns(_Asked(system).machine)) for system, name in _SYSTEMS}
    agent.sessions.patterns(asked.machine)
    common = found["Linux"]
    for name, patterns in found.items():
        same = [other for other, those in found.items() if those == patterns]
        if same[0] == name:
            systems = "" if len(same) == len(_SYSTEMS) else f" ({', '.join(same)})"
            yield f"where its conversations are{systems}", _paths(patterns)
    if any("/Code/User/" in pattern for pattern in common):
        yield (
            "in editors built on VS Code",
            "the same, in the editor's own folder: Insiders, VSCodium, Cursor, Windsurf",
        )
    if asked.names:
        yield "variables that move them", ", ".join(f"`{name}`" for name in asked.names)


def _plain(patterns: Sequence[str]) -> tuple[str, ...]:
    return tuple(pattern for pattern in patterns if not any(other in pattern for other in _OTHER_EDITORS))


def _live(agent: Agent) -> str:
    if agent.sessions is None:
        return "not followed"
    process = "; the process that has a conversation is known" if agent.processes else ""
    return f"followed live in VS Code, Neovim and `ullage watch`{process}"


def _compacts(agent: Agent) -> str:
    known = agent.own_context.threshold
    if known is OwnContext().threshold:
        return ""
    rule = known(Setup(window=_WINDOW))
    if rule is None:
        return "by rules for its version, its model and your settings: `ullage context` says which holds"
    if not isinstance(rule, Rule):
        return rule.basis
    return f"of {_WINDOW:,} tokens at {rule.tokens:,}: {rule.basis}"


def _wired(agent: Agent) -> str:
    wiring = agent.wiring
    if wiring is None:
        return "nothing: `wire` does not know it. If it has settings for [MCP](../mcp.md), they can name `ullage mcp`"
    files = "; ".join(f"`{file.path(_Asked('linux').machine)}`: {_added(file)}" for file in wiring.files)
    return f"{files}. `ullage unwire {wiring.word}` restores them byte for byte"


def _added(file: SettingsFile) -> str:
    events = ", ".join(dict.fromkeys(hook.event for hook in file.hooks))
    parts = (
        f"hooks ({events})" if events else "",
        "the status line, if you ask for it" if file.status_line else "",
        "the MCP server" if file.mcp_server else "",
        "a plugin of Ullage's own" if file.plugin else "",
    )
    return ", ".join(part for part in parts if part)


def _continued(agent: Agent) -> str:
    if agent.writer is None:
        return "reads its conversations; the new session is one of an agent that can be resumed so"
    return "writes a new session that it resumes, compacted or as it was at any message; the old one stays as it is"


def _next(agent: Agent) -> list[str]:
    word = word_of(agent)
    commands = [("ullage", "this folder's conversations, of all agents")]
    if agent.wiring:
        commands.append((f"ullage wire {agent.wiring.word}", "shows the change, and asks"))
    if agent.writer:
        commands.append((f"ullage continue --in {word} --preview", "writes nothing"))
    width = max(len(command) for command, _ in commands)
    return ["", "## Try it", "", *(f"    {command:<{width}}  # {what}" for command, what in commands)]


def _paths(paths: Sequence[str]) -> str:
    return ", ".join(f"`{path}`" for path in dict.fromkeys(paths))


class _Asked:
    """A machine whose home folder is `~` and whose environment is empty. `names` are the variables that were asked
    for."""

    def __init__(self, system: str) -> None:
        self.names: dict[str, None] = {}
        self.machine = Machine(system=system, home="~", variables=_Variables(self.names), cwd="PROJECT")


class _Variables(Mapping[str, str]):
    """No variables; notes each name that is looked up."""

    def __init__(self, names: dict[str, None]) -> None:
        self._names = names

    def __getitem__(self, name: str) -> str:
        if name:
            self._names[name] = None
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0
