"""Reads from a command line what it is run for, apart from how its output is shown.

`cd app && CI=1 timeout 60 npm test 2>&1 | tail -20` is run for `npm test`: two command lines with the same *keys* are
the same command, whatever part of the output the agent asked for.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from zlib import crc32

from msgspec import Struct

from ullage.agents.shell import HEREDOC, SUBSTITUTED, Part, first_line, part_looks, parts_of, without_cd

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
# Prefixes after which another command follows, and their options with a value.
_PREFIXES = {"timeout", "gtimeout", "time", "nohup", "env", "nice", "stdbuf", "command", "exec", "sudo", "xvfb-run"}
_DURATION = re.compile(r"\d+(?:\.\d+)?[smhd]?$")
# Parts that prepare a command or print something in addition to it.
_PREPARES = {
    "cd", "pushd", "popd", "export", "unset", "set", "source", ".", "ulimit", "trap", "eval", "shopt", "umask",
    "echo", "printf", "true", ":", "sleep", "exit", "wait", "read", "date", "pwd",
}  # fmt: skip
_KEYWORDS = {"for", "while", "until", "if", "case", "do", "then", "else", "done", "fi", "esac", "function", "{", "[["}
_FILTERS = {
    "tail", "head", "grep", "egrep", "fgrep", "rg", "sed", "cat", "less", "more", "sort", "uniq", "tee", "wc", "cut",
    "tr", "awk", "column", "nl", "fold", "jq", "strings", "xargs",
}  # fmt: skip
# Ways to start a program of a project, which are not part of its name: by the first word, the words.
_RUNNERS = {
    runner.partition(" ")[0]: runner.split()
    for runner in (
        *("uv run", "poetry run", "pipenv run", "hatch run", "rye run", "pdm run", "bundle exec", "pnpm exec"),
        *("yarn exec", "npx", "bunx", "pnpx", "python -m", "python3 -m", "mise exec --", "direnv exec ."),
    )
}
_IN_ENVIRONMENT = re.compile(r".*(?:/|^)(?:\.?venv|node_modules/\.bin|vendor/bin)(?:/bin)?/([\w.-]+)$")
# Options that change how much is printed, not what is run.
_LOUDNESS = re.compile(
    r"(?:-v{1,3}|-q{1,2}|-s|-rA|-ra|--verbose|--quiet|--silent|--trace|--no-header|--no-summary|--tb[=\w]*|--no-colou?r"
    r"|--colou?r(?:=\w+)?|--capture=no|--nocapture|-count=1|--reporter[=\w-]*|--showlocals|-l)$"
)
# Commands whose other words say what is done now, and not what must succeed.
_BY_TWO_WORDS = {"commit", "push", "pull", "fetch", "add", "stash"}
_OF_TWO_WORDS = {
    "go", "cargo", "mix", "npm", "pnpm", "yarn", "bun", "deno", "make", "just", "mvn", "mvnw", "gradle", "gradlew",
    "dotnet", "swift", "zig", "rake", "bazel", "mise", "stack", "cabal", "nx", "task",
}  # fmt: skip
_INLINE = {"python", "python3", "node", "ruby", "perl", "php", "bash", "sh", "zsh", "psql", "sqlite3", "elixir", "deno"}
_INLINE_OPTIONS = {"-c", "-e", "-lc", "-r", "--eval", "-p"}
# Characters of a script in a command line, from which on it is a text of its own.
_SCRIPT = 40
# Characters. What follows in a longer command line is a script's text.
_LONGEST = 2_000
# How a line ends that continues in the next one.
_GOES_ON = re.compile(r"(?:\b(?:do|then|else|in)|[{(|;&\\])$")
_LONGEST_END = len("then")


class Purpose(Struct, frozen=True, kw_only=True, gc=False):
    """What a command line is run for.

    `keys` has an entry for each of its commands that does something; two command lines with the same keys are the same
    command. `shown` is the command line without what only selects output. `masked`: the exit code is not that of the
    command, because a filter or an alternative follows. `once`: it runs a script or a patch that is part of the command
    line, so it is hardly ever run again. `certain` are the keys of the commands that have succeeded if the command line
    did.
    """

    keys: tuple[str, ...]
    shown: str
    masked: bool
    once: bool
    certain: tuple[str, ...]


@lru_cache(maxsize=2048)
def purpose_of(command: str) -> Purpose:
    """Returns what a command line is run for. If all its commands only show something, its keys are those of them
    all."""
    parts = tuple([part for part in parts_of(command) if part.joint != SUBSTITUTED])
    places = dict(_real(parts))
    real = tuple(places.values())
    key_of = {place: _key(part) for place, part in places.items()}
    # The message of a commit is often a here-document, and it doesn't say what must succeed.
    body = None if any(part.words[0] == "git" for part in real) else HEREDOC.search(command)
    once = body is not None or "*** Begin Patch" in command or any(_is_inline(part) for part in real)
    mark = f" <<{crc32(command.encode(errors='replace')):08x}" if body else ""
    loops = any(part.words[0] in _KEYWORDS for part in parts)
    if loops or not real:
        keys = (_spaced(without_cd(command[:_LONGEST])[0]),)
    else:
        keys = tuple(dict.fromkeys([key + mark for key in key_of.values()]))
    if loops and not body:
        shown = _on_one_line(command)
    else:
        shown = _shown(real) if real and not body else _spaced(first_line(command))
    if body and len(real) > 1:
        # What is run with the text that the command line begins by writing.
        shown = _shown(real[-1:])
    return Purpose(
        keys=keys,
        shown=shown,
        masked=_is_masked(parts, places),
        once=once,
        certain=keys
        if loops or not real or body
        else tuple(dict.fromkeys(map(key_of.__getitem__, _last_chain(places)))),
    )


def covers(passed: str, failed: str) -> bool:
    """Returns whether a passed test run includes what a failed one ran: the same program with the same or fewer
    selections (`pytest tests` includes `pytest tests/test_a.py::test_b`), or with those of the failed one and others
    (`pytest a.py b.py`, `go test -run 'TestA|TestB'`). Both are keys of test runs."""
    if passed == failed:
        return True
    wide, narrow = passed.split(), failed.split()
    program = _program_length(wide)
    if wide[:program] != narrow[:program]:
        return False
    rest, others = narrow[program:], wide[program:]
    if all(word in rest or any(_includes(word, inner) for inner in rest) for word in others):
        return True
    is_selected = any(not word.startswith("-") for word in rest)
    return (
        is_selected
        and all(word in rest for word in others if word.startswith("-"))
        and all(word in others or any(_includes(outer, word) for outer in others) for word in rest)
    )


@lru_cache(maxsize=2048)
def without_options(key: str) -> str:
    """Returns a command's key without its options: the same program on the same names."""
    return " ".join(word for word in key.split() if not word.startswith("-"))


def _includes(outer: str, inner: str) -> bool:
    if outer.startswith("-") or inner.startswith("-"):
        return False
    if inner.endswith(f"/{outer}") or outer.endswith(f"/{inner}"):
        return True
    if "|" in outer and inner.strip("^$") in (alternative.strip("^$()") for alternative in outer.split("|")):
        return True
    folder = outer.removesuffix("...").removeprefix("./").rstrip("/")
    inner = inner.removeprefix("./")
    return inner.startswith((f"{folder}/", f"{folder}::", f"{folder}:")) or (not folder and outer.endswith("..."))


def _program_length(words: Sequence[str]) -> int:
    """Returns how many words name the program: `pytest` is one, `cargo test` two, `npm run test` three."""
    if len(words) > 2 and words[1] == "run":
        return 3
    return 2 if len(words) > 1 and words[0].rsplit("/", 1)[-1] in _OF_TWO_WORDS else 1


def _real(parts: Sequence[Part]) -> Iterator[tuple[int, Part]]:
    """Yields the simple commands that do something, without their prefixes, each with its place: no preparation, no
    filter, nothing that only prints."""
    for place, part in enumerate(parts):
        bare = _without_prefixes(part)
        if not bare.words or (bare.words[0] in _PREPARES and not part.writes):
            continue
        if part.joint in ("|", "|&") and bare.words[0] in _FILTERS:
            continue
        if part_looks(bare) and len(parts) > 1:
            continue
        yield place, bare


def _without_prefixes(part: Part) -> Part:
    """Returns a simple command without assignments and without prefixes such as `timeout 60`."""
    words, start = part.words, 0
    while start < len(words):
        if _ASSIGNMENT.match(part.quoted[start]):
            start += 1
        elif words[start] in _PREFIXES and start + 1 < len(words):
            start += 1
            while start < len(words) and (words[start].startswith("-") or _DURATION.match(words[start])):
                start += 1
        else:
            break
    return Part(part.joint, words[start:], part.quoted[start:], part.redirections) if start else part


def _key(part: Part) -> str:
    words = list(part.words)
    runner = _RUNNERS.get(words[0], [])
    if words[: len(runner)] == runner and len(words) > len(runner):
        words = words[len(runner) :]
    if words[:2] == ["git", "-C"]:
        words = ["git", *words[3:]]
    if "/" in words[0] and (match := _IN_ENVIRONMENT.match(words[0])):
        words[0] = match[1]
    # A summary writes a commit as `git commit: SUBJECT`.
    if words[0] == "git" and len(words) > 1 and words[1].rstrip(":") in _BY_TWO_WORDS:
        return f"git {words[1].rstrip(':')}"
    if words[:3] == ["gh", "pr", "create"]:
        return "gh pr create"
    return _spaced(" ".join(word for word in words if not (word.startswith("-") and _LOUDNESS.match(word))))


def _on_one_line(command: str) -> str:
    """Returns a loop or a condition on one line, since its first line alone (`for file in *.py; do`) says nothing."""
    shown = ""
    for line in without_cd(command[:_LONGEST])[0].split("\n"):
        said = line.strip()
        if said and not said.startswith("#"):
            goes_on = not shown or _GOES_ON.search(shown, max(len(shown) - _LONGEST_END, 0))
            shown += (" " if goes_on else "; ") + said.removesuffix("\\").rstrip()
    return _spaced(shown)


def _shown(real: Sequence[Part]) -> str:
    texts = [_spaced(" ".join(part.quoted)) for part in real]
    joints = [f" {part.joint} " if part.joint in ("&&", "||", "|") else "; " for part in real[1:]]
    return "".join(piece for pair in zip(texts, [*joints, ""], strict=True) for piece in pair)


def _is_masked(parts: Sequence[Part], real: Mapping[int, Part]) -> bool:
    """Returns whether the exit code of a command line says nothing about its commands. `real` are those that do
    something, by their places among `parts`."""
    if not real:
        return False
    return any(part.joint in ("|", "|&", "||", ";", "\n", "&") for part in parts[max(real) + 1 :])


def _last_chain(real: Mapping[int, Part]) -> list[int]:
    """Returns the places of the commands that have succeeded if the command line did: the last one that does something,
    and those joined to it by `&&`."""
    chain: list[int] = []
    for place, part in real.items():
        if place and part.joint not in ("&&", "|", "|&"):
            chain.clear()
        chain.append(place)
    return chain


def _is_inline(part: Part) -> bool:
    name = part.words[0].rsplit("/", 1)[-1]
    return name in _INLINE and any(
        option in _INLINE_OPTIONS and len(script) > _SCRIPT for option, script in pairwise(part.words)
    )


def _spaced(text: str) -> str:
    return " ".join(text.split())
