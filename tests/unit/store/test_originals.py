"""The archive gives back every byte, and stores what it has already only once."""

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.session_log import line, say
from support.transcripts import ROOT
from ullage.model.errors import StoreUnavailable
from ullage.service.ports.agent_files import Source
from ullage.store.originals.sqlite_originals import SqliteOriginals, Template, divide

PARENT, FORK = "11111111-2222-3333-4444-555555555555", "66666666-7777-8888-9999-000000000000"


@pytest.fixture
def originals(tmp_path: Path) -> Iterator[SqliteOriginals]:
    with SqliteOriginals(tmp_path / "store.db.archive") as opened:
        yield opened


def store(
    originals: SqliteOriginals, path: str, data: bytes, *, steps: int = 1, pack: bool = True, origin: str = ""
) -> int:
    """Keeps a file in so many steps. Returns the id of its version."""
    kept = originals.begin(Source(path=path, agent="Claude Code", origin_id=origin))
    size = max(1, -(-len(data) // steps))
    for start in range(0, len(data), size):
        kept = originals.append(kept.version_id, start, data[start : start + size], b"", pack=pack)
    assert kept.size == len(data)
    return kept.version_id


def read(originals: SqliteOriginals, version_id: int) -> bytes:
    return b"".join(originals.read(version_id))


def talk(session: str, count: int) -> bytes:
    """Returns the lines of a conversation with texts that hardly compress, written as Claude Code writes them."""
    random = Random(7)
    lines = [
        line("assistant", f"u{number}", None, [say(random.randbytes(600).hex())], sessionId=session)
        for number in range(count)
    ]
    return b"".join(msgspec.json.encode(one) + b"\n" for one in lines)


def stored(originals: SqliteOriginals) -> int:
    return sum(room.stored for room in originals.rooms())


@given(st.lists(st.sampled_from([b"{}", b"\n", b"\r\n", b"\0", b'{"a":[{"b":1},{"c":2}]}', b"x" * 40_000, b"\xff"])))
def test_pieces_joined_are_the_file(parts: list[bytes]) -> None:
    data = b"".join(parts)
    assert b"".join(divide(data)) == data


@given(
    st.lists(
        st.sampled_from(
            [
                b'{"uuid":"u","sessionId":"S"}\n',
                b'{"uuid":"u","sessionId":"S","forkedFrom":{"sessionId":"P","messageUuid":"u"}}\n',
                b'{"uuid":"u","sessionId":"S","forkedFrom":{"sessionId":"P","messageUuid":"other"}}\n',
                b'{"uuid":"u","forkedFrom":{"sessionId":"P","messageUuid":"u"}}',
                b'"forkedFrom":{"sessionId":"P","messageUuid":"u"}}\r\n',
                b"S\0S\n",
                b"PS",
                b"\n",
            ]
        )
    ),
    st.sampled_from([b"", b"S"]),
    st.sampled_from([b"", b"P"]),
)
def test_a_piece_is_made_again_from_its_core(parts: list[bytes], session: bytes, parent: bytes) -> None:
    template = Template(session=session, parent=parent)
    for piece in divide(b"".join(parts)):
        assert template.restore(*template.core_of(piece)) == piece


@pytest.mark.parametrize("pack", [True, False])
@pytest.mark.parametrize("steps", [1, 7, 40])
def test_a_file_comes_out_as_it_went_in(originals: SqliteOriginals, steps: int, *, pack: bool) -> None:
    data = talk(PARENT, 2_000)[:-1]
    version_id = store(originals, "/a.jsonl", data, steps=steps, pack=pack, origin=PARENT)
    assert read(originals, version_id) == data
    originals.pack()
    assert read(originals, version_id) == data


@pytest.mark.no_cover
def test_every_recorded_file_comes_out_as_it_went_in(originals: SqliteOriginals) -> None:
    files = [path for path in sorted(ROOT.rglob("*")) if path.is_file()]
    if not files:
        pytest.skip("recorded transcripts are not on this machine (set ULLAGE_TRANSCRIPTS)")
    random = Random(7)
    kept = {
        path: store(originals, str(path), path.read_bytes(), steps=random.randrange(1, 9), pack=random.random() < 0.5)
        for path in files
    }
    originals.pack()
    for path, version_id in kept.items():
        assert sha256(read(originals, version_id)).digest() == sha256(path.read_bytes()).digest(), path
    raw = sum(path.stat().st_size for path in files)
    assert originals.size() <= 0.25 * raw


@pytest.mark.parametrize("mark", ["", ',"forkedFrom":{"sessionId":"%s","messageUuid":"%s"}}'])
def test_a_fork_takes_the_room_of_what_is_new_in_it(originals: SqliteOriginals, mark: str) -> None:
    lines = talk(PARENT, 500).splitlines(keepends=True)
    store(originals, "/parent.jsonl", b"".join(lines), origin=PARENT)
    before = stored(originals)
    # A branch leaves out lines of its parent, has ids of its own, and says where its lines come from.
    forked = [one.replace(PARENT.encode(), FORK.encode()) for number, one in enumerate(lines) if number % 10]
    if mark:
        forked = [
            one[:-2] + (mark % (PARENT, f"u{number}")).encode() + b"\n"
            for number, one in zip((n for n in range(500) if n % 10), forked, strict=True)
        ]
    new = b"".join(talk(FORK, 510).splitlines(keepends=True)[500:])
    data = b"".join(forked) + new
    version_id = store(originals, "/fork.jsonl", data, steps=3, pack=False, origin=FORK)
    originals.pack()
    assert read(originals, version_id) == data
    assert stored(originals) - before < len(new)


def test_bytes_that_are_kept_already_are_not_kept_twice(originals: SqliteOriginals) -> None:
    version_id = store(originals, "/a.jsonl", b"one\ntwo\n")
    kept = originals.append(version_id, 0, b"one\ntwo\n", b"", pack=False)
    assert kept.size == 8
    assert read(originals, version_id) == b"one\ntwo\n"


def test_a_file_that_is_written_again_has_two_versions(originals: SqliteOriginals) -> None:
    store(originals, "/a.jsonl", b"one\n")
    store(originals, "/a.jsonl", b"two\n")
    (original,) = originals.find(path="/a.jsonl")
    assert [read(originals, version.version_id) for version in original.versions] == [b"one\n", b"two\n"]


def test_a_conversation_has_changed_when_its_file_had(originals: SqliteOriginals) -> None:
    for name, changed in (("new", 1_750_000_000_000), ("old", 1_700_000_000_000)):
        version_id = store(originals, f"/home/ada/{name}.jsonl", talk(name, 3))
        originals.settle(version_id, (100, 7, changed * 1_000_000 + 5), b"")
    store(originals, "/home/ada/grows.jsonl", talk("grows", 3))
    old, new, grows = originals.conversations()
    assert (old.path, old.changed_at) == ("/home/ada/old.jsonl", 1_700_000_000_000)
    assert (new.path, new.changed_at) == ("/home/ada/new.jsonl", 1_750_000_000_000)
    assert grows.changed_at > new.changed_at


def test_what_another_opening_has_packed_is_read(tmp_path: Path, originals: SqliteOriginals) -> None:
    data = talk(PARENT, 20)
    version_id = store(originals, "/a.jsonl", data, pack=False)
    with SqliteOriginals(tmp_path / "store.db.archive") as other:
        other.pack()
    assert read(originals, version_id) == data
    originals.append(version_id, len(data), b"more\n", b"", pack=True)
    assert read(originals, version_id) == data + b"more\n"


def test_the_archive_can_be_read_by_its_user_alone(tmp_path: Path, originals: SqliteOriginals) -> None:
    store(originals, "/a.jsonl", b"one\n")
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}


def test_a_file_that_is_no_archive_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.archive"
    path.write_text("my notes, which are no database at all" * 10)
    before = path.read_bytes()
    with pytest.raises(StoreUnavailable, match=r"archive .* is not"):
        SqliteOriginals(path)
    assert path.read_bytes() == before
