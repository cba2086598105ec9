"""The status line's own copies of small functions agree with the originals, which take long to import."""

import json
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.cli.arguments import add_shared
from ullage.cli.command_line import Parser
from ullage.cli.commands import statusline
from ullage.cli.statusline import files, line
from ullage.cli.statusline.transcript_end import context_at_end
from ullage.model.words import short
from ullage.store.sqlite.database import default_path


@given(st.integers(0, 10**8))
def test_sizes_are_written_as_everywhere(tokens: int) -> None:
    assert line.short(tokens) == short(tokens)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(JSON, st.booleans(), st.sampled_from(["", "\n", " \r\n\t"]))
def test_json_is_read_as_everywhere(value: object, is_ascii: bool, around: str) -> None:
    text = around + json.dumps(value, ensure_ascii=is_ascii) + around
    assert files.parse(text.encode("utf-8", "surrogatepass")) == value


def test_a_byte_order_mark_is_not_part_of_json() -> None:
    assert files.parse(b'\xef\xbb\xbf{"model": "m"}\r\n') == {"model": "m"}


@given(st.text(st.sampled_from('{}[]",:\\u0019.-+eE truefalsn\n'), max_size=30) | st.text())
def test_what_is_not_json_is_refused_as_everywhere(text: str) -> None:
    try:
        value = json.loads(text)
    except ValueError:
        with pytest.raises(ValueError):
            files.parse(text.encode("utf-8", "surrogatepass"))
    else:
        assert repr(files.parse(text.encode("utf-8", "surrogatepass"))) == repr(value)


@pytest.mark.parametrize("named", [None, "", "relative", "/data"])
def test_the_store_is_where_it_is_for_all_commands(monkeypatch: pytest.MonkeyPatch, named: str | None) -> None:
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    if named is not None and sys.platform == "linux":
        monkeypatch.setenv("XDG_DATA_HOME", named)
    assert files.default_store() == str(default_path())


def test_every_option_of_the_help_is_known_without_the_parser() -> None:
    parser = Parser()
    statusline.add_arguments(parser)
    add_shared(parser, set_defaults=True)
    assert {*parser.options, "--help"} == {*statusline.VALUES, *statusline.FLAGS, "--help"}


def said(window: object, **usage: object) -> "dict[str, object]":
    return {"context_window": {"context_window_size": window, "current_usage": usage}}


@pytest.mark.parametrize(
    ("given", "used", "window"),
    [
        (said(200_000, input_tokens=0, output_tokens=420), None, 200_000),
        (said(200_000, input_tokens=573_100), 573_100, 1_000_000),
        (said(1_000_000, input_tokens=1_300_000), 1_300_000, 1_300_000),
        (said(None, input_tokens=5_000), 5_000, None),
        (said("200000", input_tokens="5000"), 5_000, 200_000),
        (said(2e5, input_tokens=5e3), 5_000, 200_000),
        (said(10**15, input_tokens=10**15), None, None),
        (said(1_000_000, input_tokens=9, iterations=[{"type": "message", "input_tokens": 5}]), 5, 1_000_000),
    ],
)
def test_what_an_agent_says_is_judged_as_a_log_is(given: object, used: int | None, window: int | None) -> None:
    figure = line.figure_of_agent(files.as_object(given), None, is_followed=False)
    assert (figure.used, figure.window) == (used, window)


def test_a_compaction_for_idling_is_announced_until_its_time() -> None:
    soon, past = (round(time.time() * 1_000) + seconds * 1_000 for seconds in (600, -1))
    row: dict[str, object] = {"used": 240_000, "window": 1_000_000, "compacts_at": 967_000, "used_source": "reported"}
    clock = time.strftime("%H:%M", time.localtime(soon / 1_000))
    context = {"context_window": {"context_window_size": 1_000_000, "current_usage": {"input_tokens": 240_000}}}

    def shown(row: dict[str, object]) -> set[str]:
        told = line.figure_of_agent(context, row, is_followed=True)
        return {line.draw(figure, None, "plain") for figure in (line.figure_of_row(row), told)}

    text = f"○ 24% · 240K/1M · idle: compacts at {clock} · compacts at 967K"
    assert shown(row | {"idle": {"at": soon, "setting": "x"}}) == {text}
    for idle in ({"at": past, "setting": "x"}, None, "soon"):
        assert shown(row | {"idle": idle}) == {"○ 24% · 240K/1M · compacts at 967K"}


CONTEXT: "dict[str, object]" = {
    "context_window": {"context_window_size": 200_000, "current_usage": {"input_tokens": 9}}
}


def told(more: "dict[str, object]", row: "dict[str, object] | None" = None) -> str:
    figure = line.figure_of_agent(CONTEXT | more, row, is_followed=row is not None)
    return line.draw(figure, None, "plain").removeprefix("○ 0% · 9/200K")


def test_the_line_says_how_long_the_prompt_is_kept() -> None:
    now = round(time.time() * 1_000)
    row: dict[str, object] = {"cache": {"until": now + 630_000, "source": "promised"}}
    past: dict[str, object] = {"cache": {"until": now - 1, "source": "promised"}}
    assert told({}, row) == " · warm 10 min"
    assert told({}, past) == " · cold"
    # A provider that promises nothing may still have it, and a row that is not kept up to date says nothing.
    assert told({}, {"cache": {"until": now - 1, "source": "seen"}}) == ""
    assert line.figure_of_agent(CONTEXT, row, is_followed=False).warm_until is None
    # What the agent says of its own cache counts, in seconds.
    assert told({"prompt_cache": {"warm": True, "expires_at": now // 1_000 + 150}}, past) == " · warm 2 min"
    assert told({"prompt_cache": {"warm": False, "caching_observed": True, "expires_at": None}}, row) == " · cold"
    for odd in ("warm", {"expires_at": "soon"}, None):
        assert told({"prompt_cache": odd}, row) == " · warm 10 min"


def test_the_line_ends_with_the_rate_limits_that_an_agent_says() -> None:
    limits = {"five_hour": {"used_percentage": 41.6}, "seven_day": {"used_percentage": 12}}
    assert told({"rate_limits": limits}) == " · 5h 42%"
    assert told({"rate_limits": limits | {"seven_day": {"used_percentage": 80}}}) == " · 5h 42% · 7d 80%"
    for odd in (
        "x",
        {"five_hour": None},
        {"five_hour": {"used_percentage": "41"}},
        {"five_hour": {"used_percentage": -1}},
    ):
        assert told({"rate_limits": odd}) == ""


def test_a_row_has_the_rate_limits_that_are_not_over_for_lines_without_an_agent() -> None:
    now = round(time.time() * 1_000)
    limits = [{"name": "5h", "percent": 90, "until": now - 1}, {"name": "7d", "percent": 60, "until": now + 60_000}]
    row: dict[str, object] = {"rate_limits": limits, "used": 9, "window": 200_000}
    assert line.draw(line.figure_of_row(row), None, "plain") == "○ 0% · 9/200K · 7d 60%"
    # What the agent says itself is newer.
    assert told({"rate_limits": {"five_hour": {"used_percentage": 3}}}, row) == " · 5h 3%"


def test_what_an_agent_says_is_kept_unless_its_row_has_it() -> None:
    given: dict[str, object] = CONTEXT | {"rate_limits": {"five_hour": {"used_percentage": 3, "resets_at": 9}}}
    row: dict[str, object] = {"window": 200_000, "window_source": "agent"}
    limits = [{"name": "5h", "percent": 3, "until": 9_000}]
    assert line.is_known(row | {"rate_limits": limits}, given)
    assert not line.is_known(row, given)
    assert not line.is_known(row | {"rate_limits": [limits[0] | {"percent": 4}]}, given)
    assert line.is_known(row, CONTEXT)
    assert not line.is_known(row | {"window": 1_000_000}, CONTEXT)


def test_a_good_moment_is_said_after_a_silence() -> None:
    now = round(time.time() * 1_000)
    moment = {"at": now - 20_000, "work": "fix: round", "tokens": 26_000, "cost": 0.098}
    assert told({}, {"moment": moment}) == " · good moment: new session 26K, $0.10"
    assert told({}, {"moment": moment | {"cost": None}}) == " · good moment: new session 26K"
    for odd in (None, "now", moment | {"at": now - 5_000}, moment | {"at": "x"}):
        assert told({}, {"moment": odd}) == ""


# The size of a context by the end of its transcript, for a status line that nothing else helps


# 4 bytes per token: more than by its one word.
FIRST, SUMMARY = "x" * 4_000, "y" * 20_000
PROMPT, HIDDEN, LEFT = 21_000, 20_000, 5_000


def record(role: str, text: str, uuid: str = "", **usage: int) -> dict[str, Any]:
    message = {"role": role, "content": [{"type": "text", "text": text}]}
    return {"type": role, "uuid": uuid or text[:9], "message": message | ({"usage": usage} if usage else {})}


def boundary(**metadata: Any) -> dict[str, Any]:
    return {"type": "system", "subtype": "compact_boundary", "compactMetadata": {"trigger": "manual"} | metadata}


BEFORE = [
    record("user", FIRST),
    record("assistant", "Begun.", input_tokens=5, cache_read_input_tokens=PROMPT - 5, output_tokens=4),
    record("user", "z" * 80_000, "kept"),
    record("assistant", "Done.", "last", input_tokens=60_000, output_tokens=40),
]


@pytest.fixture
def log(tmp_path: Path) -> "Log":
    return Log(tmp_path / "log.jsonl")


class Log:
    def __init__(self, path: Path) -> None:
        self.path = path

    def end(self, *records: dict[str, Any], torn: bytes = b"") -> tuple[int | None, bool]:
        self.path.write_bytes(b"".join(msgspec.json.encode(record) + b"\n" for record in records) + torn)
        return context_at_end(str(self.path))


def test_without_a_compaction_it_is_the_last_report(log: Log) -> None:
    assert log.end(*BEFORE, record("user", "More."), torn=b'{"message": {"usage"') == (60_040, False)


@pytest.mark.parametrize(
    ("metadata", "after", "left"),
    [
        ({"postTokens": 5_706}, [record("user", SUMMARY)], 5_706),
        ({"postTokens": 5_706}, [], 5_706),
        ({}, [record("user", SUMMARY)], LEFT),
        ({"postTokens": 0}, [record("user", SUMMARY)], LEFT),
        ({"postTokens": "many"}, [record("user", SUMMARY)], LEFT),
        # Kept messages are named, and written again by some versions.
        (
            {"preservedSegment": {"headUuid": "kept", "tailUuid": "last"}},
            [record("user", SUMMARY)],
            LEFT + 20_001,
        ),
        ({"preservedMessages": {"allUuids": ["kept"]}}, [record("user", SUMMARY)], LEFT + 20_000),
        ({"preservedMessages": {"uuids": ["kept"]}}, [record("user", SUMMARY), BEFORE[2]], LEFT + 20_000),
        # A sub-agent's lines are of another context.
        (
            {},
            [
                record("user", SUMMARY),
                record("assistant", "w", input_tokens=9) | {"isSidechain": True},
            ],
            LEFT,
        ),
        (
            {},
            [record("user", SUMMARY), {"type": "attachment", "attachment": {"content": "a" * 400}}],
            LEFT + 100,
        ),
    ],
)
def test_after_a_compaction_it_is_what_was_left_and_the_hidden_part(
    log: Log, metadata: dict[str, Any], after: list[dict[str, Any]], left: int
) -> None:
    assert log.end(*BEFORE, boundary(**metadata), *after) == (HIDDEN + left, True)


def test_the_hidden_part_of_a_file_that_begins_with_a_compaction_is_known(log: Log) -> None:
    records = [record("user", "v" * 40_000), boundary(), *BEFORE, boundary(postTokens=700)]
    assert log.end(*records) == (HIDDEN + 700, True)


@pytest.mark.parametrize(
    "records",
    [
        [],
        [*BEFORE, boundary()],
        [record("user", FIRST), boundary(postTokens=700), record("user", SUMMARY)],
        [record("user", "u" * 300_000), *BEFORE[1:], boundary(postTokens=700)],
    ],
)
def test_what_the_file_does_not_show_stays_unknown(log: Log, records: list[dict[str, Any]]) -> None:
    assert log.end(*records) == (None, False)
    log.path.unlink()
    assert context_at_end(str(log.path)) == (None, False)


def test_an_agent_that_knows_no_size_gets_the_estimate_after_a_compaction_alone(log: Log) -> None:
    context = {"context_window_size": 200_000, "current_usage": None}
    given = {"context_window": context, "transcript_path": str(log.path)}

    def shown(row: dict[str, Any] | None = None, *, is_followed: bool = False) -> str:
        return line.draw(line.figure_of_agent(given, row, is_followed=is_followed), None, "plain")

    row = {"used": 90_000, "used_source": "reported", "window": 200_000, "compacts_at": 167_000}
    log.end(*BEFORE)
    assert shown() == "? · ?/200K"
    log.end(*BEFORE, boundary(), record("user", SUMMARY))
    assert shown() == "○ ~13% · 25K/200K"
    assert shown(row) == "○ ~13% · 25K/200K · compacts at 167K"
    assert shown(row, is_followed=True) == "◔ 45% · 90K/200K · compacts at 167K"
    assert shown(row | {"used": None}, is_followed=True) == "○ ~13% · 25K/200K · compacts at 167K"
    log.end(
        *BEFORE,
        boundary(),
        record("user", SUMMARY),
        record("assistant", "On.", input_tokens=31_000),
    )
    assert shown() == "? · ?/200K"
