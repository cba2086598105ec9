"""What a shell command does to files, and whether it is a test run. Conservative: in doubt it says nothing."""

import re
import shlex
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

from ullage.model.artifacts import FileAction

_HEREDOC = re.compile(r"<<-?\s{0,3}['\"]?(\w{1,40})['\"]?")
_SEPARATOR = re.compile(r"&&|\|\||[;\n|]")
_LEADING_CD = re.compile(r"^\s*cd\s+(\"[^\"]+\"|'[^']+'|\S+)\s*(?:&&|;|\n)\s*")
_PREAMBLE = re.compile(r"\s*(?:set [-+]\w+.*|#.*|\\|:)?\s*$")
_NOT_A_FILE = re.compile(r"[*?$(){}\[\]<>|&;`\"'=,!^%]|^-|^/dev/|^\d+$|^\.+$|^/$|://")
_FILE = re.compile(r"[\w~./@+-]*(?:\.[A-Za-z0-9]\w*|/[\w.@+-]+|Makefile|Dockerfile|LICENSE|README)$")
_TEST = re.compile(
    r"\b(?:pytest|py\.test|unittest|tox|nox|jest|vitest|mocha|ava|rspec|phpunit|ctest|runtests\.py|nextest)\b"
    r"|\b(?:cargo|go|mix|npm|pnpm|yarn|bun|deno|make|just|gradlew?|mvn|dotnet|swift|zig|rake|stack|cabal|bazel)"
    r"\s+(?:run\s+)?(?:\S+:)?(?:test|check)\b|\bbin/test\b|\./test\b|\btest_\w+\.py\b|\brun_tests?\b"
)
_LOOKS_ONLY = {
    "ls", "cat", "head", "tail", "less", "grep", "rg", "find", "fd", "pwd", "cd", "echo", "wc", "which", "tree", "nl",
    "stat", "file", "type", "env", "printenv", "date", "sort", "uniq", "awk", "cut", "true", "diff", "sleep", "printf",
}  # fmt: skip
_GIT_LOOKS = {"status", "diff", "log", "show", "branch", "rev-parse", "ls-files", "blame", "grep", "remote", "config"}
_READERS = {"cat", "head", "tail", "less", "nl", "bat", "wc"}
_MAX_COMMAND = 6000

Touch = tuple[str, FileAction]


def without_cd(command: str) -> tuple[str, str]:
    """The command without the `cd` it starts with, and the folder that goes to ("" if none)."""
    match = _LEADING_CD.match(command)
    if match is None:
        return command.strip(), ""
    return command[match.end() :].strip(), match[1].strip("\"'")


def first_line(command: str) -> str:
    """The first line of a command that does something."""
    lines = without_cd(command)[0].split("\n")
    return next((line.strip() for line in lines if not _PREAMBLE.match(line)), lines[0])


def is_test(command: str) -> bool:
    """Whether the command runs tests."""
    return _TEST.search(_bare(command)) is not None


def only_looks(command: str) -> bool:
    """Whether every part of the command merely shows something."""
    return all(_segment_looks(words) for words in _segments(command))


def touched_files(command: str) -> list[Touch]:
    """Files the command reads, writes or removes, as far as its words show."""
    rest, folder = without_cd(command)
    touches = [touch for words in _segments(rest) for touch in _touches(words)]
    return [(_join(folder, path), action) for path, action in touches if _is_file(path)]


def _bare(command: str) -> str:
    """Without the bodies of here-documents: they are data."""
    kept: list[str] = []
    ending = ""
    for line in command[:_MAX_COMMAND].split("\n"):
        if ending:
            ending = "" if line.strip() == ending else ending
            continue
        opening = _HEREDOC.search(line)
        ending = opening[1] if opening else ""
        kept.append(_HEREDOC.sub("", line))
    return "\n".join(kept)


@lru_cache(maxsize=512)
def _segments(command: str) -> tuple[list[str], ...]:
    """The words of each part of a command line; remembered because a command is asked about more than once."""
    return tuple(words for segment in _SEPARATOR.split(_bare(command)) if (words := _words(segment)))


def _words(segment: str) -> list[str]:
    spaced = re.sub(r"(\d?>{1,2}(?!&))", r" \1 ", segment)
    try:
        return shlex.split(spaced, comments=True)
    except ValueError:
        return spaced.split()


def _segment_looks(words: list[str]) -> bool:
    if any(word in (">", ">>") for word in words):
        return False
    if words[0] == "git":
        return len(words) > 1 and words[1] in _GIT_LOOKS
    if words[0] == "sed":
        return "-i" not in words
    return words[0] in _LOOKS_ONLY


def _touches(words: list[str]) -> Iterator[Touch]:
    yield from _redirections(words)
    name, arguments = words[0], [word for word in words[1:] if not word.startswith("-")]
    if ">" in words or ">>" in words:
        return
    if name in _READERS:
        yield from ((path, FileAction.READ) for path in arguments)
    elif name == "sed" and arguments:
        in_place = any(word.startswith("-i") for word in words)
        yield arguments[-1], FileAction.MODIFIED if in_place else FileAction.READ
    elif name in ("rm", "unlink") or words[:2] == ["git", "rm"]:
        yield from ((path, FileAction.DELETED) for path in arguments)
    elif name == "touch":
        yield from ((path, FileAction.CREATED) for path in arguments)
    elif name == "tee" and arguments:
        yield arguments[0], FileAction.MODIFIED if "-a" in words else FileAction.CREATED
    else:
        yield from _moves(words, arguments)


def _moves(words: list[str], arguments: list[str]) -> Iterator[Touch]:
    if words[:2] == ["git", "mv"]:
        arguments = arguments[1:]
    elif words[0] not in ("mv", "cp"):
        return
    if len(arguments) == 2:
        if words[0] != "cp":
            yield arguments[0], FileAction.DELETED
        yield arguments[1], FileAction.CREATED


def _redirections(words: list[str]) -> Iterator[Touch]:
    for sign, target in pairwise(words):
        if sign in (">", "1>"):
            yield target, FileAction.CREATED
        elif sign in (">>", "1>>"):
            yield target, FileAction.MODIFIED


def _is_file(path: str) -> bool:
    return _FILE.search(path) is not None and _NOT_A_FILE.search(path) is None and not path.endswith("/")


def _join(folder: str, path: str) -> str:
    if not folder or path.startswith(("/", "~")):
        return path
    return f"{folder.rstrip('/')}/{path.removeprefix('./')}"
