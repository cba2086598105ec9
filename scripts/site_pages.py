"""`./scripts/docs OUT`: makes the documentation site in a folder, of the documents in the repository and of a page for
each coding agent: what the table of agents says of it, and what is particular.
"""

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import NamedTuple

from releasing.project import ROOT, read_project
from ullage.agents.agent import Agent
from ullage.agents.machine import Machine
from ullage.agents.own_context import OwnContext, Rule, Setup
from ullage.agents.table import AGENTS, word_of
from ullage.agents.wiring import SettingsFile

_SAVED_USAGE = "Its files have no usage, so the figure is always estimated."
_NEWEST_USAGE = "Its database has the usage of a session's newest request alone; what was before it is estimated."
_REWRITTEN = "It writes the file again for each message. Ullage reads it again, and shows what has changed."

PARTICULARS: Mapping[str, tuple[str, ...]] = {
    "Claude Code": (
        "Each answer has the provider's usage, so the figure is *reported* once a turn has ended.",
        "Its log is a tree: a rewind starts a new branch, and the branch that it continues on is the conversation.",
        "Where it compacts depends on its version and the model; compactions in your own logs correct the rule.",
        "After a compaction it forgets what was given back when the session is resumed. It is given again then.",
        "The same hooks are a plugin, too: [editors/claude-code](../editors/claude-code/README.md).",
    ),
    "Codex": (
        "It runs a hook only after you have trusted it: start `codex` in a terminal, *Trust all and continue*.",
        "The window in its files is 95 % of the model's. The threshold is nine tenths of the whole one.",
        "Compressed rollouts (`.zst`) are read as they are.",
    ),
    "Copilot Chat": (
        "VS Code keeps chats of other participants in the same files; of those only what the user saw is there.",
        "In that chat `@ullage` answers about a coding agent's conversation in the open folder.",
    ),
    "Copilot CLI": (
        "Its compaction runs in the background: messages that come meanwhile stay, and the figure has them.",
    ),
    "Gemini CLI": (
        "It tells no hook that it has compressed. The brief comes with the next prompt.",
        "The same hooks are an extension, too: [editors/gemini-cli](../editors/gemini-cli/README.md).",
    ),
    "opencode": (
        "It has no hooks in its settings. `wire` adds a plugin: it puts the brief into each request after that.",
        "It prunes old tool results before it compacts. What was cleared is marked, and can still be searched.",
    ),
    "Kilo Code": ("Its command line is built on opencode and keeps the same tables.",),
    "Cline": (_REWRITTEN,),
    "Roo Code": (_REWRITTEN,),
    "Crush": (
        "The list of its projects says where their databases are: each in the project's own `.crush` folder.",
        _NEWEST_USAGE,
    ),
    "goose": (_NEWEST_USAGE, "Sessions of older versions are files of their own, and are read, too."),
    "Kimi Code": ("A compaction keeps the user's newest messages before the summary, which Ullage shows as they are.",),
    "OpenHands": ("Each event is a file. The state, which has the usage, is written when a turn begins and ends.",),
    "aider": (
        "Its chat is Markdown in the project's folder. Token counts in it are rounded to two digits from 1,000 on.",
    ),
    "pi": (
        "It has no hooks in its settings. `wire` adds an extension, which stores the brief with the next prompt.",
        "A session is a tree of entries; the newest one is where the conversation continues.",
    ),
    "Qwen Code": ("Sub-agents have files of their own, and are listed under the session that started them.",),
    "Droid": ("Its usage is the sum of a session, which says nothing about the context, so the figure is estimated.",),
    "Cursor": (
        _SAVED_USAGE,
        "Of the editor's own chats only those of its command line are read. Results of tools are often not written.",
    ),
    "Antigravity": (_SAVED_USAGE,),
    "Grok CLI": (_SAVED_USAGE,),
    "Hermes": ("Only an exported session is read: it is not looked for on the machine.",),
}


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


# The front page, and the others in the order of the navigation: its heading, the page's title in it, and the document.
FRONT = "docs/guide/index.md"
PAGES: tuple[tuple[str, str, str], ...] = (
    ("Start", "Install", "docs/guide/install.md"),
    ("Start", "The figure", "docs/guide/figure.md"),
    ("Start", "Command line", "docs/guide/command-line.md"),
    ("With your agents", "Given back after a compaction", "docs/guide/given-back.md"),
    ("With your agents", "Status lines", "docs/guide/status-lines.md"),
    ("With your agents", "MCP", "docs/guide/mcp.md"),
    ("With your agents", "Plugin for Claude Code", "editors/claude-code/README.md"),
    ("With your agents", "Extension for Gemini CLI", "editors/gemini-cli/README.md"),
    ("With your agents", "Any agent, by the proxy", "server/PROXY.md"),
    ("In your editor", "All editors", "docs/guide/editors.md"),
    ("In your editor", "The first minutes in VS Code", "docs/guide/first-minutes.md"),
    ("In your editor", "VS Code", "editors/vscode/README.md"),
    ("In your editor", "Neovim", "editors/nvim/README.md"),
    ("In your editor", "Zed", "docs/guide/zed.md"),
    ("In your editor", "JetBrains", "docs/guide/jetbrains.md"),
    ("In your editor", "Emacs", "docs/guide/emacs.md"),
    ("In your editor", "Helix", "docs/guide/helix.md"),
    ("In your editor", "Any other", "editors/README.md"),
    ("Reference", "Settings", "docs/guide/settings.md"),
    ("Reference", "With a model", "docs/guide/models.md"),
    ("Reference", "In your own agent", "docs/guide/embedding.md"),
    ("Reference", "In an agent framework", "docs/guide/adapters.md"),
    ("Reference", "Cookbook for your own agent", "docs/guide/cookbook.md"),
    ("Reference", "Protocol", "protocol/README.md"),
    ("Reference", "In PostgreSQL", "docs/guide/postgresql.md"),
    ("Measured", "What becomes of each type of message", "docs/item_types.md"),
    ("Measured", "What survives an attack", "docs/reliability.md"),
    ("Measured", "How it compares", "docs/guide/comparison.md"),
    ("Inside", "Architecture", "server/ARCHITECTURE.md"),
    ("Inside", "Words", "docs/glossary.md"),
    ("Inside", "Release", "docs/RELEASE.md"),
    ("Inside", "Changes", "docs/CHANGELOG.md"),
)
_DOCUMENTS = frozenset((FRONT, *(document for _, _, document in PAGES)))
_LINK = re.compile(r"(!?\[[^\]]*\])\(([^)\s]+)\)")


def place(document: str) -> str:
    """Returns a document's path on the site. The guide's pages are at the top; other documents keep their folders."""
    return document.removeprefix("docs/guide/").removeprefix("docs/")


class Site(NamedTuple):
    """Where documents come from and go to: the checkout, the folder in which the pages are staged, and the repository's
    address on the web."""

    root: Path
    staged: Path
    repository: str


def stage(site: Site) -> None:
    """Copies the pages and their pictures, with links that hold on the site: a page leads to pages, and all else to the
    repository's own address. Raises `SystemExit` with each link that has no target."""
    broken: list[str] = []
    for document in (FRONT, *(document for _, _, document in PAGES)):
        text = (site.root / document).read_text(encoding="utf-8")
        target = site.staged / place(document)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(_LINK.sub(partial(_relinked, site, document, broken), text), encoding="utf-8")
    write_agent_pages(site.staged)
    with (site.staged / place(FRONT)).open("a", encoding="utf-8") as front:
        front.write(navigation())
    if broken:
        raise SystemExit("links without a target:\n" + "\n".join(broken))


def navigation() -> str:
    """Returns the site's navigation as MyST's directives: a hidden table of contents a heading."""
    headings: dict[str, list[str]] = {}
    for heading, title, document in _in_order():
        headings.setdefault(heading, []).append(f"{title} <{place(document).removesuffix('.md')}>")
    return "\n".join(
        "\n".join(["", "```{toctree}", ":hidden:", f":caption: {heading}", "", *entries, "```", ""])
        for heading, entries in headings.items()
    )


def _in_order() -> Iterable[tuple[str, str, str]]:
    """Yields the pages in the order of the navigation: those on each agent before the first on editors."""
    before = next(at for at, (heading, _, _) in enumerate(PAGES) if heading == "In your editor")
    yield from (*PAGES[:before], *agent_pages(), *PAGES[before:])


def _relinked(site: Site, document: str, broken: list[str], match: re.Match[str]) -> str:
    """Returns a link of a document as it is on its page. Adds one without a target to `broken`."""
    words, link = match.groups()
    name, mark, anchor = link.partition("#")
    if not name or "://" in link or link.startswith("mailto:"):
        return match.group()
    aim = os.path.normpath(PurePosixPath(document).parent / name).replace(os.sep, "/")
    if not (site.root / aim).exists():
        broken.append(f"{document}: {link}")
        return match.group()
    if aim in _DOCUMENTS:
        return f"{words}({_from(place(document), place(aim))}{mark}{anchor})"
    if words.startswith("!"):
        picture = site.staged / "images" / PurePosixPath(aim).name
        picture.parent.mkdir(exist_ok=True)
        picture.write_bytes((site.root / aim).read_bytes())
        return f"{words}({_from(place(document), f'images/{picture.name}')})"
    kind = "tree" if (site.root / aim).is_dir() else "blob"
    return f"{words}({site.repository}/{kind}/main/{aim}{mark}{anchor})"


def _from(page: str, target: str) -> str:
    return os.path.relpath(target, PurePosixPath(page).parent).replace(os.sep, "/")


# What Sphinx reads. Pages name headings of other pages as GitHub does.
_SETTINGS = {
    "extensions": ["myst_parser"],
    "myst_heading_anchors": 4,
    "html_theme": "furo",
    "html_copy_source": False,
    "html_show_sphinx": False,
    # The licence is named in the README.
    "html_show_copyright": False,
    # Examples of the protocol leave parts out, so they are not always JSON.
    "suppress_warnings": ["misc.highlighting_failure"],
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Makes the site in the given folder, whose files are replaced. Returns Sphinx' exit status: not 0 if a link or a
    heading that a page names is not there."""
    parser = argparse.ArgumentParser(prog="scripts/docs", description=__doc__)
    parser.add_argument("out", type=Path, metavar="OUT", help="the folder of the site")
    out: Path = parser.parse_args(arguments).out.resolve()
    project = read_project()
    with TemporaryDirectory(prefix="ullage-docs-") as folder:
        stage(Site(ROOT, Path(folder) / "pages", project.repository))
        settings = {**_SETTINGS, "project": project.name.capitalize(), "html_title": project.name.capitalize()}
        lines = [f"{name} = {value!r}" for name, value in settings.items()]
        (Path(folder) / "conf.py").write_text("\n".join(lines), encoding="utf-8")
        words = ["-m", "sphinx", "--fail-on-warning", "--keep-going", "--quiet", "-c", folder, "-d", f"{folder}/read"]
        return subprocess.run([sys.executable, *words, f"{folder}/pages", str(out)], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
