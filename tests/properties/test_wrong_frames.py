"""A few of the wrong frames that `./scripts/fuzz` sends to each door by the hundred thousand."""

import random
from pathlib import Path

import pytest

from attacks.frames import ACP_METHODS, FrameMaker
from attacks.fuzzing import NOT_JSON, NOTHING, TOO_LONG, fuzz, owed
from attacks.open_doors import DOORS, LONGEST


@pytest.mark.parametrize("door", list(DOORS))
async def test_every_wrong_frame_gets_the_answer_it_is_owed_and_harms_nothing(door: str, tmp_path: Path) -> None:
    outcome = await fuzz(DOORS[door](tmp_path / "sessions.db"), seed=7, numbers=range(1_500))
    assert outcome.faults == []


def test_a_seed_and_a_number_give_the_same_frame_again_and_frames_of_every_kind_come() -> None:
    maker, again = (FrameMaker(7, ACP_METHODS, "_ullage/", "s", LONGEST) for _ in range(2))
    frames = [maker.make(number) for number in range(2_000)]
    assert frames[:50] == [again.make(number) for number in range(50)]
    kinds = {frame.kind for frame in frames}
    assert kinds >= {"truncated", "oversized", "deeply_nested", "wrong_typed", "out_of_order", "not_utf8", "batched"}
    assert len(maker.oversized(random.Random(1))) > LONGEST


def test_what_is_owed_is_found_by_another_reader_than_the_door_s() -> None:
    assert owed(b"nonsense") == NOT_JSON
    assert owed(b'{"jsonrpc":"2.0","method":"x"}') == NOTHING
    assert owed(b'{"jsonrpc":"2.0","id":1,"result":{}}') == NOTHING
    assert owed(b"[]") == TOO_LONG
    assert owed(b'{"jsonrpc":"2.0","id":"a","method":"x"}').ids == ("a", None)
