"""Frames of any kind, most of them wrong in some way, are forwarded unchanged; but what is no JSON never reaches a
client."""

import json
import sys
from pathlib import Path

import msgspec
import pytest

from attacks.frames import ACP_METHODS, FrameMaker
from support.acp_end import is_ours
from support.proxy_play import Play
from support.proxy_rig import running
from support.systems import needs_unix_sockets
from ullage.proxy.lines import LONGEST

pytestmark = pytest.mark.no_cover

# An agent that returns every line, so that each frame is sent by the client first and then by the agent.
_ECHO = "import sys\nfor line in sys.stdin.buffer: sys.stdout.buffer.write(line); sys.stdout.buffer.flush()"
_FRAMES = 1_500
_NO_MESSAGES = (
    "npm warn deprecated glob@7: not supported\n",
    "[warn] no key\n",
    "{broken\n",
    '{"level":30,"time":1700000000000,"msg":"listening"}\n',
    "{}\n",
    '\ufeff{"jsonrpc":"2.0","method":"x"}\n',
    "\x1b[33m(node:1) Warning\x1b[0m\n",
    "null\n",
    "\n",
    "[]\n",
    '["ready", 1]\n',
    "42\n",
    '"started"\n',
)
_LAST = b'{"jsonrpc":"2.0","method":"_the/last"}\n'


@pytest.mark.parametrize("seed", [1, 2])
async def test_nothing_that_either_side_says_is_changed_or_lost(tmp_path: Path, seed: int) -> None:
    maker = FrameMaker(seed, ACP_METHODS, "_ullage/", "s", LONGEST)
    frames = [maker.make(number).body.replace(b"\n", b" ") + b"\n" for number in range(_FRAMES)]
    async with running([sys.executable, "-S", "-c", _ECHO], tmp_path) as rig:
        rig.reads = False
        for frame in [*frames, _LAST]:
            rig.send_line(frame)
        await rig.until_line(_LAST)
    passed = [line for line in rig.lines if not is_ours(line)]
    assert passed == [frame for frame in [*frames, _LAST] if is_json(frame)]
    assert len(passed) > _FRAMES / 3


def is_json(frame: bytes) -> bool:
    """Whether an agent's line may reach a client: it is an object that has a field of a message, or an array of
    objects, as version 2 of the protocol has it."""
    try:
        msgspec.json.decode(frame, type=msgspec.Raw)
    except ValueError:
        return False
    except RecursionError:
        return True
    if frame.strip()[:1] == b"[":
        batch = json.loads(frame.decode(errors="replace"))
        return bool(batch) and all(isinstance(one, dict) for one in batch)
    return frame.strip()[:1] == b"{" and not _is_other_object(frame)


def _is_other_object(frame: bytes) -> bool:
    """Whether an object has no field of a message."""
    fields = msgspec.json.decode(frame.decode(errors="replace"), type=dict[str, msgspec.Raw])
    return fields.keys().isdisjoint(("method", "id", "result", "error"))


@needs_unix_sockets
async def test_what_an_agent_prints_that_is_no_message_goes_to_standard_error(
    play: Play, capfd: pytest.CaptureFixture[str]
) -> None:
    await play.greet()
    for text in (*_NO_MESSAGES, "Proceed? "):
        play.agent.prints(text)
    play.agent.prints("\n")
    await play.turn("Hello")
    lines = list(play.client.lines)
    for line in lines:
        assert isinstance(json.loads(line), dict)
    shown = capfd.readouterr().err
    for text in (*_NO_MESSAGES, "Proceed? \n"):
        assert text in shown
