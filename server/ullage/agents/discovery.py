"""Conversations found among agents' files: which ones are wanted, and what a list shows of them."""

import re
from functools import lru_cache
from hashlib import sha256
from unicodedata import normalize

from msgspec import Struct

# A drive as Windows and as WSL have it, and what Windows has before a folder of WSL.
_DRIVE = re.compile(r"(?://[?.]/)?([A-Za-z]):(?=/|$)|/mnt/([A-Za-z])(?=/|$)")
_IN_WSL = re.compile(r"^//wsl(?:\$|\.localhost)/[^/]+(?=/)", re.IGNORECASE)
_NOT_IN_NAMES = re.compile(r"[^a-z0-9]+")
_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
# The path under which the rows of one conversation in a database are kept: the database's, then the id.
_ROWS = re.compile(r"(?P<database>.+\.(?:db|sqlite))[/\\](?P<id>[^/\\]+)\.jsonl", re.DOTALL)
# Endings of the names of agents' databases.
DATABASES = (".db", ".sqlite")
# Names that an agent gives to the file of each conversation. The folders' names differ.
_SAME_NAMES = frozenset({"events", "wire", "chat_history", "base_state", "api_conversation_history"})


class Found(Struct, frozen=True, kw_only=True):
    """A conversation on this machine, as a list shows it. A text is "" if it is not known.

    `run` is the conversation's number, counted from 1, in a file that contains several, otherwise None. `origin_id` is
    the agent's own id of it. `format` is the name of the file's format, `model` the model used last, and `cwd` the
    folder in which it began. `updated_at` is Unix milliseconds, `size` the size of the file in bytes. `used`, `window`
    and `percent` say how full the context is, in tokens, as far as they are known.
    """

    path: str
    agent: str
    format: str
    updated_at: int
    size: int
    run: int | None = None
    origin_id: str = ""
    title: str = ""
    cwd: str = ""
    model: str = ""
    used: int | None = None
    window: int | None = None
    percent: int | None = None


def origin_in(path: str) -> str:
    """Returns the id of a conversation according to the path of its file, which has forward slashes: the last UUID in
    the path; without one, the file's name without its ending, or the name of its folder if the agent gives all such
    files the same name."""
    ids = _UUID.findall(path)
    if ids:
        return ids[-1]
    folder, _, name = path.rpartition("/")
    stem = name.lstrip(".").partition(".")[0]
    return folder.rpartition("/")[2] if stem in _SAME_NAMES else stem


def kept_path(path: str, origin_id: str) -> str:
    """Returns the path under which the archive keeps a conversation: that of its file, or, in a database, a made-up one
    in it, `DATABASE/ID.jsonl`. Returns "" for a conversation in a database whose id is not known or is no name."""
    if not path.endswith(DATABASES):
        return path
    kept = f"{path}/{origin_id}.jsonl"
    return kept if origin_id and rows_at(kept) == (path, origin_id) else ""


def rows_at(path: str) -> tuple[str, str] | None:
    """Returns the database and the conversation's id of a path that `kept_path` made up. Returns None for any other
    path."""
    match = _ROWS.fullmatch(path)
    return (match["database"], match["id"]) if match else None


def is_in(folder: str, parent: str) -> bool:
    """Returns whether `folder` is `parent` or is inside it. Both are absolute paths; if one of them is "", returns
    False."""
    own, outer = (_compared(path) for path in (folder, parent))
    return bool(own and outer) and (own == outer or own.startswith(outer.rstrip("/") + "/"))


def is_kept_for(path: str, folder: str) -> bool:
    """Returns whether an agent keeps the file at `path` for the folder `folder`, as far as a folder on the way to the
    file is named after it. Many agents do so, each with other characters between the words; Gemini CLI did by a digest.
    """
    above = _marks_above(_slashed(path).rpartition("/")[0])
    # The name of a folder at the root may stand for many things.
    is_named = _slashed(folder).strip("/").count("/") > 0 and _marked(folder) in above
    return is_named or _digest(folder) in above


@lru_cache(1_000)
def _marks_above(folder: str) -> frozenset[str]:
    return frozenset(map(_marked, folder.split("/")))


@lru_cache(1_000)
def _marked(path: str) -> str:
    return _NOT_IN_NAMES.sub("-", path.lower()).strip("-")


@lru_cache(1_000)
def _digest(folder: str) -> str:
    return sha256(folder.encode("utf-8", "surrogatepass")).hexdigest()


def _slashed(path: str) -> str:
    return path.replace("\\", "/")


@lru_cache(1_000)
def _compared(path: str) -> str:
    """Returns a path in the form in which paths are compared: with forward slashes, whole letters where macOS has a
    letter and its accent, and in lower case on a drive of Windows or a Mac's disk. WSL's and Windows' names of a folder
    become the same."""
    slashed = _IN_WSL.sub("", _slashed(path if path.isascii() else normalize("NFC", path)))
    if drive := _DRIVE.match(slashed):
        slashed = f"{drive[1] or drive[2]}:{slashed[drive.end() :]}"
    return slashed.lower() if drive or slashed.startswith("/Users/") else slashed


class Wanted(Struct, frozen=True, kw_only=True):
    """Which conversations to find: at most `limit`, first those of `folder` and the folders in it, then the others,
    each newest first.

    `folder` is an absolute path, or "". If `alone` is true, the others are left out. `origin` is how the agent's own id
    of a conversation must begin; "" accepts every id.
    """

    limit: int
    folder: str = ""
    alone: bool = False
    origin: str = ""


class UnreadFile(Struct, frozen=True, kw_only=True):
    """A file that could not be read, and the reason in words."""

    path: str
    reason: str


class Discovery(Struct, frozen=True, kw_only=True):
    """The conversations that were found, and the files that could not be read. The conversations of the wanted folder
    are first, then the others, each newest first."""

    conversations: tuple[Found, ...] = ()
    unread: tuple[UnreadFile, ...] = ()
