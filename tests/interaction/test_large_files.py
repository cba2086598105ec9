"""A large file is read in pieces: its session has everything once, and its newest figures are known at once."""

import json
from pathlib import Path

import pytest

from support.codex_files import call, counted, output, said, session
from support.followed_rig import IN_PIECES, Rig, talk
from support.log_trees import to_bytes
from support.session_log import line, say
from ullage.system.growing_files import GrowingFiles


async def test_a_large_file_is_read_in_pieces_and_its_session_has_everything_once(tmp_path: Path) -> None:
    rig, lines = Rig(tmp_path, files=IN_PIECES), talk(*(f"Number {number}" for number in range(41)))
    rig.write(lines)
    assert (await rig.followed.look()).more
    assert 0 < len(rig.said()) < 41
    await rig.read()
    assert rig.said() == [one["message"].get("id", one["uuid"]) for one in lines]
    # Another follower continues, whether or not the first one came to the end.
    rig.add(to_bytes(talk(*["Once more."] * 43)[41:]))
    for _ in range(2):
        rig.restart()
        await rig.read()
        assert len(rig.said()) == 43
    assert rig.sessions == 1


async def test_a_large_file_with_other_messages_at_its_end_becomes_another_session(tmp_path: Path) -> None:
    rig, lines = Rig(tmp_path, files=IN_PIECES), talk(*(f"Number {number}" for number in range(41)))
    rig.write(lines)
    await rig.read()
    rig.write(lines[:37] + talk(*["Other."] * 41)[37:])
    await rig.read()
    assert rig.texts[35:] == ["Number 35", "Number 36", "Other.", "Other."]
    assert rig.sessions == 2


async def test_a_large_file_of_another_shape_is_read_as_a_whole(tmp_path: Path) -> None:
    rig = Rig(tmp_path, files=IN_PIECES)
    rig.path.write_text(json.dumps([{"role": "user", "content": f"Number {number}"} for number in range(99)], indent=1))
    assert not (await rig.followed.look()).more
    assert len(rig.said()) == 99


async def test_the_figures_at_the_end_of_a_large_file_are_known_before_it_is_read(tmp_path: Path) -> None:
    rig = Rig(tmp_path, files=GrowingFiles(20_000))
    lines = talk(*(f"word {number} " * 200 for number in range(201)))
    lines[199]["message"]["usage"] = {"input_tokens": 140_000, "output_tokens": 11}
    rig.write(lines)
    await rig.followed.look()
    ahead = await rig.followed.look_ahead()
    assert ahead is not None
    # The answer's usage, and a local count of the prompt after it.
    assert ahead.used > 140_011
    await rig.read()
    assert rig.followed.conversation is not None
    # The count is calibrated by as many reports as were read.
    assert rig.followed.conversation.used == pytest.approx(ahead.used, rel=0.1)


async def test_a_figure_is_not_taken_for_the_newest_where_the_order_of_lines_is_not_known(tmp_path: Path) -> None:
    rig = Rig(tmp_path, files=GrowingFiles(20_000))
    lines = talk(*(f"word {number} " * 200 for number in range(202)))
    for number, one in enumerate(lines):
        one["timestamp"] = f"2026-01-02T03:{number // 60:02}:{number % 60:02}.000Z"
    # An answer of a branch that the user left: its parent is in the unread part, as is that of the lines before it.
    usage = {"input_tokens": 190_000, "output_tokens": 1}
    left = line("assistant", "left", "u3", [say("Left.")], usage=usage, timestamp=lines[198]["timestamp"])
    rig.write([*lines[:199], left, *lines[199:]])
    await rig.followed.look()
    assert await rig.followed.look_ahead() is None
    await rig.read()
    assert rig.followed.conversation is not None
    assert rig.followed.conversation.used < 190_000


async def test_a_file_that_does_not_say_its_figures_at_its_end_has_none_ahead(tmp_path: Path) -> None:
    rig = Rig(tmp_path, files=GrowingFiles(20_000))
    rig.write(talk(*["word " * 200] * 3))
    prompts = [line("user", f"u{number}", f"u{number - 1}", "word " * 200) for number in range(1, 300)]
    rig.add(to_bytes(prompts))
    assert await rig.followed.look_ahead() is None


async def test_the_figure_ahead_of_codexs_end_is_read_from_the_beginning_of_a_turn_on(tmp_path: Path) -> None:
    rig = Rig(tmp_path, files=GrowingFiles(2_000))
    # The usage is before its answer, which shows at the beginning of the turn alone.
    rig.write([
        session(id="0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9", cwd="/home/ada"),
        said("user", "Here is all of it. " * 10_000),
        counted(58_000),
        said("assistant", "Thanks."),
        said("user", "Look."),
        counted(59_000),
        said("assistant", "I look at it. " * 4_000),
        call("c1"),
        output("c1"),
        counted(81_000),
        said("assistant", "All of it is fine. " * 400),
    ])  # fmt: skip
    assert (await rig.followed.look()).more
    ahead = await rig.followed.look_ahead()
    assert ahead is not None
    assert ahead.used == 81_007
