"""Reads from a shell command what it does to files, whether it runs tests and whether it only reads.

If that is not clear, the answer is no file, or False. A command is split into parts at `&&`, `||`, `;`, `|` and line
ends outside quotes. Bodies of here-documents are data and are left out. A substitution (`$(…)`) is part of a word, and
its commands are parts as well. After `=` it is no word: `out=$(pytest)` runs a command for its own sake.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from ullage.model.expressions import expression
from ullage.model.message import FileAction

HEREDOC = expression(r"<<-?\s{0,3}['\"]?(\w{1,40})['\"]?")
# Of up to 200 characters, and what is in another one inside it: enough for names, and bounded for hostile texts.
_SUBSTITUTED = r"\$\((?:[^()]|\([^()]{0,200}\)){0,200}+\)"
_SUBSTITUTION = expression(_SUBSTITUTED)
# The joint of a part that is in a substitution.
SUBSTITUTED = "$("
# A comment, the sign of a redirection, a joint or a word. The last three are groups.
_TOKEN = expression(
    rf"""(?:[ \t\r]|\\\n)*+(?:
    \#[^\n]*
    |([\d&]?>>?[&|]?|<+)
    |(&&|\|\||\|&?|[;&\n()])
    |((?:(?<!=){_SUBSTITUTED}|[^\s;|&<>()"'\\$]++|\$|\\.|"(?:[^"\\]++|\\.)*"|'[^']*')+|.))""",
    re.VERBOSE | re.DOTALL,
)
_QUOTED = expression(r"\"((?:[^\"\\]|\\.)*)\"|'([^']*)'|\\(.)", re.DOTALL)
_SIGNS_OF_QUOTES = expression(r"[\"'\\]")
_EXPANDS = expression(r"[$`*?]")
_ESCAPED = expression(r"\\([\\\"$`])")
_LEADING_CD = expression(r"^\s*cd\s+(\"[^\"]+\"|'[^']+'|\S+?)\s*(?:&&|;|\n)\s*")
_PREAMBLE = expression(r"\s*+(?:set [-+]\w+.*|#.*|\\|:)?\s*$")
_NOT_A_FILE = expression(r"[*?$(){}\[\]<>|&;`\"'=,!^%]|^-|^/dev/|^\d+$|^\.+$|^/$|://")
_FILE = expression(r"(?:\.[A-Za-z0-9]\w*|/[\w.@+-]+|Makefile|Dockerfile|LICENSE|README)$")
_TEST = expression(
    r"\b(?:(?:pytest|py\.test|unittest|tox|nox|jest|vitest|mocha|ava|rspec|phpunit|ctest|runtests\.py|nextest)\b"
    r"|(?:cargo|go|mix|npm|pnpm|yarn|bun|deno|make|just|gradlew?|mvn|dotnet|swift|zig|rake|stack|cabal|bazel|mise|task|nx|poe|hatch)"
    r"\s+(?:run\s+)?(?:\S+:)?(?:test|check)\b|(?:python[\d.]*|run) (?:[^\s;|&]+ ){0,9}[^\s;|&]*\btest_\w+\.py\b"
    r"|bin/test\b|run_tests?\b)|\./test\b"
)
_LOOKS_ONLY = {
    "ls", "cat", "head", "tail", "less", "grep", "rg", "find", "fd", "pwd", "cd", "echo", "wc", "which", "tree", "nl",
    "stat", "file", "type", "env", "printenv", "date", "sort", "uniq", "awk", "cut", "true", "diff", "sleep", "printf",
    "jq", "xxd", "od", "strings", "column", "tr", "ps", "df", "du", "id", "whoami", "uname", "realpath", "basename",
    "dirname",
}  # fmt: skip
_GH_LOOKS = {"view", "list", "diff", "status", "checks"}
_GH_SENDS = {"-X", "--method", "-f", "-F", "--field", "--raw-field", "--input"}
_GIT_LOOKS = {
    "status", "diff", "log", "show", "branch", "rev-parse", "ls-files", "blame", "grep", "remote", "config", "ls-tree",
    "ls-remote", "cat-file", "describe", "shortlog", "merge-base", "rev-list", "for-each-ref", "show-ref",
}  # fmt: skip
# Words of loops and conditions before a command, and those that are a part of their own.
_BEFORE_COMMAND = {"do", "then", "else", "elif", "if", "while", "until", "!", "{"}
_AROUND_COMMANDS = {"for", "read", "done", "fi", "}"}
_ASSIGNS = expression(r"[A-Za-z_]\w*=")
_READERS = {"cat", "head", "tail", "less", "nl", "bat", "wc"}
# For each program the options with which it prints lines of one file unchanged. A group is the number of the first
# line.
_SHOWS = {
    "cat": expression(r"(?:-[nA])?"),
    "nl": expression(r"(?:-b ?a|-n|-A)?"),
    "head": expression(r"(?:-n ?\d+|-\d+)?"),
    "tail": expression(r"(?:-n ?[+\d]+|-\d+)?"),
    "sed": expression(r"-n (\d+)(?:, ?(?:\d+|\$))?p"),
}
_FILTERS = expression(r"(?:head|tail|sed -n|cat -n)\b")
_WRITES = {">": FileAction.CREATED, "1>": FileAction.CREATED, "&>": FileAction.CREATED, ">|": FileAction.CREATED}
_APPENDS = {">>": FileAction.MODIFIED, "1>>": FileAction.MODIFIED, "&>>": FileAction.MODIFIED}
_MAX_COMMAND = 6000

Touch = tuple[str, FileAction]


class ShellRead(Struct, frozen=True, kw_only=True):
    """The file that a shell command shows, and the number of the first line that it shows (None if the number is
    unknown)."""

    path: str
    first: int | None


class Part(Struct, frozen=True, gc=False):
    """A simple command of a command line.

    `joint` is the operator before it, `SUBSTITUTED` inside a substitution. `words` are its words without quotes,
    `quoted` the same words with their quotes, and `redirections` are pairs of a sign (`>`) and a file.
    """

    joint: str
    words: tuple[str, ...]
    quoted: tuple[str, ...]
    redirections: tuple[tuple[str, str], ...]

    @property
    def writes(self) -> bool:
        if not self.redirections:
            return False
        return any(sign in _WRITES or sign in _APPENDS for sign, _ in self.redirections)


def without_cd(command: str) -> tuple[str, str]:
    """Returns the command without a leading `cd`, and the folder that the `cd` goes to, empty if there is no leading
    `cd`."""
    match = _LEADING_CD.match(command)
    if match is None:
        return command.strip(), ""
    return command[match.end() :].strip(), match[1].strip("\"'")


def first_line(command: str) -> str:
    """Returns the first line of a command that does something: not a leading `cd`, a comment or a `set`."""
    lines = without_cd(command)[0].split("\n")
    return next((line.strip() for line in lines if not _PREAMBLE.match(line)), lines[0])


def is_test(command: str) -> bool:
    """Returns whether the command runs tests."""
    return _TEST.search(_bare(command)) is not None


def only_looks(command: str) -> bool:
    """Returns whether every part of the command only prints something and changes nothing."""
    return all(part_looks(part) for part in parts_of(command))


def shell_read(command: str) -> ShellRead | None:
    """Returns the one file whose lines a command prints, or None if the command does anything else.

    The path includes the folder of a leading `cd`. The number of the first line is None after a filter (`| head`) and
    with `tail`, because the command does not say it.
    """
    rest, folder = without_cd(command)
    parts = _after_cd(command, rest)
    if len(parts) > 1 and (parts[-1].joint, parts[-1].words) == ("||", ("true",)):
        parts = parts[:-1]
    if not parts or "<<" in rest or len(rest) > _MAX_COMMAND or not _is_plain(folder):
        return None
    filters = [part for part in parts[1:] if part.joint == "|" and _FILTERS.match(" ".join(part.words))]
    if any(part.redirections for part in parts) or len(filters) < len(parts) - 1:
        return None
    return _read(parts[0], folder, filtered=bool(filters))


def touched_files(command: str) -> list[Touch]:
    """Returns the files that a command reads, writes or removes, as pairs of path and action, as far as its words show
    them."""
    if read := shell_read(command):
        return [(read.path, FileAction.READ)]
    rest, folder = without_cd(command)
    touches = [touch for part in _after_cd(command, rest) for touch in _touches(part)]
    return [(_join(folder, path), action) for path, action in touches if _is_file(path)]


def _after_cd(command: str, rest: str) -> Sequence[Part]:
    """Returns the simple commands of `rest`, which is a command line without a leading `cd`. The whole command line is
    asked about as well, so `rest` is not parsed again if that is possible."""
    parts = parts_of(command)
    if len(rest) == len(command):
        return parts
    begins = [(part.joint, part.words[0], len(part.words)) for part in parts[:1]]
    if len(command) > _MAX_COMMAND or len(parts) < 2 or begins != [("", "cd", 2)]:
        return parts_of(rest)
    return (Part("", parts[1].words, parts[1].quoted, parts[1].redirections), *parts[2:])


def _bare(command: str) -> str:
    """Returns the command without the bodies of here-documents, cut to `_MAX_COMMAND` characters."""
    command = command[:_MAX_COMMAND]
    if "<<" not in command:
        return command
    kept: list[str] = []
    ending = ""
    for line in command.split("\n"):
        if ending:
            ending = "" if line.strip() == ending else ending
            continue
        opening = HEREDOC.search(line) if "<<" in line else None
        ending = opening[1] if opening else ""
        kept.append(HEREDOC.sub("", line) if opening else line)
    return "\n".join(kept)


@lru_cache(maxsize=512)
def parts_of(command: str) -> tuple[Part, ...]:
    """Returns the simple commands of a command line, without the bodies of here-documents. Cached, because several
    functions ask about one command line."""
    parts: list[Part] = []
    joint, sign = "", ""
    words, redirections = list[str](), list[tuple[str, str]]()
    for opens, separates, word in _TOKEN.findall(_bare(command) + "\n"):
        if word:
            if sign:
                redirections.append((sign, _unquoted(word)))
            else:
                words.append(word)
                if SUBSTITUTED in word:
                    parts.extend(_substituted(word))
            sign = ""
        elif separates:
            if words:
                parts.append(Part(joint, _unquoted_all(words), tuple(words), tuple(redirections)))
                words, redirections, joint = [], [], separates
            elif separates != "\n":
                joint = separates
        elif opens:
            sign = opens
    return tuple(parts)


def _substituted(word: str) -> Iterator[Part]:
    for one in _SUBSTITUTION.finditer(word) if word[:1] not in "\"'" else ():
        yield from (replace(part, joint=SUBSTITUTED) for part in parts_of(one[0][len(SUBSTITUTED) : -1]))


def _unquoted_all(words: Sequence[str]) -> tuple[str, ...]:
    if not _SIGNS_OF_QUOTES.search(" ".join(words)):
        return tuple(words)
    return tuple(map(_unquoted, words))


def _unquoted(word: str) -> str:
    return _QUOTED.sub(_inside, word) if _SIGNS_OF_QUOTES.search(word) else word


def _inside(quoted: re.Match[str]) -> str:
    if quoted[1] is not None:
        return _ESCAPED.sub(r"\1", quoted[1])
    return quoted[2] if quoted[2] is not None else quoted[3]


def _is_plain(word: str) -> bool:
    """Returns whether the shell uses a word as it is written: it has no variable, command substitution or pattern to
    expand."""
    if not _EXPANDS.search(word):
        return True
    unquoted = re.sub(r"'[^']*'", "", word)
    return not re.search(r"[$`]", unquoted) and not re.search(r"[*?]", re.sub(r'"[^"]*"', "", unquoted))


def _read(part: Part, folder: str, *, filtered: bool) -> ShellRead | None:
    name, options, path = part.words[0], " ".join(part.words[1:-1]), part.words[-1]
    match = _SHOWS[name].fullmatch(options) if name in _SHOWS and len(part.words) > 1 else None
    if match is None or path.startswith("-") or not path or not _is_plain(part.quoted[-1]):
        return None
    starts = int(match[1]) if match.re.groups else 1
    return ShellRead(path=_join(folder, path), first=None if filtered or name == "tail" else starts)


def part_looks(part: Part) -> bool:
    """Returns whether a simple command only prints something and changes nothing. So does the frame of a loop or of a
    condition, and what only sets variables."""
    if part.writes:
        return False
    words = part.words
    while words and (words[0] in _BEFORE_COMMAND or _ASSIGNS.match(words[0])):
        words = words[1:]
    if not words or words[0] in _AROUND_COMMANDS:
        return True
    if words[:2] == ("git", "-C"):
        words = ("git", *words[3:])
    if words[0] == "git":
        return len(words) > 1 and words[1] in _GIT_LOOKS
    if words[0] == "gh":
        return len(words) > 2 and (words[2] in _GH_LOOKS or (words[1] == "api" and _GH_SENDS.isdisjoint(words)))
    if words[0] == "sed":
        return "-i" not in words
    return words[0] in _LOOKS_ONLY


def _touches(part: Part) -> Iterator[Touch]:
    if part.writes:
        written = [(path, _WRITES.get(sign) or _APPENDS.get(sign)) for sign, path in part.redirections]
        yield from ((path, action) for path, action in written if action)
        return
    words, name = part.words, part.words[0]
    arguments = [word for word in words[1:] if not word.startswith("-")]
    if name in _READERS:
        yield from ((path, FileAction.READ) for path in arguments)
    elif name == "sed" and arguments:
        in_place = any(word.startswith("-i") for word in words)
        yield arguments[-1], FileAction.MODIFIED if in_place else FileAction.READ
    elif name in ("rm", "unlink") or words[:2] == ("git", "rm"):
        yield from ((path, FileAction.DELETED) for path in arguments)
    elif name == "touch":
        yield from ((path, FileAction.CREATED) for path in arguments)
    elif name == "tee" and arguments:
        yield arguments[0], FileAction.MODIFIED if "-a" in words else FileAction.CREATED
    else:
        yield from _moves(words, arguments)


def _moves(words: tuple[str, ...], arguments: list[str]) -> Iterator[Touch]:
    if words[:2] == ("git", "mv"):
        arguments = arguments[1:]
    elif words[0] not in ("mv", "cp"):
        return
    if len(arguments) == 2:
        if words[0] != "cp":
            yield arguments[0], FileAction.DELETED
        yield arguments[1], FileAction.CREATED


def _is_file(path: str) -> bool:
    return _FILE.search(path) is not None and _NOT_A_FILE.search(path) is None and not path.endswith("/")


def _join(folder: str, path: str) -> str:
    if not folder or path.startswith(("/", "~")):
        return path
    return f"{folder.rstrip('/')}/{path.removeprefix('./')}"
