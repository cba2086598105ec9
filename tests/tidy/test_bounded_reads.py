"""What others have written is read within bounds, and a file is opened for reading by `ullage.bounds` alone."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "server" / "ullage"
_OWN = "rows of the store, by a method of Ullage's own"
_DATA = "a file of the package"
_PIPE = "the next piece of a pipe, whose frames and lines are bounded"
_FOLDER = "a name in an open folder: what it opens is checked to be a plain file, and read up to a bound"
_NEW = "makes a file"
_NULL = "the null device, in place of a closed standard stream"
_STORE = "Ullage's own store"
_ROWS = "an agent's database: texts, rows and its size are bounded"
_SYSTEM = "a program of the system, or Ullage itself"
# Each call that opens or reads otherwise, as it is written, with why that is no unbounded reading of a foreign file.
ALLOWED = {
    "ForgottenList(store_path).read()": _OWN,
    "FollowedNow(local_path(place)).read()": _OWN,
    "self._catalogue.read()": _OWN,
    "self._files.read()": _OWN,
    "self._now.read()": _OWN,
    "self._ports.live.read()": _OWN,
    "reading.read()": _OWN,
    "(_PLUGINS / part).read_text(encoding='utf-8')": _DATA,
    "(DATA / f'{name}.xz').read_bytes()": _DATA,
    "MODELS.read_bytes()": _DATA,
    "PRICES.read_bytes()": _DATA,
    "files('ullage.cli').joinpath('data/sample.jsonl').read_bytes()": _DATA,
    "files('ullage.cli').joinpath(f'data/ullage.{args.shell}').read_bytes()": _DATA,
    "page.read_bytes()": _DATA,
    "mmap.mmap(file.fileno(), mmap.PAGESIZE)": "one page",
    "open(path, 'r+b')": "the list of arrivals, which this process has just written",
    "os.fdopen(descriptor, 'rb', buffering=0)": _PIPE,
    "path.open('rb')": "a pipe that the user names, read up to a bound",
    "process.source.read()": _PIPE,
    "source.read()": _PIPE,
    "os.fdopen(descriptor, 'rb')": _FOLDER,
    "os.fdopen(descriptor, 'rb', closefd=False)": _FOLDER,
    "os.open(base, os.O_RDONLY | _DIRECTORY)": _FOLDER,
    "os.open(inner.name, _OPEN_FILE, dir_fd=folder)": _FOLDER,
    "os.open(name, _ANY, dir_fd=self._descriptor)": _FOLDER,
    "os.open(name, _FOLDER, dir_fd=self._descriptor)": _FOLDER,
    "os.open(name, _OPEN_FOLDER, dir_fd=folder)": _FOLDER,
    "os.open(root / inner, _OPEN_FILE)": _FOLDER,
    "os.open(root, _OPEN_FOLDER & ~_NO_FOLLOW)": _FOLDER,
    "open(number, 'w' if number else 'r', encoding='utf-8')": _NULL,
    "os.open(os.devnull, os.O_RDWR)": _NULL,
    "os.open(name, _NEW, FILE_MODE, dir_fd=self._descriptor)": _NEW,
    "os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 384)": _NEW,
    "os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, _FILE_MODE)": _NEW,
    "os.open(self._checked() / name, flags, FILE_MODE)": _NEW,
    "sqlite3.connect(f'{path.absolute().as_uri()}?{how}', uri=True)": _STORE,
    "sqlite3.connect(made)": _STORE,
    "sqlite3.connect(path, timeout=BUSY_TIMEOUT, isolation_level=None, check_same_thread=False)": _STORE,
    "sqlite3.connect(path, timeout=BUSY_TIMEOUT, isolation_level=None)": _STORE,
    "sqlite3.connect(Path(folder) / path.name)": _ROWS,
    "sqlite3.connect(f'{path.absolute().as_uri()}?{access}', uri=True)": _ROWS,
    "pager.communicate(text.encode(errors='replace'))": "a pager's end; its output is the terminal's",
    "subprocess.run(['ps', '-o', 'ppid=', '-p', str(process_id)], capture_output=True, check=False)": _SYSTEM,
    "subprocess.run(command, capture_output=True, timeout=_PATIENCE, check=False)": _SYSTEM,
    "subprocess.run(to_run(line, has_sh=Path('/bin/sh').exists()), input=asked, capture_output=True, "
    "timeout=_VERSION_WAIT, check=False)": _SYSTEM,
}
# Calls that read to the end if they are not told how much.
_TO_THE_END = {"read", "readline", "readlines", "readall"}
# Calls that keep whatever comes, and functions of a module that read a file whole.
_ALWAYS = {"communicate", "urlopen", "ZipFile", "iter_lines"}
_BY_MODULE = {
    "load": {"json", "tomllib", "pickle", "plistlib"},
    "mmap": {"mmap"},
    "copyfileobj": {"shutil"},
    "getlines": {"linecache"},
    "connect": {"sqlite3"},
    "check_output": {"subprocess"},
}
# Modules that open a file, which may be packed.
_OPENING = {"io", "codecs", "gzip", "bz2", "lzma", "tarfile"}
_WRITES = set("wax")
# Arguments with which a program's output is kept in memory, whatever its length.
_CAPTURES = {"capture_output", "stdout", "stderr"}


def unbounded_reads(source: str) -> Iterator[str]:
    """Yields each call that opens a file for reading, or reads without a bound, as it is written."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and _reads(node):
            yield ast.unparse(node)


def _reads(call: ast.Call) -> bool:  # noqa: PLR0911  (one case for each way)
    function = call.func
    if isinstance(function, ast.Name):
        return function.id == "open" and not _is_for_writing(call.args[1:])
    if not isinstance(function, ast.Attribute):
        return False
    module = function.value.id if isinstance(function.value, ast.Name) else ""
    if function.attr in _ALWAYS or module in _BY_MODULE.get(function.attr, ()):
        return True
    match function.attr:
        case "run" if module == "subprocess":
            return any(map(_captures, call.keywords))
        case "open" if module == "os":
            return "O_WRONLY" not in {node.attr for node in ast.walk(call) if isinstance(node, ast.Attribute)}
        case "open" if module in _OPENING:
            return not _is_for_writing(call.args[1:])
        case "open":
            return _is_of_a_path(call) and not _is_for_writing(call.args)
        case "fdopen":
            return not _is_for_writing(call.args[1:])
        case "read_bytes" | "read_text":
            return all(isinstance(argument, ast.Constant) for argument in call.args)
        case attribute:
            return attribute in _TO_THE_END and (not call.args or ast.unparse(call.args[0]) in ("-1", "None"))


def _captures(keyword: ast.keyword) -> bool:
    return keyword.arg in _CAPTURES and "DEVNULL" not in ast.unparse(keyword.value)


def _is_of_a_path(call: ast.Call) -> bool:
    """Says whether `open` is that of a path: without arguments on a new one, or with a mode or an encoding."""
    if not call.args and not call.keywords:
        return "Path(" in ast.unparse(call.func)
    is_mode = bool(call.args) and isinstance(call.args[0], ast.Constant)
    return is_mode or any(keyword.arg in ("mode", "encoding", "errors") for keyword in call.keywords)


def _is_for_writing(arguments: list[ast.expr]) -> bool:
    mode = arguments[0].value if arguments and isinstance(arguments[0], ast.Constant) else "r"
    return isinstance(mode, str) and bool(_WRITES & {*mode})


@cache
def found() -> set[tuple[str, str]]:
    """The calls of the server, each with its file."""
    files = (path for path in SOURCE.rglob("*.py") if path.parent.name != "bounds")
    return {
        (path.relative_to(SOURCE).as_posix(), call)
        for path in files
        for call in unbounded_reads(path.read_text(encoding="utf-8"))
    }


def test_nothing_is_opened_or_read_without_a_bound() -> None:
    assert not sorted(one for one in found() if one[1] not in ALLOWED)


def test_each_exception_is_still_needed() -> None:
    assert ALLOWED.keys() == {call for _, call in found()}


@pytest.mark.parametrize(
    "call",
    [
        "open(path).read(10)",
        "open(path, 'rb')",
        "path.open('r')",
        "path.open(encoding='utf-8')",
        "path.read_bytes()",
        "path.read_text('utf-8')",
        "path.read_text(encoding='utf-8')",
        "sys.stdin.read()",
        "file.readline()",
        "file.read(-1)",
        "json.load(file)",
        "mmap.mmap(number, 0)",
        "gzip.open(path)",
        "os.open(path, os.O_RDONLY)",
        "os.fdopen(descriptor)",
        "subprocess.run(command, capture_output=True)",
        "subprocess.run(command, stdout=subprocess.PIPE)",
        "subprocess.check_output(command)",
        "process.communicate(given)",
        "sqlite3.connect(path)",
        "zipfile.ZipFile(path)",
        "tarfile.open(path)",
        "urllib.request.urlopen(address)",
    ],
)
def test_a_reading_without_a_bound_is_found(call: str) -> None:
    assert [*unbounded_reads(call)]


@pytest.mark.parametrize(
    "call",
    [
        "file.read(most)",
        "file.readline(most)",
        "open(path, 'wb')",
        "path.open('ab')",
        "os.open(path, os.O_WRONLY | os.O_CREAT)",
        "store.open(session)",
        "editor.read_text(session, path)",
    ],
)
def test_a_bounded_reading_and_a_writing_are_not(call: str) -> None:
    assert not [*unbounded_reads(call)]
