"""Agents behind the proxy that flood it, talk nonsense, answer wrongly or never, or die in the middle of a line."""

import asyncio
import logging
import sys
from contextlib import suppress
from pathlib import Path

from attacks.attack import Ground, Outcome
from support import hostile_agent
from support.proxy_rig import ProxyRig, running
from ullage.proxy.connection import ProxyOptions
from ullage.proxy.serve import log

# Seconds that the client waits for an answer. Most come at once.
_PATIENCE = 120.0
# Attacks after which the client has no answer to its prompt, because the agent runs and owes it.
_SILENT = "never-answers"


def hostile_agents(ground: Ground) -> Outcome:
    """Guards against an agent that hangs the proxy, ends it, or breaks what it says itself. After each attack the
    prompt is answered, one of Ullage's own methods answers, and the proxy ends with its client."""
    times = ground.times(1, 20)
    names = [name for name in hostile_agent.ATTACKS for _ in range(times)]
    faults: list[str] = []
    for number, name in enumerate(names):
        before = _children()
        fault = asyncio.run(_attack(name, ground.folder / f"agent{number}"))
        if fault := fault or ("its process is left" if _children() - before else ""):
            faults.append(f"{name}: {fault}")
    return Outcome(tried=len(names), survived=f"{len(names) - len(faults)} answered and ended", faults=tuple(faults))


class _Errors(logging.Handler):
    """Keeps what the proxy logs of its own faults."""

    def __init__(self, level: int) -> None:
        super().__init__(level)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        self.said.append(f"{record.getMessage()}: {error!r}"[:300])


async def _attack(name: str, folder: Path) -> str:
    """Returns what is wrong with how the proxy took the attack, or an empty text."""
    folder.mkdir()
    command, options = [sys.executable, hostile_agent.__file__, name], ProxyOptions(own_methods=True)
    logged = _Errors(logging.ERROR)
    log.addHandler(logged)
    try:
        async with running(command, folder, options) as rig:
            rig.is_strict = False
            return await _talk(rig, name) or "; ".join(logged.said)
    except Exception as error:  # noqa: BLE001  (any error is a fault)
        return repr(error)
    finally:
        log.removeHandler(logged)


def _children() -> frozenset[str]:
    """Returns the ids of this process's children, of which a test before may have left one. Only Linux says them."""
    found = set[str]()
    for thread in Path("/proc/self/task").glob("*/children"):
        # A thread may have ended meanwhile.
        with suppress(OSError):
            found |= {*thread.read_text("utf-8").split()}
    return frozenset(found)


async def _talk(rig: ProxyRig, name: str) -> str:
    await rig.open()
    prompt = [{"type": "text", "text": "Hello"}]
    asked = rig.start("session/prompt", sessionId=hostile_agent.SESSION, prompt=prompt)
    if name == _SILENT:
        rig.send({"method": "session/cancel", "params": {"sessionId": hostile_agent.SESSION}})
    else:
        answered = rig.until(lambda message: "method" not in message and message.get("id") == asked)
        await asyncio.wait_for(answered, _PATIENCE)
    # What came before the attack is kept.
    listed = await asyncio.wait_for(rig.ask("_ullage/session/list"), _PATIENCE)
    return "" if listed["sessions"] else "the session is not recorded"
