"""Where programs keep their files, by operating system, as pure text.

Paths have forward slashes on every system. A pattern is a glob pattern with an absolute path.
"""

from collections.abc import Mapping

from msgspec import Struct

# The folders of VS Code and of the editors that are built on it.
_CODE_EDITORS = ("Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf")
# Those of their servers, in the home folder of the machine on which a window's extensions run (SSH, WSL, containers).
_CODE_SERVERS = (
    *(".vscode-server/data", ".vscode-server-insiders/data", ".vscodium-server/data", ".cursor-server/data"),
    *(".windsurf-server/data", ".local/share/code-server"),
)


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
        """Returns the path of `folder` in the settings of VS Code and of each known editor that is built on it, and in
        those of their servers. They may not exist."""
        editors = tuple(f"{self.settings}/{editor}" for editor in _CODE_EDITORS)
        servers = () if self.system == "win32" else tuple(f"{self.home}/{server}" for server in _CODE_SERVERS)
        return tuple(f"{editor}/{folder}" for editor in editors + servers)

    def extension_folders(self, extension: str) -> tuple[str, ...]:
        """Returns the folders in which an extension keeps its files, in VS Code, each known editor that is built on it,
        and their servers. They may not exist."""
        return self.editor_folders(f"User/globalStorage/{extension}")
