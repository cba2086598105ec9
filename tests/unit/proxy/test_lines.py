"""Lines of a byte stream: whole lines, torn lines, and lines that are too long to be read."""

from ullage.proxy.lines import LineCutter, Outlet, Piece


class Kept:
    """A sink that keeps everything."""

    def __init__(self) -> None:
        self.data = b""

    def write(self, data: bytes) -> None:
        self.data += data

    @property
    def has_room(self) -> bool:
        return True

    async def drain(self) -> None:
        pass

    async def flush(self, patience: float) -> None:
        pass

    def close(self) -> None:
        pass


def test_lines_come_with_their_line_feeds_and_a_carriage_return_is_part_of_a_line() -> None:
    cutter = LineCutter()
    assert list(cutter.feed(b'{"a":1}\r\n{"b"')) == [Piece(b'{"a":1}\r\n')]
    assert list(cutter.feed(b":2}\n\n")) == [Piece(b'{"b":2}\n'), Piece(b"\n")]
    assert list(cutter.end()) == []


def test_what_the_stream_ends_with_is_passed_on_too() -> None:
    cutter = LineCutter()
    assert list(cutter.feed(b'{"half a l')) == []
    assert list(cutter.end()) == [Piece(b'{"half a l')]


def test_a_line_that_is_too_long_goes_through_in_pieces_unread() -> None:
    cutter = LineCutter(longest=4)
    assert list(cutter.feed(b"[2345")) == [Piece(b"[2345", whole=False, ends=False)]
    assert list(cutter.feed(b"67")) == [Piece(b"67", whole=False, ends=False)]
    assert list(cutter.feed(b"8\nok\n")) == [Piece(b"8\n", whole=False), Piece(b"ok\n", is_text=True)]


def test_a_prompt_on_a_terminal_goes_through_before_its_line_ends() -> None:
    cutter = LineCutter()
    assert list(cutter.feed(b"Paste code here > ")) == [
        Piece(b"Paste code here > ", whole=False, ends=False, is_text=True)
    ]
    assert list(cutter.feed(b'\n {"a":')) == [Piece(b"\n", whole=False, is_text=True)]
    assert list(cutter.feed(b"1}\n")) == [Piece(b' {"a":1}\n')]


def test_nothing_is_inserted_in_the_middle_of_a_long_line() -> None:
    kept = Kept()
    outlet = Outlet(kept)
    outlet.pass_on(Piece(b"123", whole=False, ends=False))
    outlet.insert(b"ours\n")
    outlet.pass_on(Piece(b"4\n", whole=False))
    outlet.insert(b"ours again\n")
    assert kept.data == b"1234\nours\nours again\n"


def test_a_whole_line_that_is_forwarded_late_waits_for_the_end_of_a_long_one() -> None:
    kept = Kept()
    outlet = Outlet(kept)
    outlet.pass_on(Piece(b"123", whole=False, ends=False))
    outlet.pass_on(Piece(b'{"late":1}\n'))
    outlet.pass_on(Piece(b"4\n", whole=False))
    assert kept.data == b'1234\n{"late":1}\n'


def test_a_line_that_its_writer_did_not_end_has_no_further_line_put_after_it() -> None:
    for longest in (4, 1_000):
        kept, cutter = Kept(), LineCutter(longest)
        outlet = Outlet(kept)
        for piece in [*cutter.feed(b'{"half a l'), *cutter.end()]:
            outlet.pass_on(piece)
        assert kept.data == b'{"half a l'
        outlet.insert(b"ours\n")
        outlet.insert(b"ours again\n")
        assert kept.data == b'{"half a l\nours\nours again\n'
