import json

import pytest

from support.foreign import messages_of, read_lines, read_value, to_lines
from support.tables import every
from ullage.agents.transcripts import format_names, read
from ullage.formats.transcripts.message_lists import Header, write_ullage
from ullage.model.errors import InputError, UnknownFormat, UnreadableTranscript
from ullage.model.events import Event, MessageAppended, Record, SessionCreated, SessionRenamed
from ullage.model.message import Message, Role, TextBlock

TEXT = MessageAppended(message=Message(id="m1", role=Role.USER, content=(TextBlock(text="hello"),)))


@pytest.mark.parametrize(
    "data", [b"", b"hello", b"{}", b"[]", b'{"a": 1}\n{"b": 2}\n', b"\xff\xfe\x00", b"[" * 100_000]
)
def test_unknown_content_names_the_input_and_the_remedy_briefly(data: bytes) -> None:
    with pytest.raises(UnknownFormat) as raised:
        read(data, "notes.txt")
    text = str(raised.value)
    assert text.startswith("notes.txt is ")
    assert len(text) < 160
    # A program that gives a transcript by a protocol has no command line.
    assert "--format" not in text
    assert ("--format list" in raised.value.in_shell) == bool(data)


def test_asking_for_the_formats_lists_them_and_a_misspelt_one_names_the_nearest() -> None:
    with pytest.raises(UnknownFormat) as raised:
        read(b"{}", "notes.txt", "list")
    assert all(name in str(raised.value) for name in format_names())
    with pytest.raises(UnknownFormat, match="did you mean swe-agent"):
        read(b"{}", "notes.txt", "sweagent")


def test_a_file_cut_short_differs_from_one_of_an_unknown_format() -> None:
    data = json.dumps({"llm_interactions": [{"response": {}}]}, indent=1).encode()
    with pytest.raises(UnknownFormat, match=r"x is not .* \(not JSON: .* at character \d+\); if"):
        read(data[:-5], "x")


@every("name", format_names())
@every("data", [b"", b"null", b"[1]", b'{"messages": [3]}', b'{"type": 4}\n[]\n{'])
def test_a_wrong_format_asked_for_is_a_clear_error(name: str, data: bytes) -> None:
    with pytest.raises(InputError):
        read(data, "x", name)


def test_the_file_name_plays_no_part() -> None:
    data = json.dumps([{"role": "user", "content": "a"}]).encode()
    assert {read(data, name).format for name in ("session.jsonl", "x.traj")} == {"openai-messages"}


def test_a_byte_order_mark_and_bad_utf8_do_not_hinder() -> None:
    data = b'\xef\xbb\xbf[{"role": "user", "content": "caf\xe9 \\ud83d"}]'
    transcript = read(data, "x")
    assert messages_of(transcript)[0].text == "caf\ufffd \ufffd"


def test_ids_given_twice_are_made_unique() -> None:
    transcript = read_value([{"role": "user", "content": "a", "id": "x"}, {"role": "user", "content": "b", "id": "x"}])
    assert [message.id for message in messages_of(transcript)] == ["x", "x~2"]


def records(*events: Event) -> tuple[Record, ...]:
    return tuple(Record(position=index, timestamp=index, event=event) for index, event in enumerate(events))


def test_ullages_own_export_comes_back_as_it_was() -> None:
    events = (SessionCreated(model="m", cwd="/w", title="t"), TEXT, SessionRenamed(title="u"))
    transcript = read(write_ullage(Header(session_id="s", title="u"), records(*events)), "x")
    assert transcript.format == "ullage"
    assert transcript.events == events[1:]
    assert (transcript.model, transcript.cwd, transcript.title) == ("m", "/w", "u")


def test_a_torn_export_loads_up_to_the_tear() -> None:
    data = write_ullage(Header(), records(SessionCreated(), TEXT, TEXT))
    transcript = read(data[:-10], "x")
    assert transcript.events == (TEXT,)
    assert [(skipped.line, skipped.expected) for skipped in transcript.skipped] == [(4, False)]


def test_an_export_of_a_newer_version_is_refused() -> None:
    with pytest.raises(UnreadableTranscript, match="newer Ullage"):
        read_lines({"ullage": 99}, {"position": 0})


def test_an_export_without_messages_is_unreadable() -> None:
    with pytest.raises(UnreadableTranscript, match="no message"):
        read(to_lines({"ullage": 1}), "x")
