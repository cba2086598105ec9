"""The proxy forwards wrong frames from a client unchanged: only the agent can judge what it understands."""

import sys
from pathlib import Path

from attacks.frames import ACP_METHODS, FrameMaker
from support.proxy_rig import running

# An agent that keeps every byte it gets, and answers each request that it can read.
KEEPER = """
import json, sys
with open(sys.argv[1], "wb", buffering=0) as log:
    for line in sys.stdin.buffer:
        log.write(line)
        try:
            message = json.loads(line)
            wanted = {"jsonrpc": "2.0", "id": message["id"], "result": {"sessionId": "s", "protocolVersion": 1}}
            assert message["method"] in ("initialize", "session/new")
        except Exception:
            continue
        print(json.dumps(wanted), flush=True)
"""
FRAMES = 1_000


async def test_the_agent_gets_them_byte_for_byte_and_in_order_and_the_proxy_lives_on(tmp_path: Path) -> None:
    log = tmp_path / "log"
    maker = FrameMaker(7, ACP_METHODS, "_other/", "s", longest=10_000)
    frames = [maker.make(number).body.replace(b"\n", b" ") for number in range(FRAMES)]
    async with running([sys.executable, "-S", "-c", KEEPER, str(log)], tmp_path) as rig:
        await rig.ask("initialize", protocolVersion=1)
        for frame in frames:
            rig.send_line(frame + b"\n")
        assert (await rig.ask("session/new", cwd="/project", mcpServers=[]))["sessionId"] == "s"
    came = log.read_bytes().split(b"\n")[1:-2]
    assert came == frames
