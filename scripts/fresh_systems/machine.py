"""A system of its own for one installation: Debian's smallest, with nothing of this machine but its processor.

Linux alone has what this is made of (`debootstrap`, overlay mounts, namespaces), and root alone may use it.
"""

import os
import shutil
import subprocess
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

_PROGRAMS = ("debootstrap", "unshare", "chroot")
# Seconds: a mirror or a package registry may be slow. What runs without a network takes a few seconds.
_PATIENCE = 900.0
# This machine's certificates: the registries may be reached only with these. On the other system they have a path at
# which no package puts its own.
_CERTIFICATES, _COPIED = Path("/etc/ssl/certs/ca-certificates.crt"), "/etc/ssl/these.crt"
_ENVIRONMENT = {
    "HOME": "/root",
    "LANG": "C.UTF-8",
    "PATH": "/root/.local/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "DEBIAN_FRONTEND": "noninteractive",
    "PIP_CERT": _COPIED,
    "PIP_ROOT_USER_ACTION": "ignore",
    "SSL_CERT_FILE": _COPIED,
}
# A mirror may be weeks old.
_APT = "apt-get -o Acquire::Check-Valid-Until=false"
# Mounts the system of this installation, and runs a command in it. The mounts end with the command.
_ENTER = """
mount -t overlay overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" "$2/root"
mount -t proc proc "$2/root/proc"
exec chroot "$2/root" sh -ec "$3"
"""


class Broken(Exception):
    """A command failed on a machine. The message has the end of its output."""


class Ran(NamedTuple):
    """What a command printed, on both outputs, and the seconds that it took."""

    output: str
    seconds: float


class Machine(NamedTuple):
    """A system: its unchanged files, and the folder of what is changed in them."""

    base: Path
    changed: Path

    def run(self, command: str, *, network: bool) -> Ran:
        """Runs a shell's command as root. Raises `Broken` if it fails or takes too long."""
        alone = ["unshare", "--mount", "--pid", "--fork", "--kill-child", *([] if network else ["--net"])]
        words = [*alone, "sh", "-ec", _ENTER, "sh", str(self.base), str(self.changed), command]
        began = time.monotonic()
        try:
            done = _call(words, _ENVIRONMENT)
        except subprocess.TimeoutExpired as late:
            raise Broken(f"{command} took longer than {_PATIENCE:.0f} s") from late
        if done.returncode:
            raise Broken(f"{command} failed:\n{done.stdout[-2000:]}")
        return Ran(done.stdout, time.monotonic() - began)

    def put(self, file: Path, path: str) -> None:
        """Copies a file of this machine to a path there, before anything is run in it."""
        target = self.changed / "upper" / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)


def missing() -> str | None:
    """Returns why this machine can make no others, or None if it can."""
    if os.name != "posix" or os.geteuid() != 0:
        return "only root on Linux can make a system of its own"
    absent = [name for name in _PROGRAMS if shutil.which(name) is None]
    return f"there is no {absent[0]} (Debian: debootstrap util-linux)" if absent else None


def make_base(suite: str, folder: Path) -> Path:
    """Returns the files of Debian's smallest system, and downloads them the first time. Raises `Broken`."""
    base = folder / suite
    if not base.exists():
        making = folder / f"{suite}.part"
        shutil.rmtree(making, ignore_errors=True)
        making.mkdir(parents=True)
        done = _call(["debootstrap", "--variant=minbase", suite, str(making)], os.environ)
        if done.returncode:
            raise Broken(f"debootstrap failed:\n{done.stdout[-2000:]}")
        making.rename(base)
    return base


@contextmanager
def machine(base: Path, packages: str) -> Generator[Machine]:
    """Makes a system from these files with some of Debian's packages, and removes it in the end."""
    with TemporaryDirectory(prefix="ullage-fresh-") as folder:
        made = Machine(base, Path(folder))
        for name in ("upper", "work", "root"):
            (made.changed / name).mkdir()
        made.put(Path("/etc/resolv.conf"), "/etc/resolv.conf")
        if _CERTIFICATES.exists():
            made.put(_CERTIFICATES, _COPIED)
        made.run(f"{_APT} update -qq && {_APT} install -y -qq --no-install-recommends {packages}", network=True)
        yield made


def _call(words: list[str], environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        timeout=_PATIENCE,
        check=False,
    )
