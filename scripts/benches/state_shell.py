"""What a shell command was for, and how it ended, by the state bench's own reading of commands and their output."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from msgspec import Struct

TESTS, BUILD, LINT, TYPES = "tests", "build", "lint", "types"

# What a program is run for, by how the command begins.
_PURPOSES = (
    (
        TYPES,
        r"(?:tsc|mypy|(?:based)?pyright|mix dialyzer|(?:npm|pnpm|yarn)( run)? (?:type-?check|tsc|types)\S*"
        r"|mise run (?:types?|typecheck)\S*)",
    ),
    (
        LINT,
        r"(?:golangci-lint|go vet|ruff check|eslint|flake8|pylint|shellcheck|cargo clippy|mix credo"
        r"|rubocop|(?:npm|pnpm|yarn)( run)? lint\S*|(?:mise run|make|just) lint\S*)",
    ),
    (
        BUILD,
        r"(?:go build|cargo (?:build|check)|mix compile|cmake --build|pdflatex|latexmk|xelatex|(?:npm|pnpm"
        r"|yarn)( run)? build\S*|(?:mise run|just) build\S*|make(?: -\S+)*(?: all| build\S*)?$"
        r"|dotnet build|gradle build|mvn (?:compile|package))",
    ),
    (
        TESTS,
        r"(?:pytest|python3? -m (?:pytest|unittest)|go test|cargo (?:test|nextest)|mix test|jest|vitest"
        r"|rspec|rake test|tox|ctest|dotnet test|gradle test|mvn test|bun test|(?:npm|pnpm"
        r"|yarn)( run)? test\S*|(?:mise run|make|just) (?:tests?|check)(?![\w-])\S*)",
    ),
)
_PURPOSE = [(purpose, re.compile(pattern + r"(?=\s|$)")) for purpose, pattern in _PURPOSES]
_BEFORE = re.compile(
    r"^(?:\w+=\S+\s+|sudo\s+|timeout\s+\S+\s+|time\s+|uv run\s+|poetry run\s+|npx\s+|bunx\s+"
    r"|pnpm exec\s+|mise exec -- |\.?/?(?:\S*/)?(?:\.venv|venv|node_modules/\.bin)/(?:bin/)?|\(\s*)+"
)
_REDIRECTED = re.compile(r"\s*(?:\d?>>?&?\s*\S+|&>\s*\S+|\d>&\d)")
_SKIPPED_OUTCOME = re.compile(
    r"no tests to run|command not found|No such file or directory|running in background|"
    r"could not read from remote|no such tool|unknown command|no test files\]?\s*\Z|timed out",
    re.IGNORECASE,
)
_FAILED = re.compile(
    r"^FAIL\b|--- FAIL|^FAILED\b|\bERROR task failed|\b[1-9]\d* (?:failed|failures?|errors?)\b|\b[1-9]\d* issues?\b"
    r"|^panic:|\[setup failed\]|\[build failed\]|undefined: |Fatal error occurred|\berror\[E\d+\]"
    r"|^error:|^\S+\.go:\d+:\d+: |\bTS\d{4}:"
    r"|^\*\* \(|== Compilation error|^E  ",
    re.MULTILINE,
)
_PASSED = re.compile(
    r"^ok\s+\S+|\b[1-9]\d* passed\b|\b0 failures\b|\b0 issues\b|All checks passed|^PASS\b|--- PASS"
    r"|found no issues|Output written on"
    r"|^Finished in|test result: ok",
    re.MULTILINE,
)


class Part(Struct, frozen=True, kw_only=True):
    """One simple command of a line: its words, and what is after it ("&&", "||", "|", ";", or nothing)."""

    text: str
    then: str


def command_of(given: Mapping[str, Any]) -> str:
    """Returns the command line of a call of a shell, in any of the shapes of agents; empty if it is no such call."""
    value = given.get("command") or given.get("cmd") or given.get("input")
    if isinstance(value, list):
        words = [str(word) for word in cast("list[Any]", value)]
        return words[-1] if len(words) > 1 and words[-2] in ("-lc", "-c") else " ".join(words)
    return value if isinstance(value, str) else ""


def parts(command: str) -> list[Part]:
    """Splits a command line at `&&`, `||`, `;`, `|` and line ends outside of quotes and here-documents."""
    found: list[Part] = []
    text, quote, at = "", "", 0
    while at < len(command):
        char, two = command[at], command[at : at + 2]
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char == "\\":
            text, at = text + two, at + 2
            continue
        elif here := re.match(r"<<-?\s*['\"]?(\w+)['\"]?", command[at:]):
            end = re.search(rf"^\s*{here[1]}\b", command[at + here.end() :], re.MULTILINE)
            stop = at + here.end() + end.end() if end else len(command)
            text, at = text + command[at:stop], stop
            continue
        elif two in ("&&", "||") or char in ";|\n":
            joint = two if two in ("&&", "||") else char
            found.append(Part(text=text.strip(), then=joint))
            text, at = "", at + len(joint)
            continue
        text, at = text + char, at + 1
    found.append(Part(text=text.strip(), then=""))
    return [part for part in found if part.text]


def plain(text: str) -> str:
    """Returns a simple command without what does not matter for what it does: settings, wrappers, redirections."""
    return " ".join(_REDIRECTED.sub("", _BEFORE.sub("", text.strip())).split()).rstrip(") ")


def purpose(text: str) -> str | None:
    """Returns what a simple command checks, None if it is no check."""
    return next((name for name, pattern in _PURPOSE if pattern.match(plain(text))), None)


class Outcome(Struct, frozen=True, kw_only=True):
    """A check that ran: its purpose, its command, and how it ended; None if that is not to be seen."""

    purpose: str
    command: str
    passed: bool | None


def outcomes(command: str, output: str, failed: bool | None) -> Iterator[Outcome]:
    """Yields the checks of a command line with how each ended.

    An exit other than 0 is the end of the last part that ran, and after a pipe the exit is another program's: then the
    output decides, and of several checks in a failed line only what can be distinguished.
    """
    split = parts(command)
    checks = [(at, kind) for at, part in enumerate(split) if (kind := purpose(part.text))]
    for at, kind in checks:
        rest = split[at:]
        is_hidden = any(part.then in ("|", "||", ";", "\n") for part in rest[:-1]) or bool(rest[-1].then)
        passed: bool | None = None
        if _SKIPPED_OUTCOME.search(output):
            passed = None
        elif _FAILED.search(output):
            passed = False if len(checks) == 1 or (failed and _is_last(kind, output)) else None
        elif (
            (failed is False and not is_hidden)
            or (failed is not True and _PASSED.search(output))
            or (failed is False and kind in (BUILD, LINT, TYPES) and not output.strip())
        ):
            passed = True
        elif failed and len(checks) == 1 and not is_hidden:
            passed = False
        yield Outcome(purpose=kind, command=plain(split[at].text), passed=passed)


def _is_last(kind: str, output: str) -> bool:
    """Whether a task runner names this purpose as the one that failed."""
    named = re.search(r"\[(\w+)[^\]]*\] ERROR task failed", output)
    return named is not None and named[1].rstrip("s") == kind.rstrip("s")


def covers(later: str, earlier: str) -> bool:
    """Whether a later check's success also settles an earlier failure of the same purpose: it runs the same, or all."""
    if later == earlier:
        return True
    one, two = later.split(), earlier.split()
    if one[:2] != two[:2] and not (one[:2] == ["mise", "run"] or one[0] in ("make", "npm", "pnpm", "yarn", "just")):
        return False
    selects = {"-run", "-k", "--only", "-t", "--filter", "-m"}
    narrow = [word for word in one[2:] if not word.startswith("-") and word not in ("./...", ".")]
    if not narrow and not selects & set(one):
        return True
    places = [word for word in two[2:] if not word.startswith("-")]
    wide = [word.removesuffix("/...") for word in narrow if word.endswith("/...")]
    return not selects & set(one) and bool(wide) and any(place.startswith(tuple(wide)) for place in places)
