"""The command line's arguments, and which modules parsing them imports."""

import os
import re
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

import gen_cli
from ullage import __version__
from ullage.cli.command_line import COMMANDS, Parser, build_parser, parse
from ullage.cli.main import main
from ullage.cli.store_choice import chosen_store, local_store
from ullage.model.errors import InvalidRequest
from ullage.model.settings import Settings
from ullage.store.store_place import local_path

# Modules that serving and `--help` must not import: drawing, the tokenizer, the store.
_HEAVY = "import sys; print(sorted({'rich', 'tiktoken', 'sqlite3'} & sys.modules.keys()), file=sys.stderr)"


def run_python(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        encoding="utf-8",
        timeout=300,
        check=False,
        # Coverage imports the database itself.
        env={name: value for name, value in os.environ.items() if not name.startswith("COV")},
    )


def test_serving_imports_neither_drawing_nor_tokenizer_nor_store(tmp_path: Path) -> None:
    served = f"from ullage.cli.main import main; main(sys.argv[1:]); {_HEAVY}"
    ran = run_python(f"import sys; {served}", "lsp", "--store", str(tmp_path / "sessions.db"))
    assert ran.stderr.splitlines()[-1] == "[]"


def test_help_imports_nothing_heavy() -> None:
    asked = f"from ullage.cli.command_line import parse\ntry: parse(['--help'])\nfinally: {_HEAVY.replace('; ', ';')}"
    assert run_python(asked).stderr == "[]\n"


@pytest.mark.parametrize(
    ("form", "parsed"),
    [
        (["lsp"], set[str]()),
        (["lsp", "--store", "{}"], set[str]()),
        (["lsp", "--store={}"], {"argparse"}),
        (["--store", "{}", "lsp"], {"argparse"}),
        (["lsp", "--debug"], {"argparse"}),
    ],
)
def test_an_editors_server_starts_without_the_parser_of_all_commands(
    form: list[str], parsed: set[str], tmp_path: Path
) -> None:
    words = [word.format(tmp_path / "sessions.db") for word in form]
    asked = "s = main(); print({'argparse', 'rich'} & {*sys.modules}, file=sys.stderr); sys.exit(s)"
    ran = run_python(f"import sys; from ullage.cli.main import main; {asked}", *words)
    assert (ran.returncode, ran.stderr.splitlines()[-1]) == (0, str(parsed))


def test_a_list_imports_nothing_that_writes_summaries_or_searches(tmp_path: Path) -> None:
    unused = {
        "ullage.service.compact.automatic",
        "ullage.service.plan",
        "ullage.summary.composition",
        "ullage.summary.reader",
        "regex",
        "tiktoken",
    }
    asked = f"from ullage.cli.main import main; main(sys.argv[1:]); print({unused!r} & sys.modules.keys())"
    ran = run_python(f"import os, sys; os.environ['HOME'] = {str(tmp_path)!r}; {asked}", "here")
    assert ran.stdout.splitlines()[-1] == "set()"


@pytest.mark.parametrize(
    ("words", "made"),
    [
        (["acp", "--model", "m"], 2),
        (["--store", "s.db", "keep", "--json"], 2),
        (["--json"], 2),
        ([], 2),
        (["compact", "--help"], 2),
        (["--help"], 1),
        (["help", "compact"], 2),
        (["contxt"], 1),
    ],
)
def test_only_the_parser_of_the_asked_command_is_made(
    words: list[str], made: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsers: list[Parser] = []
    begin = Parser.__init__

    def count(parser: Parser, **settings: Any) -> None:
        parsers.append(parser)
        begin(parser, **settings)

    monkeypatch.setattr(Parser, "__init__", count)
    with suppress(SystemExit):
        parse(words)
    assert len(parsers) == made


@pytest.mark.parametrize("name", [command.name for command in COMMANDS])
def test_every_command_explains_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        build_parser().parse_args([name, "--help"])
    assert ended.value.code == 0
    assert f"ullage {name}" in capsys.readouterr().out


def test_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"ullage {__version__}\n"


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("8000", 8_000),
        ("32,000", 32_000),
        ("1_000_000", 1_000_000),
        ("8k", 8_000),
        ("200K", 200_000),
        ("1m", 1_000_000),
        ("1.5m", 1_500_000),
        ("0.5k", 500),
    ],
)
def test_numbers_may_be_grouped_and_written_in_thousands(text: str, tokens: int) -> None:
    assert parse(["compact", "file", "--budget", text]).budget == tokens


@pytest.mark.parametrize("text", ["0", "-1", "8g", "k", "", "1.5", "0k", "1.0001k", "nan"])
def test_numbers_are_positive_and_whole(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parse(["compact", "file", f"--budget={text}"])
    assert ended.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["serch"], "did you mean search?"),
        (["help", "compat"], "did you mean compact?"),
        (["context", "file", "--jsn"], "did you mean --json?"),
        (["compact", "file", "--budgte=8k"], "did you mean --budget?"),
        (["--store", "s.db", "contxt", "file"], "did you mean context?"),
    ],
)
def test_a_mistyped_word_is_answered_by_the_closest_right_one(
    arguments: list[str], meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        parse(arguments)
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert meant in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "module"),
    [
        ([], "here"),
        (["--json"], "here"),
        (["--store", "s.db", "--limit", "3"], "here"),
        (["--store=context", "--ascii"], "here"),
        (["--store", "s.db", "keep"], "keep"),
        (["--color", "never", "import", "file"], "import_file"),
    ],
)
def test_without_a_command_this_folder_is_shown(arguments: list[str], module: str) -> None:
    assert parse(arguments).module == module


def test_shared_options_may_come_before_or_after_the_command() -> None:
    before, after = parse(["--store", "s.db", "keep"]), parse(["keep", "--store", "s.db"])
    assert before.store == after.store == "s.db"
    assert parse(["keep"]).color == "auto"


@pytest.mark.parametrize("arguments", [["help"], ["-h"], ["help", "help"]])
def test_help_without_a_command_lists_all_of_them(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parse(arguments)
    assert ended.value.code == 0
    said = capsys.readouterr().out
    assert all(re.search(rf"^    (ullage )?{command.name}\b", said, re.MULTILINE) for command in COMMANDS[1:])
    assert [line for line in said.splitlines() if line.endswith(":")] == ["commands:", "more:", "for programs:"]


def test_the_first_eight_commands_of_the_help_are_those_of_a_user(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse(["--help"])
    first = capsys.readouterr().out.partition("commands:\n")[2].partition("\n\n")[0]
    names = re.findall(r"^    ullage ?(\w*)", first, re.MULTILINE)
    assert names == ["", "context", "watch", "search", "lost", "continue", "wire", "doctor"]


def test_what_many_commands_take_is_described_once(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse(["help", "options"])
    page = capsys.readouterr().out
    common = (
        "--format",
        "--run",
        "--model",
        "--window",
        "--at",
        "--json",
        "--ascii",
        "--store",
        "--color",
        "--no-pager",
    )
    assert all(f"  {name}" in page for name in common)
    assert "exit status:" in page
    for command in ("context", "messages", "lost", "continue", "compact"):
        with pytest.raises(SystemExit):
            parse([command, "--help"])
        shown = capsys.readouterr().out
        assert [name for name in common if name in shown.replace("with --json", "").replace("in --json", "")] == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (["brief", "a", "--chars", "5k"], ["lost", "--brief", "a", "--chars", "5k"]),
        (["--store", "s.db", "history", "a", "--json"], ["--store", "s.db", "context", "--edits", "a", "--json"]),
        (["sessions", "--ids", "--limit", "3", "--cwd", "f"], ["--stored", "--ids", "--limit", "3", "--cwd", "f"]),
        (["inspect", "a", "--json"], ["export", "--events", "a", "--json"]),
        (["delete", "a", "-y"], ["forget", "a", "-y"]),
        (["archive", "off"], ["keep", "off"]),
        (["continue", "a", "--from", "4"], ["continue", "a", "--after", "4"]),
        (["continue", "--from=4"], ["continue", "--after=4"]),
        (["search", "w", "--session", "a"], ["search", "w", "--conversation", "a"]),
    ],
)
def test_a_name_of_before_does_the_same_and_says_the_new_one(
    old: list[str], new: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    def parsed(words: list[str]) -> dict[str, Any]:
        return {name: value for name, value in vars(parse(words)).items() if name != "parser"}

    assert parsed(new) == parsed(old)
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert "works until the next release" in said.err


@pytest.mark.parametrize("words", [["compact", "a", "--from", "4"], ["search", "brief"], ["lost", "history"]])
def test_a_word_of_today_is_not_taken_for_an_old_name(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    parse(words)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "words",
    [
        ["help", "context"],
        ["--color", "never", "help", "context"],
        ["--no-pager", "help", "context"],
        ["help", "--color", "never", "context"],
        ["-h", "context"],
        ["--help", "context"],
        ["context", "-h"],
    ],
)
def test_help_of_a_command_is_found_wherever_the_shared_options_are(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        parse(words)
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("usage: ullage context ")


@pytest.mark.parametrize("name", [command.name for command in COMMANDS])
def test_help_in_colour_has_the_same_text_and_layout(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    printed: list[str] = []
    for color in ("always", "never"):
        with pytest.raises(SystemExit):
            parse([name, "--help", "--color", color])
        printed.append(capsys.readouterr().out)
    colored, plain = printed
    assert "\x1b[36m--help\x1b[0m" in colored
    assert re.sub(r"\x1b\[\d+m", "", colored) == plain
    assert "\x1b" not in plain


@pytest.mark.parametrize("columns", [50, 60, 80, 120, 200])
def test_help_fits_the_terminal(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = build_parser(only="").format_help().splitlines()
    assert max(map(len, lines)) <= min(columns, 100)


# One rule decides which store every command has


ADDRESS = "postgresql://ada@db.example/ullage?options=-csearch_path%3Dours"


def test_the_option_comes_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ULLAGE_STORE", "/data/shared.db")
    assert chosen_store(ADDRESS) == ADDRESS
    assert chosen_store(None) == "/data/shared.db"
    monkeypatch.delenv("ULLAGE_STORE")
    assert chosen_store(None) is None


def test_a_home_folder_in_the_environment_is_the_users(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.setenv("ULLAGE_STORE", "~/shared.db")
    assert Path(chosen_store(None) or "") == tmp_path / "shared.db"


@pytest.mark.parametrize("place", ["postgresql://ada:hunter2@db/ullage", "postgres://db/ullage?password=hunter2"])
def test_a_password_is_refused_wherever_the_address_comes_from(monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    for name, given in (("", place), (place, None)):
        monkeypatch.setenv("ULLAGE_STORE", name)
        with pytest.raises(InvalidRequest, match="PGPASSWORD") as refused:
            chosen_store(given)
        assert "hunter2" not in str(refused.value)
    with pytest.raises(msgspec.ValidationError, match=r"store: .* contains a password") as wrong:
        msgspec.convert({"store": place}, Settings)
    assert "hunter2" not in str(wrong.value)
    assert "hunter2" not in local_store(place)


@pytest.mark.parametrize("place", ["", "/data/own.db", ADDRESS, "postgresql:///ü"])
def test_a_status_line_finds_the_files_that_a_server_keeps_next_to_the_store(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ULLAGE_STORE", raising=False)
    assert Path(local_store(place)) == local_path(place or None)


def test_the_files_next_to_an_address_have_a_name_that_every_file_system_takes() -> None:
    assert local_path(ADDRESS).name == "postgresql___ada_db.example_ullage_options_-csearch_path_3Dours"


# The completions and the manual page are made from the table of arguments, and are as committed


FILES = gen_cli.outputs()


@pytest.mark.parametrize("path", list(FILES), ids=lambda path: path.name)
def test_a_generated_file_is_as_committed(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == FILES[path], "run scripts/gen_cli.py"


def test_the_manual_has_every_command_and_the_exit_statuses() -> None:
    page = FILES[gen_cli.DATA / "ullage.1"]
    assert all(f"ullage {command.name}\\fR" in page for command in COMMANDS)
    assert ".SH EXIT STATUS" in page


@pytest.mark.parametrize("shell", gen_cli.SHELLS)
def test_the_shell_accepts_its_completions(shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell}")
    checked = subprocess.run(
        [shell, "-n", gen_cli.DATA / f"ullage.{shell}"], capture_output=True, text=True, check=False
    )
    assert (checked.returncode, checked.stderr) == (0, "")


def test_bash_completes_commands() -> None:
    if shutil.which("bash") is None:
        pytest.skip("there is no bash")
    script = """source "$1"; COMP_WORDS=(ullage mess); COMP_CWORD=1; _shtab_ullage; printf %s "${COMPREPLY[*]}" """
    done = subprocess.run(
        ["bash", "-c", script, "bash", gen_cli.DATA / "ullage.bash"], capture_output=True, text=True, check=True
    )
    assert done.stdout == "messages"
