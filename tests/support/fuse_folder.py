"""A folder on a file system without shared memory, as some have that are mounted over a network or into a virtual
machine. What happens in it is passed on to another folder.

It talks to Linux's FUSE itself (`include/uapi/linux/fuse.h`). Files are opened for direct I/O, for which Linux refuses
shared mappings, and with them SQLite's write-ahead log. Locks are Linux's own and hold between processes. Needs the
right to mount: `unshare --mount python -m support.fuse_folder REAL PROGRAM...` runs a program with the folder as its
last argument.
"""

import ctypes
import errno
import os
import stat
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

# What a request begins with: its length, what to do, its number, the file that it is about, and who asks.
_HEADER = struct.Struct("<IIQQIIII")
_ATTRIBUTES = struct.Struct("<6Q10I")
_DIRECT_IO = 1
_BY_HANDLE, _MODE, _SIZE, _OF_HANDLE = 1, 1, 8, 64
# Bytes of one write, and room for a request with one.
_MOST = 1 << 17
_ROOM = _MOST + 65_536
_FORGET, _INIT, _DESTROY, _INTERRUPT, _FORGET_MANY = 2, 26, 38, 36, 42
_NO_DEVICE = errno.ENODEV


class FuseFolder:
    """Answers the requests of Linux for a mounted folder."""

    def __init__(self, device: int, real: Path) -> None:
        self._device = device
        self._paths = {1: real}
        self._numbers = {real: 1}
        self._answers: dict[int, Callable[[int, bytes], bytes]] = {
            1: self._look_up,
            3: self._get_attributes,
            4: self._set_attributes,
            9: self._make_folder,
            10: lambda node, body: _done(self._named(node, body).unlink()),
            11: lambda node, body: _done(self._named(node, body).rmdir()),
            12: lambda node, body: self._rename(node, body, 8),
            14: self._open,
            15: _read,
            16: _write,
            17: lambda node, _: _statistics(self._paths[node]),
            18: lambda _, body: _done(os.close(_handle(body))),
            20: lambda _, body: _done(os.fsync(_handle(body))),
            25: lambda _, __: b"",
            27: lambda _, __: struct.pack("<QII", 0, 0, 0),
            28: self._list,
            29: lambda _, __: b"",
            30: lambda node, _: self._sync_folder(node),
            34: lambda _, __: b"",
            35: self._create,
            45: lambda node, body: self._rename(node, body, 16),
            _INIT: lambda _, __: _accept(),
        }

    def serve(self) -> None:
        """Answers until the folder is unmounted."""
        while True:
            try:
                request = os.read(self._device, _ROOM)
            except OSError as error:
                if error.errno == _NO_DEVICE:
                    return
                if error.errno in (errno.EINTR, errno.ENOENT):
                    continue
                raise
            _, what, number, node, *_ = _HEADER.unpack_from(request)
            if what in (_FORGET, _FORGET_MANY, _INTERRUPT):
                continue
            failure, answer = 0, b""
            try:
                answer = self._answer(what, node, request[_HEADER.size :])
            except OSError as error:
                failure = error.errno or errno.EIO
            os.write(self._device, struct.pack("<IiQ", 16 + len(answer), -failure, number) + answer)

    def _answer(self, what: int, node: int, body: bytes) -> bytes:
        if what not in self._answers:
            raise OSError(errno.ENOSYS, "")
        return self._answers[what](node, body)

    def _named(self, node: int, body: bytes) -> Path:
        return self._paths[node] / os.fsdecode(body.partition(b"\0")[0])

    def _number(self, path: Path) -> int:
        number = self._numbers.setdefault(path, len(self._paths) + 1)
        self._paths[number] = path
        return number

    def _entry(self, path: Path) -> bytes:
        attributes = _attributes(os.lstat(path))
        return struct.pack("<4Q2I", self._number(path), 0, 0, 0, 0, 0) + attributes

    def _look_up(self, node: int, body: bytes) -> bytes:
        return self._entry(self._named(node, body))

    def _get_attributes(self, node: int, body: bytes) -> bytes:
        flags, _, handle = struct.unpack_from("<IIQ", body)
        found = os.fstat(handle) if flags & _BY_HANDLE else os.lstat(self._paths[node])
        return struct.pack("<QII", 0, 0, 0) + _attributes(found)

    def _set_attributes(self, node: int, body: bytes) -> bytes:
        changed, handle, size, mode = struct.unpack_from("<I4xQQ44xI", body)
        if changed & _SIZE:
            os.truncate(handle if changed & _OF_HANDLE else self._paths[node], size)
        if changed & _MODE:
            self._paths[node].chmod(stat.S_IMODE(mode))
        return struct.pack("<QII", 0, 0, 0) + _attributes(os.lstat(self._paths[node]))

    def _make_folder(self, node: int, body: bytes) -> bytes:
        path = self._named(node, body[8:])
        path.mkdir(stat.S_IMODE(struct.unpack_from("<I", body)[0]))
        return self._entry(path)

    def _rename(self, node: int, body: bytes, before_names: int) -> bytes:
        (folder,) = struct.unpack_from("<Q", body)
        old, new, *_ = body[before_names:].split(b"\0")
        source, target = self._paths[node] / os.fsdecode(old), self._paths[folder] / os.fsdecode(new)
        source.rename(target)
        # The number stays with the file.
        if (number := self._numbers.pop(source, None)) is not None:
            self._numbers[target], self._paths[number] = number, target
        return b""

    def _open(self, node: int, body: bytes) -> bytes:
        (flags,) = struct.unpack_from("<I", body)
        return struct.pack("<QII", os.open(self._paths[node], flags & ~(os.O_EXCL | os.O_CREAT)), _DIRECT_IO, 0)

    def _create(self, node: int, body: bytes) -> bytes:
        flags, mode = struct.unpack_from("<II", body)
        path = self._named(node, body[16:])
        handle = os.open(path, flags | os.O_CREAT, stat.S_IMODE(mode))
        return self._entry(path) + struct.pack("<QII", handle, _DIRECT_IO, 0)

    def _sync_folder(self, node: int) -> bytes:
        folder = os.open(self._paths[node], os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
        return b""

    def _list(self, node: int, body: bytes) -> bytes:
        _, start, size = struct.unpack_from("<QQI", body)
        listed = b""
        for at, entry in enumerate(sorted(one.name for one in self._paths[node].iterdir())[start:], start + 1):
            name = os.fsencode(entry)
            one = struct.pack("<QQII", at, at, len(name), 0) + name
            one += bytes(-len(one) % 8)
            if len(listed) + len(one) > size:
                break
            listed += one
        return listed


@contextmanager
def mounted(real: Path) -> Generator[Path]:
    """Mounts a folder whose files are those of `real`, and yields its path. Raises `OSError` if it may not."""
    device = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={device},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()},allow_other"
    libc = ctypes.CDLL(None, use_errno=True)
    with tempfile.TemporaryDirectory(prefix="ullage-fuse-") as name:
        if libc.mount(b"ullage", name.encode(), b"fuse", 0, options.encode()):
            failure = ctypes.get_errno()
            raise OSError(failure, os.strerror(failure), name)
        answering = Thread(target=FuseFolder(device, real).serve, daemon=True)
        answering.start()
        try:
            yield Path(name)
        finally:
            # Also if something still has a file open.
            subprocess.run(["umount", "--lazy", name], check=True)


def _accept() -> bytes:
    """Returns the answer to the first request: version 7.31, without any of its extras."""
    return struct.pack("<4I2H2I2H8I", 7, 31, 0, 0, 12, 9, _MOST, 1, 0, 0, *[0] * 8)


def _done(_: None) -> bytes:
    return b""


def _handle(body: bytes) -> int:
    return struct.unpack_from("<Q", body)[0]


def _read(_: int, body: bytes) -> bytes:
    handle, offset, size = struct.unpack_from("<QQI", body)
    return os.pread(handle, size, offset)


def _write(_: int, body: bytes) -> bytes:
    handle, offset, size = struct.unpack_from("<QQI", body)
    return struct.pack("<II", os.pwrite(handle, body[40 : 40 + size], offset), 0)


def _attributes(found: os.stat_result) -> bytes:
    times = [found.st_atime_ns, found.st_mtime_ns, found.st_ctime_ns]
    whole, rest = [one // 1_000_000_000 for one in times], [one % 1_000_000_000 for one in times]
    owner = (found.st_mode, found.st_nlink, found.st_uid, found.st_gid, 0, 4_096, 0)
    return _ATTRIBUTES.pack(found.st_ino, found.st_size, found.st_blocks, *whole, *rest, *owner)


def _statistics(path: Path) -> bytes:
    found = os.statvfs(path)
    return struct.pack(
        "<5Q10I",
        *(found.f_blocks, found.f_bfree, found.f_bavail, found.f_files, found.f_ffree),
        *(found.f_bsize, found.f_namemax, found.f_frsize, *[0] * 7),
    )


if __name__ == "__main__":
    with mounted(Path(sys.argv[1])) as folder:
        done = subprocess.run([*sys.argv[2:], folder], check=False)
    sys.exit(done.returncode)
