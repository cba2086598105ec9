"""The places where a conversation shows a file, in the shapes of the known agents' transcripts."""

import pytest

from support.build import assistant, results, user, uses
from ullage.agents.file_reads import FileRead, Line, file_keys, file_lines, file_reads
from ullage.agents.shell import ShellRead, shell_read
from ullage.model.message import Message, ResourceBlock, Role, TextBlock

NUMBERED = "     1\timport os\n     2\t\n     3\tprint(os.name)"


def reads(*messages: Message) -> list[tuple[str, str]]:
    return [(read.path, read.text) for read in file_reads(messages)]


def test_what_failed_or_reads_nothing_shows_none() -> None:
    assert reads(uses("u", "t", name="Read", path="/a.py"), results("r", "t", text="no such file", is_error=True)) == []
    assert reads(uses("u", "t", name="Grep", path="/a.py"), results("r", "t", text=NUMBERED)) == []
    assert reads(uses("u", "t", name="Write", path="/a.py", content="x"), results("r", "t", is_error=True)) == []


def test_a_written_file_is_shown_by_the_call_itself() -> None:
    (read,) = file_reads([uses("u", "t", name="Write", file_path="/a.py", content="x = 1"), results("r", "t")])
    assert (read.path, read.text, read.is_input, read.message_id) == ("/a.py", "x = 1", True, "u")


def test_an_edit_shows_the_snippet_that_it_answers_with() -> None:
    snippet = f"The file /a.py has been updated. Here's the result of running `cat -n` on a snippet of it:\n{NUMBERED}"
    call = uses("u", "t", name="Edit", file_path="/a.py", old_string="a", new_string="b")
    assert reads(call, results("r", "t", text=snippet)) == [("/a.py", snippet)]
    assert reads(call, results("r", "t", text="The file /a.py has been updated successfully.")) == []


def test_clines_final_file_content_is_the_file_after_a_write() -> None:
    text = 'Saved.\n\n<final_file_content path="src/a.py">\nx = 1\ny = 2\n</final_file_content>\n\nMind the rest.'
    call = uses("u", "t", name="write_to_file", path="src/a.py")
    assert reads(call, results("r", "t", text=text)) == [("src/a.py", "x = 1\ny = 2\n")]


def test_a_users_message_has_files_in_tags_reminders_and_blocks() -> None:
    carried = user(
        "p", 'Two:\n<file_content path="a.py">\nx\n</file_content>\n<file_content path="b.py">y</file_content>'
    )
    assert reads(carried) == [("a.py", "x\n"), ("b.py", "y")]
    reminder = user(
        "p",
        '<system-reminder>\nCalled the Read tool with the following input: {"file_path":"/a.py"}\n</system-reminder>\n'
        f'<system-reminder>\nResult of calling the Read tool: "{NUMBERED}"\n</system-reminder>',
    )
    assert reads(reminder) == [("/a.py", NUMBERED)]
    mentioned = user(
        "p", "Look.\n--- Content from referenced files ---\nContent from @a.py:\nx\n--- End of content ---"
    )
    assert reads(mentioned) == [("a.py", "x\n")]
    embedded = Message(id="p", role=Role.USER, content=(ResourceBlock(uri="file:///a.py", text="x"),))
    assert reads(embedded) == [("file:///a.py", "x")]


def test_a_read_has_its_place_in_its_block() -> None:
    text = 'See <file_content path="a.py">\nx = 1\n</file_content> now.'
    (read,) = file_reads([user("p", text)])
    assert text[read.start : read.stop] == read.text == "x = 1\n"


def test_the_output_of_a_fenced_command_shows_its_file() -> None:
    output = "<returncode>0</returncode>\n<output>\n     1\tx = 1\n</output>"
    assert reads(assistant("a", "I look.\n```bash\nnl -ba a.py\n```"), user("o", output)) == [("a.py", output)]


def test_a_result_with_more_than_text_in_it_is_left_alone() -> None:
    call = uses("u", "t", name="Read", path="/a.png")
    assert list(file_reads([call, user("r", "ok")])) == []
    assert isinstance(user("r").content[0], TextBlock)


@pytest.mark.parametrize(
    ("command", "path", "first"),
    [
        ("cat a.py", "a.py", 1),
        ("cd /repo && cat src/a.py", "/repo/src/a.py", 1),
        ("nl -ba a.py | sed -n '40,60p'", "a.py", None),
        ("sed -n '200,500p' /repo/a.py", "/repo/a.py", 200),
        ("sed -n 1,160p a.py || true", "a.py", 1),
        ("head -50 a.diff", "a.diff", 1),
        ("tail -n 20 a.log", "a.log", None),
        ('cat "a file.py"', "a file.py", 1),
    ],
)
def test_shell_commands_that_only_show_a_file_are_reads(command: str, path: str, first: int | None) -> None:
    assert shell_read(command) == ShellRead(path=path, first=first)


@pytest.mark.parametrize(
    "command",
    [
        "cat a.py b.py",
        "cat a.py > b.py",
        "cat <<'EOF' > a.py\nx\nEOF",
        "cat a.py | grep x",
        "sed -i 's/a/b/' a.py",
        "rm a.py; cat a.py; ls",
        "cat $(ls)",
        "cat *.py",
        "pytest",
    ],
)
def test_any_other_command_is_not_recognised(command: str) -> None:
    assert shell_read(command) is None


def test_line_numbers_of_tools_are_distinguished_from_the_text_of_a_file() -> None:
    assert file_lines("     1\tx\n    12→ y") == [Line(1, "x"), Line(12, " y")]
    assert file_lines("7→x\n00012| y") == [Line(7, "x"), Line(12, "y")]
    assert file_lines("1\tone\n2: two\n 3 three") == [
        Line(None, "1\tone"),
        Line(None, "2: two"),
        Line(None, " 3 three"),
    ]
    assert file_lines("x\ny", first=40) == [Line(40, "x"), Line(41, "y")]


def test_one_file_has_one_key_however_its_path_is_written() -> None:
    keys = file_keys(["/repo/src/a.py", "src/a.py", "./src/a.py", "file:///repo/src/a.py", "rc/a.py", "b.py", "/b.py"])
    assert keys == {
        "/repo/src/a.py": "/repo/src/a.py",
        "src/a.py": "/repo/src/a.py",
        "./src/a.py": "/repo/src/a.py",
        "file:///repo/src/a.py": "/repo/src/a.py",
        "rc/a.py": "rc/a.py",
        "b.py": "/b.py",
        "/b.py": "/b.py",
    }
    two = file_keys(["/x/a.py", "/y/a.py", "a.py"])
    assert two["a.py"] == "a.py"


@pytest.mark.parametrize(
    ("paths", "key"),
    [
        (
            [
                "C:\\repo\\a.py",
                "c:/repo/./a.py",
                "file:///C:/repo/a.py",
                "file:///c%3A/repo/a.py",
                "file://C:/repo/a.py",
            ],
            "c:/repo/a.py",
        ),
        (["C:\\repo\\src\\a.py", "src\\a.py", ".\\src\\a.py", "src/a.py"], "c:/repo/src/a.py"),
        (["C:\\a.py", "C:\\..\\a.py", "file:///C:/a.py", "a.py"], "c:/a.py"),
        (["\\\\host\\share\\a.py", "//host/share/a.py", "file://host/share/a.py"], "//host/share/a.py"),
        (["/my repo/a.py", "file:///my%20repo/a.py", "file://localhost/my%20repo/a.py"], "/my repo/a.py"),
    ],
)
def test_paths_are_told_by_their_shape_on_every_system(paths: list[str], key: str) -> None:
    assert file_keys(paths) == dict.fromkeys(paths, key)


def test_what_only_looks_alike_stays_apart() -> None:
    paths = ["C:\\a.py", "D:\\a.py", "C:\\A.py", "/a.py", "/c/a.py", "/x\\a.py", "/x/a.py", "C:a.py"]
    assert len(set(file_keys(paths).values())) == len(paths)


def test_a_read_is_a_value() -> None:
    assert FileRead(message_id="m", block=0, path="a", text="xyz", start=4).stop == 7
