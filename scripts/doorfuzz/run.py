"""Sends thousands of frames to one door. Each must get a right answer, and an earlier session must stay as it was."""

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from doorfuzz.doors import LONGEST, Door
from doorfuzz.frames import Frame, FrameMaker
from doorfuzz.oracle import TOO_LONG, Owed, owed

# After this many frames, broken framing and then valid requests are sent. The next frames name a new session, since the
# last one may be closed, deleted or configured out of use.
_PROBE_EVERY = 100
# The most faults that are listed. The run ends after them.
_MOST_FAULTS = 20
_TALK = [("user", "Fix src/login.py"), ("assistant", "I read src/login.py and fixed it."), ("user", "Thanks")]


class Outcome(Struct, kw_only=True):
    """The count of answers by kind of frame (`nothing`, `result`, or an error's code), and the faults."""

    answers: Counter[tuple[str, str]]
    faults: list[str]


async def fuzz(door: Door, seed: int, numbers: range, told: Callable[[], object] = int) -> Outcome:
    """Sends the frames of these numbers. `told` is called after each frame."""
    await door.ask("initialize", **door.opening)
    session_id = await _talk(door)
    before = await _state(door, session_id)
    maker = FrameMaker(seed, door.methods, door.prefix, await _talk(door), LONGEST)
    outcome = Outcome(answers=Counter(), faults=[])
    for number in numbers:
        frame = maker.make(number)
        answers = await door.exchange(frame.body)
        outcome.answers[frame.kind, _shown(answers)] += 1
        if fault := _fault(door, frame, answers):
            outcome.faults.append(f"frame {number}, {frame.kind}: {fault}; it was {frame.body[:300]!r}")
        if number % _PROBE_EVERY == 0:
            await door.disturb(random.Random(f"{seed}/{number}"))
            await _state(door, session_id)
            maker.session_id = await _talk(door)
        if not door.is_alive or len(outcome.faults) >= _MOST_FAULTS:
            break
        told()
    if await _state(door, session_id) != before:
        outcome.faults.append(f"the session is not what it was: {before!r}")
    return outcome


async def _talk(door: Door) -> str:
    session_id: str = (await door.ask(f"{door.prefix}session/new", cwd="/project"))["sessionId"]
    messages = [{"role": role, "content": text} for role, text in _TALK]
    await door.ask(f"{door.prefix}session/append", sessionId=session_id, messages=messages)
    return session_id


async def _state(door: Door, session_id: str) -> Any:
    """Returns the whole state of a session that no frame names."""
    messages = await door.ask(f"{door.prefix}context/messages", sessionId=session_id, scope="transcript")
    usage = await door.ask(f"{door.prefix}context/get", sessionId=session_id)
    return messages["entries"], messages["total"], usage["used"]


def _shown(answers: list[dict[str, Any]]) -> str:
    if len(answers) != 1:
        return "nothing" if not answers else f"{len(answers)} answers"
    return str(answers[0]["error"]["code"]) if "error" in answers[0] else "result"


def _fault(door: Door, frame: Frame, answers: list[dict[str, Any]]) -> str:
    if not door.is_alive:
        return "the door is closed"
    wanted = TOO_LONG if len(frame.body) > LONGEST else owed(door.carried(frame.body))
    if len(answers) == 1 and wanted.ids:
        return _fault_in(answers[0], wanted)
    if not answers and (wanted.silence or not wanted.ids):
        return ""
    return f"there are {len(answers)} answers: {answers}"


def _fault_in(answer: dict[str, Any], wanted: Owed) -> str:
    if answer["id"] not in wanted.ids:
        return f"the answer's id is {answer['id']!r}, not one of {wanted.ids}"
    if "error" not in answer:
        return "" if wanted.result else f"there is a result: {answer}"
    code = answer["error"]["code"]
    return "" if code in wanted.codes else f"the error is {answer['error']}, not one of {sorted(wanted.codes)}"
