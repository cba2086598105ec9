"""Where programs keep their files, by operating system, as pure text.

Paths have forward slashes on every system. A pattern is a glob pattern with an absolute path.
"""

import re
from collections.abc import Iterable, Mapping
from itertools import islice

from msgspec import Struct

from ullage.model.json_values import JsonObject, as_object, as_objects, as_text

# Characters of a prompt in which its first lines are looked for.
_LONGEST = 10_000
# A slash command, also of a plugin, with nothing after it: "/clear", "/plugin:plan".
_COMMAND_ALONE = re.compile(r"/[\w:.-]{1,100}")
# The folders of VS Code and of the editors that are built on it.
_CODE_EDITORS = ("Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf")


class Machine(Struct, frozen=True, kw_only=True):
    """The facts that decide where programs keep their files: `sys.platform`, the home folder and the environment.

    `cwd` is the folder that the user works in, for programs that keep files there; empty if there is none. All
    paths are parts of glob patterns, so special characters in them are escaped.
    """

    system: str
    home: str
    variables: Mapping[str, str] = {}
    cwd: str = ""

    def folder(self, variable: str, default: str) -> str:
        """Returns the path that the environment variable `variable` holds, or else `default` under the home folder,
        with forward slashes."""
        named = self.variables.get(variable) or f"{self.home}/{default}"
        return named.replace("\\", "/").replace("//", "/").rstrip("/")

    @property
    def data(self) -> str:
        """The folder for programs' data by the XDG rules (`XDG_DATA_HOME`), which several programs follow on every
        system."""
        return self.folder("XDG_DATA_HOME", ".local/share")

    @property
    def settings(self) -> str:
        """The folder for programs' settings on this operating system, for example `~/.config` on Linux."""
        if self.system == "win32":
            return self.folder("APPDATA", "AppData/Roaming")
        if self.system == "darwin":
            return self.folder("", "Library/Application Support")
        return self.folder("XDG_CONFIG_HOME", ".config")

    def in_project(self, *names: str) -> tuple[str, ...]:
        """Returns the paths of files in the folder that the user works in; none if there is no such folder."""
        return tuple(f"{self.cwd}/{name}" for name in names) if self.cwd else ()

    def skills(self, own: str, in_project: str) -> tuple[str, ...]:
        """Returns glob patterns for the files of skills: in an agent's own folder, in `in_project` in the folder that
        the user works in, and in the folders `.agents` that several agents share."""
        folders = (own, self.folder("", ".agents"), *self.in_project(in_project, ".agents"))
        return tuple(f"{folder}/skills/*/SKILL.md" for folder in folders)

    def for_all_users(self, linux: str, mac: str, windows: str) -> str:
        """Returns the folder with settings for all users of this machine, by the operating system: names in `/etc`, in
        `/Library/Application Support`, and in drive C."""
        if self.system == "win32":
            return f"C:/{windows}"
        return f"/Library/Application Support/{mac}" if self.system == "darwin" else f"/etc/{linux}"

    def editor_folders(self, folder: str) -> tuple[str, ...]:
        """Returns the path of `folder` in the settings of VS Code and of each known editor that is built on it. They
        may not exist."""
        return tuple(f"{self.settings}/{editor}/{folder}" for editor in _CODE_EDITORS)

    def extension_folders(self, extension: str) -> tuple[str, ...]:
        """Returns the folders in which an extension keeps its files, in VS Code and each known editor that is built on
        it. They may not exist."""
        return self.editor_folders(f"User/globalStorage/{extension}")


def first_line(text: str) -> str:
    """Returns the first line of a prompt that is not blank, cut to 200 characters, to serve as a title. A line that
    ends with a colon is followed by the next one, and gives its place to a heading in Markdown. Returns an empty string
    if every line is blank."""
    lines = [*islice((line.strip() for line in text[:_LONGEST].splitlines() if not line.isspace() and line), 2)]
    if len(lines) > 1 and lines[0].endswith((":", "\uff1a")):
        heading = lines[1].lstrip("#").strip()
        return (heading if heading != lines[1] and heading else f"{lines[0]} {lines[1]}")[:200]
    return lines[0][:200] if lines else ""


def is_lone_command(text: str) -> bool:
    """Returns whether a text is a slash command without a word after it. It is a title only if nothing else was
    typed."""
    return _COMMAND_ALONE.fullmatch(text.rstrip()) is not None


def first_prompt(contents: Iterable[object]) -> str:
    """Returns the first line of the first content that a user typed (see `first_line`), or an empty string if there is
    none. A lone command gives its place to what was typed after it.

    A content is text, an object with a `text`, or a list of such objects. What programs insert is left out.
    """
    # Imported on use: it imports the table of agents, whose folders import this module.
    from ullage.agents.inserted import is_typed, without_inserted  # noqa: PLC0415

    command = ""
    for content in contents:
        parts = [as_text(part.get("text")) for part in as_objects(content)]
        for text in (as_text(content), as_text(as_object(content).get("text")), *parts):
            said = without_inserted(text).lstrip() if text else ""
            if said and not said.startswith("<") and is_typed(said):
                if not is_lone_command(said):
                    return first_line(said)
                command = command or first_line(said)
    return command


def last_text(records: Iterable[JsonObject], key: str) -> str:
    """Returns the value under `key` of the last record that has a text there which is not blank, without surrounding
    spaces. Returns an empty string if no record has one."""
    return next((text for record in reversed(list(records)) if (text := as_text(record.get(key)).strip())), "")
