"""What was read ahead is not read again when a summary is composed, and does not change it."""

from collections import Counter
from collections.abc import Callable

from support.conversations import agent, bash, places, user
from support.counting import LengthCounter
from ullage.summary.checks import go_on
from ullage.summary.choosing.ahead import read_before
from ullage.summary.choosing.composition import compose
from ullage.summary.reading.text_reader import Command, Lines, Piece, Reader
from ullage.summary.summary_request import SummaryRequest

COUNTER = LengthCounter()
MESSAGES = tuple(
    message
    for number in range(12)
    for message in (
        user(f"Fix `load_config_{number}`, and never touch config/legacy_{number}.ini."),
        *bash(f"pytest tests/test_{number}.py\npytest -x", f"==== {number} failed in 0.2s ====", call_id=f"t{number}"),
        agent(f"I found that `_reader_for_{number}` in src/config_{number}.py knows JSON only."),
    )
)
REQUEST = SummaryRequest(messages=MESSAGES, indices=places(MESSAGES), max_tokens=900)


class CountingReader(Reader):
    """Counts how often it reads each text."""

    def __init__(self) -> None:
        self.read = Counter[str]()
        super().__init__()

    def _read_prose(self, text: str) -> tuple[Piece, ...]:
        self.read[text] += 1
        return super()._read_prose(text)

    def _read_lines(self, clean: Callable[[str], str], limit: int, text: str) -> Lines:
        self.read[text] += 1
        return super()._read_lines(clean, limit, text)

    def _read_command(self, line: str) -> Command:
        self.read[line] += 1
        return super()._read_command(line)


def read_in_slices(reader: Reader, size: int) -> None:
    for start in range(0, len(MESSAGES), size):
        stop = min(start + size, len(MESSAGES))
        # From the call of the first result on, as reading ahead does.
        before = max(0, start - 1)
        read_before(MESSAGES[before:stop], range(before, stop), reader, go_on)


def test_a_summary_of_messages_that_were_read_in_any_slices_reads_nothing_and_is_the_same() -> None:
    for size in (1, 3, len(MESSAGES)):
        reader = CountingReader()
        read_in_slices(reader, size)
        read = Counter(reader.read)
        assert read.total() >= len(MESSAGES)
        assert compose(REQUEST, COUNTER, reader) == compose(REQUEST, COUNTER)
        assert reader.read == read


def test_each_text_is_read_once_however_often_its_message_is_in_a_slice() -> None:
    reader = CountingReader()
    for _ in range(3):
        read_in_slices(reader, 2)
    # A command is read as a command and as the lines of a call.
    assert set(reader.read.values()) <= {1, 2}
