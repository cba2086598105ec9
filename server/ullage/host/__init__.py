"""What differs between operating systems, behind one value: `this_system`, the rules of the one this process runs on.

They say how a file is replaced and locked, how a process is asked for, started apart and ended, and where data is kept.
Nobody else asks for the system's name but for terminals, streams and notices of changes, where the code itself differs.
Tests give it the class of another system (`tests/unit/host/test_other_systems.py`). Hooks and status lines start with
this module, so it imports little.
"""

import os
import sys
import time

from ullage.bounds import OWN_FILE, read_plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    class Apart(TypedDict, total=False):
        """Arguments of `subprocess` that part a child from this process."""

        start_new_session: bool
        creationflags: int


# Parents of a process that are looked at. A deeper tree is a fault.
_DEEPEST = 64


class System:
    """The rules of Linux, and of any other POSIX system that has no own."""

    def replace(self, own: str, path: str) -> None:
        """Moves a file over another one, at once as a whole. Raises `OSError`."""
        os.replace(own, path)  # noqa: PTH105  (hooks start without `pathlib`)

    def lock(self, descriptor: int) -> None:
        """Waits until no other process has the file locked, until it is closed; does nothing without locks."""
        if sys.platform != "win32":
            from fcntl import LOCK_EX, flock  # noqa: PLC0415

            try:  # noqa: SIM105  (importing contextlib takes a hook's time)
                flock(descriptor, LOCK_EX)
            except OSError:
                pass

    def data_folder(self, home: str) -> str:
        """Returns the folder for users' data. The specification of XDG says that a relative path is ignored."""
        named = os.path.expanduser(os.environ.get("XDG_DATA_HOME", "").strip())  # noqa: PTH111
        return named if os.path.isabs(named) else self._usual_data_folder(home)  # noqa: PTH117

    def _usual_data_folder(self, home: str) -> str:
        return f"{home}/.local/share"

    def policy(self, place: str) -> str:
        """Returns what administrators keep at a place of the registry, such as `HKLM/SOFTWARE/…/VALUE`, or ""."""
        del place
        return ""

    def runs(self, process_id: object) -> bool:
        """Returns whether such a process has not ended. A zombie counts as ended where the system says so."""
        if type(process_id) is not int or process_id <= 0:
            return False
        try:
            os.kill(process_id, 0)
        except PermissionError:
            # It is another user's.
            return True
        except (OSError, OverflowError):
            return False
        return self._status(process_id)[:1] not in ([b"Z"], [b"X"])

    def parent(self, process_id: int) -> int | None:
        """Returns the parent of a process, or None if the system does not show it."""
        status = self._status(process_id)
        return int(status[1]) if len(status) > 1 and status[1].isdigit() else None

    def ancestors(self, process_id: object) -> "list[int]":
        """Returns a process and its parents, as far as the system shows them; [] if there is no such process."""
        found: list[int] = []
        while type(process_id) is int and process_id > 0 and len(found) < _DEEPEST:
            found.append(process_id)
            process_id = self.parent(process_id)
        return found

    def _status(self, process_id: int) -> "list[bytes]":
        """Returns the fields of a process after its name, which may hold anything up to `)` (proc_pid_stat(5)); none
        if the system has no such file."""
        try:
            return read_plain(f"/proc/{process_id}/stat", OWN_FILE).rpartition(b")")[2].split()
        except OSError:
            return []

    # Whether to ask for a process does it no harm.
    sees_processes = True

    @property
    def ending(self) -> "tuple[int, ...]":
        """The signals by which others have a program end, in the terminal or without one."""
        if sys.platform == "win32":
            return ()
        import signal  # noqa: PLC0415

        return signal.SIGTERM, signal.SIGHUP

    def apart(self) -> "Apart":
        """Returns the arguments of `subprocess` that put a child into a group of its own, with which it is ended."""
        return {"start_new_session": True}

    def detached(self) -> "Apart":
        """Returns those for a child that goes on after this process, without its console."""
        return self.apart()

    def end(self, process_id: int, *, at_once: bool = False) -> bool:
        """Asks the group of a child that was started apart to end, or kills it. Returns whether the system knows such
        groups. Raises `OSError` if there is no such group."""
        if sys.platform != "win32":
            import signal  # noqa: PLC0415

            os.killpg(process_id, signal.SIGKILL if at_once else signal.SIGTERM)
        return True

    def end_self_after(self, seconds: int) -> None:
        """Ends this process after a time, even while a long call holds the interpreter, where the system can."""
        if sys.platform != "win32":
            import signal  # noqa: PLC0415

            signal.alarm(seconds)


class Mac(System):
    """The rules of macOS."""

    def parent(self, process_id: int) -> int | None:
        import subprocess  # noqa: PLC0415

        answer = subprocess.run(["ps", "-o", "ppid=", "-p", str(process_id)], capture_output=True, check=False)
        text = answer.stdout.strip()
        return int(text) if text.isdigit() else None

    def _usual_data_folder(self, home: str) -> str:
        return f"{home}/Library/Application Support"


class Windows(System):
    """The rules of Windows: no signals, no groups but those of console events, and a file that a program has open can
    mostly not be replaced."""

    # Seconds between tries to replace a file that another program has open, and tries. A virus scanner, an indexer and
    # an agent have one open for some milliseconds.
    pause, tries = 0.02, 25
    sees_processes = False

    def replace(self, own: str, path: str) -> None:
        for left in range(self.tries, 0, -1):
            try:
                return super().replace(own, path)
            except PermissionError:
                if left == 1:
                    raise
            time.sleep(self.pause)
        return None

    def lock(self, descriptor: int) -> None:
        """A file that is only appended to is not locked."""

    def data_folder(self, home: str) -> str:
        return os.environ.get("LOCALAPPDATA") or f"{home}\\AppData\\Local"

    def policy(self, place: str) -> str:
        if sys.platform == "win32":
            import winreg  # noqa: PLC0415

            root, _, rest = place.partition("/")
            folder, _, name = rest.rpartition("/")
            roots = {"HKLM": winreg.HKEY_LOCAL_MACHINE, "HKCU": winreg.HKEY_CURRENT_USER}
            try:
                with winreg.OpenKey(roots[root], folder.replace("/", "\\")) as key:
                    return str(winreg.QueryValueEx(key, name)[0])
            except OSError:
                pass
        return ""

    def runs(self, process_id: object) -> bool:
        # To ask could end the process.
        return type(process_id) is int and process_id > 0

    def parent(self, process_id: int) -> int | None:
        return os.getppid() if process_id == os.getpid() else None

    @property
    def ending(self) -> "tuple[int, ...]":
        return ()

    def apart(self) -> "Apart":
        # `CREATE_NEW_PROCESS_GROUP`.
        return {"creationflags": 0x200}

    def detached(self) -> "Apart":
        # `DETACHED_PROCESS`.
        return {"creationflags": 0x8}

    def end(self, process_id: int, *, at_once: bool = False) -> bool:
        del process_id, at_once
        return False

    def end_self_after(self, seconds: int) -> None:
        """Windows has no such clock."""


this_system: System = {"win32": Windows, "darwin": Mac}.get(sys.platform, System)()


def write_whole(path: str, data: bytes, mode: int = 0o600, mark: str = "", *, flush: bool = False) -> None:
    """Writes a file as a whole or not at all, by default for the user alone. Raises `OSError`; the old file is then
    kept. A run that is killed leaves a file whose name has the old one's after a dot, if there is a `mark`, which
    follows it. With `flush` the disk has the data before the file is in its place."""
    folder, name = os.path.split(path)
    # A process in another container may have the same id and the same home folder.
    own = os.path.join(folder, f"{'.' if mark else ''}{name}{mark or '.'}{os.getpid()}.{time.time_ns()}")  # noqa: PTH118
    # With `O_EXCL` a link that waits under this name is not followed.
    descriptor = os.open(own, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            if flush:
                file.flush()
                os.fsync(file.fileno())
        if mode != 0o600:
            os.chmod(own, mode)  # noqa: PTH101
        this_system.replace(own, path)
    except BaseException:
        try:  # noqa: SIM105
            os.unlink(own)  # noqa: PTH108
        except OSError:
            pass
        raise
