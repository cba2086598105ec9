"""Lists what the newest released agents know and Ullage does not: `python scripts/newest_words.py FOLDER [AGENT...]`.

`npm` fetches the programs into FOLDER. None of them is run: the words are found in their text. Printed are the words of
lists that Ullage reads (records, tools), of settings, variables and triggers about compaction, each only if neither
Ullage's own code has it nor docs/newest.md, which says what was done about the words found before. New models come with
the list of models (`update_known_models.py`).
"""

import argparse
import ast
import re
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from ullage.agents.tools import TOOLS

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "server" / "ullage"
JUDGED = ROOT / "docs" / "newest.md"


class Program(Struct, frozen=True, kw_only=True):
    """A released agent. `package` is its npm package, or that of the program for Linux, whose words are those of
    all systems. `suffix` is that of its version for Linux. `folders` are names in
    `agents/`, of a folder or the beginnings of files, that read what it writes, and `variables` begin the names of
    its environment variables. `is_compiled` says that the words in it have nothing
    between them."""

    name: str
    package: str
    suffix: str = ""
    folders: tuple[str, ...] = ()
    variables: str = ""
    is_compiled: bool = False


def _program(name: str, package: str, folder: str, variables: str) -> Program:
    return Program(name=name, package=package, folders=(folder,), variables=variables)


_CODEX = _program("codex", "@openai/codex", "codex", "CODEX")
PROGRAMS = (
    _program("claude-code", "@anthropic-ai/claude-code-linux-x64", "claude_code", "CLAUDE|ANTHROPIC|DISABLE"),
    replace(_CODEX, suffix="-linux-x64", is_compiled=True),
    _program("gemini-cli", "@google/gemini-cli", "gemini_cli", "GEMINI"),
    _program("opencode", "opencode-linux-x64", "opencode", "OPENCODE"),
    _program("qwen-code", "@qwen-code/qwen-code", "qwen_code", "QWEN"),
    _program("copilot-cli", "@github/copilot-linux-x64", "copilot_cli", "COPILOT"),
    _program("pi", "@earendil-works/pi-coding-agent", "pi", "PI"),
    _program("kimi-code", "@moonshot-ai/kimi-code", "kimi_code", "KIMI"),
    _program("cline", "@cline/cli-linux-x64", "cline", "CLINE"),
    _program("kilo-code", "@kilocode/cli-linux-x64", "opencode", "KILO"),
    _program("droid", "@factory/cli-linux-x64", "droid", "FACTORY"),
)

# Settings, variables and triggers with these words are about compaction, or about the room that there is.
_ABOUT = re.compile(
    r"compact|compress|(context|model)_?(window|limit|tokens|size|length)|(token|window)_?(limit|budget)|prompt_?cache",
    re.IGNORECASE,
)
_WORD = rb"[A-Za-z$][\w$./-]{2,48}"
# A quoted word, and what says of which list it is: `case "x"`, `type: "x"`, or the items of an array.
_LISTED = re.compile(rb"(?:\b(case|type|subtype|kind|name|event)\W{0,4}|([,\[(]) ?)[\"'`](" + _WORD + rb")[\"'`]")
# A key of a schema: its type, its default or its description follows.
_KEY = re.compile(
    rb"(?<![\w$])([a-z][A-Za-z0-9_]{4,60})[\"'`]?: {0,2}(?:\(\)=>)?[^,;:]{0,50}?"
    rb"(?:\.?optional\(|describe\(|default\(|\{\s{0,12}type: ?[\"'`]|\.(?:number|boolean|int)\()"
)
_TRIGGER = re.compile(rb"\btrigger\W{1,4}[\"'`]([\w-]+)[\"'`]")
# Bytes between two words of one list: of an array, of code with a branch for each word, and in a compiled program.
_ITEM, _BRANCH, _GLUED = 3, 250, 48
# A list is one that Ullage reads if it knows so many of its words, and this share.
_ENOUGH, _SHARE = 3, 0.4
# Words that every program has in its lists.
_COMMON = 5
_TEXTS = {".js", ".mjs", ".cjs", ".ts", ".json", ".toml", ""}
_FOREIGN = {"node_modules", "web-shell", "dist-web", "third_party", "browser-use", "vendored"}
# A program without a suffix is larger than this; what is smaller is a licence or a start script.
_PROGRAM_BYTES = 1_000_000
_MINUTES = 10


def sources_of(program: Program) -> list[Path]:
    """Returns the files that know a program: those of its folders, and those whose names begin so."""
    agents = SOURCE / "agents"
    found = (path for name in program.folders for path in (*agents.glob(f"{name}*.py"), *agents.glob(f"{name}/*.py")))
    return sorted(found)


class Words(Struct, frozen=True, kw_only=True):
    """What Ullage knows. `own` are the words of an agent's records, `tools` the names of tools, and `known` all words
    of Ullage's code and of the document about words that were found before. All are as `plain` returns them."""

    own: frozenset[str]
    tools: frozenset[str]
    known: frozenset[str]


def plain(word: str) -> str:
    """Returns a word as words are compared: in lower case and without separators."""
    return re.sub(r"[\s_.-]", "", word).lower()


def literals(paths: Iterable[Path]) -> set[str]:
    """Returns the strings in Python files, whole and word by word, as `plain` returns them."""
    return {plain(word) for value in _strings(paths) for word in (value, *re.findall(r"[\w$./-]+", value))}


def _strings(paths: Iterable[Path]) -> Iterator[str]:
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value


def judged(document: str) -> set[str]:
    """Returns the words in backticks in a document, as `plain` returns them."""
    return {plain(word) for word in re.findall(r"`([^`\n]+)`", document)}


def known_of(program: Program, document: str) -> Words:
    """Returns what Ullage's code and the document know of a program's words."""
    everything = literals(SOURCE.rglob("*.py")) | judged(document)
    own = literals(sources_of(program))
    tools = frozenset(plain(name) for names in TOOLS.values() for name in names)
    own = frozenset(word for word in own if len(word) > _COMMON)
    return Words(own=own, tools=tools, known=frozenset(everything))


def listed(text: bytes, own: frozenset[str], known: frozenset[str]) -> set[str]:
    """Returns the words that are not `known` in a program's lists of quoted words, if at least three words of the list,
    and two fifths of them, are our `own`."""
    return {word for words in _lists(text) if _is_ours(words, own) for word in words if plain(word) not in known}


def _lists(text: bytes) -> Iterator[list[str]]:
    lists: dict[bytes, tuple[int, list[str]]] = {}
    for match in _LISTED.finditer(text):
        place, begins = match[1] or b"", match[2] in (b"[", b"(")
        end, words = lists.get(place, (0, []))
        if begins or match.start() - end > (_BRANCH if place else _ITEM):
            yield words
            words = []
        words.append(match[3].decode())
        lists[place] = match.end(), words
    yield from (words for _, words in lists.values())


def _is_ours(words: Sequence[str], own: frozenset[str]) -> bool:
    if len(words) < _ENOUGH:
        return False
    names = {plain(word) for word in words}
    ours = len(names & own)
    return ours >= _ENOUGH and ours >= _SHARE * len(names)


def glued(text: bytes, own: Iterable[str], known: frozenset[str]) -> set[str]:
    """Returns the words that are not `known` between two of our `own` words of a compiled program, in which nothing
    parts the words: `turn_contexttoken_usage_recordworld_state`. `own` are words with underscores."""
    ours = re.compile(b"|".join(re.escape(word.encode()) for word in sorted(own, key=len, reverse=True)))
    found: set[str] = set()
    end = 0
    for match in ours.finditer(text):
        between = text[end : match.start()] if 0 < match.start() - end <= _GLUED else b""
        # The type's name may be before the word.
        if word := re.fullmatch(rb"(?:[A-Z][a-z]+)*([a-z]+(?:_[a-z]+)+)", between):
            found.add(word[1].decode())
        end = match.end()
    return {word for word in found if plain(word) not in known}


def settings(text: bytes, known: frozenset[str]) -> set[str]:
    """Returns the keys of a program's settings and records about compaction that are not `known`."""
    keys = {match[1].decode() for match in _KEY.finditer(text)}
    return {key for key in keys if _ABOUT.search(key) and plain(key) not in known}


def variables(text: bytes, prefixes: str, known: frozenset[str]) -> set[str]:
    """Returns the environment variables about compaction whose names begin with one of `prefixes`, parted by `|`."""
    names = {match[0].decode() for match in re.finditer(rb"\b(?:%s)_[A-Z0-9_]{3,60}" % prefixes.encode(), text)}
    return {name for name in names if _ABOUT.search(name) and plain(name) not in known}


def triggers(text: bytes, known: frozenset[str]) -> set[str]:
    """Returns the values of `trigger` near a word about compaction."""
    near = (match for match in _TRIGGER.finditer(text) if b"ompact" in text[max(0, match.start() - 400) : match.end()])
    return {word for match in near if plain(word := match[1].decode()) not in known}


def unknown(program: Program, texts: Iterable[bytes], words: Words) -> dict[str, set[str]]:
    """Returns what is in the texts of a program and Ullage does not know, by kind."""
    own = {*_strings(sources_of(program))} if program.is_compiled else set[str]()
    underscored = [word for word in own if len(word) > _COMMON and re.fullmatch(r"[a-z]+(_[a-z]+)+", word)]
    kinds: dict[str, Callable[[bytes], set[str]]] = {
        "records": lambda text: listed(text, words.own, words.known),
        "tools": lambda text: listed(text, words.tools, words.known),
        "settings": lambda text: settings(text, words.known),
        "variables": lambda text: variables(text, program.variables, words.known) if program.variables else set(),
        "triggers": lambda text: triggers(text, words.known),
    }
    if underscored:
        kinds["records"] = lambda text: glued(text, underscored, words.known)
    found: dict[str, set[str]] = {kind: set() for kind in kinds}
    for text in texts:
        for kind, find in kinds.items():
            found[kind] |= find(text)
    return found


def fetch(program: Program, folder: Path) -> Path:
    """Returns the archive of a program's newest release in `folder`, which `npm` fetches if it is not there. Raises
    `CalledProcessError` if npm fails."""
    # `npm pack` alone takes an older release where the newest one needs a newer Node.
    asked = ["npm", "view", program.package, "dist-tags.latest"]
    version = subprocess.run(asked, check=True, capture_output=True, text=True, timeout=_MINUTES * 60).stdout.strip()
    version += program.suffix
    name = f"{program.package.strip('@').replace('/', '-')}-{version}.tgz"
    if not (folder / name).exists():
        packed = ["npm", "pack", "--silent", f"{program.package}@{version}"]
        subprocess.run(packed, check=True, cwd=folder, capture_output=True, timeout=_MINUTES * 60)
    return folder / name


def texts_of(archive: Path) -> Iterator[bytes]:
    """Yields the files of a package that can hold an agent's words: programs, scripts and lists, each once."""
    seen: set[int] = set()
    with tarfile.open(archive) as packed:
        for member in packed:
            path = Path(member.name)
            is_small = not path.suffix and member.size < _PROGRAM_BYTES
            if not member.isfile() or path.suffix not in _TEXTS or is_small or _FOREIGN.intersection(path.parts):
                continue
            file = packed.extractfile(member)
            text = file.read() if file else b""
            if hash(text) not in seen:
                seen.add(hash(text))
                yield text


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints each program's version and unknown words. Returns 1 if a program could not be fetched."""
    parser = argparse.ArgumentParser(prog="scripts/newest_words.py", description=__doc__)
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="where the programs are kept: about a gigabyte")
    parser.add_argument("agents", nargs="*", metavar="AGENT", choices=[[], *(program.name for program in PROGRAMS)])
    given = parser.parse_args(arguments)
    folder: Path = given.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    document = JUDGED.read_text(encoding="utf-8") if JUDGED.exists() else ""
    failed = False
    for program in PROGRAMS:
        if given.agents and program.name not in given.agents:
            continue
        try:
            archive = fetch(program, folder)
        except (subprocess.SubprocessError, OSError) as error:
            print(f"{program.name}: {program.package} could not be fetched: {error}", file=sys.stderr)
            failed = True
            continue
        print(f"{program.name}: {archive.stem}")
        for kind, found in unknown(program, texts_of(archive), known_of(program, document)).items():
            if found:
                print(f"  {kind}: {', '.join(sorted(found))}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
