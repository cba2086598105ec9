"""What is remembered of the texts that were read for summaries takes a bounded amount of memory."""

import pytest

from ullage.summary import reader


def test_no_more_texts_are_remembered_than_have_room_in_memory_whatever_their_script(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read: list[str] = []

    def redact(text: str) -> str:
        read.append(text)
        return text

    monkeypatch.setattr(reader, "redact", redact)
    for letter, most in (("a", 20), ("字", 10)):
        remembers = reader.Reader(room=24_000).redact
        texts = [letter * 1_000 + str(number) for number in range(100)]
        for text in [*texts, *reversed(texts)]:
            remembers(text)
        assert most // 2 <= 200 - len(read) <= most
        del read[:]
