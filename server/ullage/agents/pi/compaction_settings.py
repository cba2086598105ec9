"""pi's settings about compaction: `compaction.enabled` and `compaction.reserveTokens`."""

from ullage.agents.machine import Machine
from ullage.agents.own_settings import Given, OwnSettings, Reading, Texts, inner, number, switch


def _files(machine: Machine) -> tuple[str, ...]:
    project = (f"{machine.cwd}/.pi/settings.json",) if machine.cwd else ()
    return (f"{machine.folder('PI_CODING_AGENT_DIR', '.pi/agent')}/settings.json", *project)


def _read(texts: Texts) -> Given:
    reading = Reading()
    for file in texts.files:
        reading.take("automatic", "compaction.enabled", switch(inner(file, "compaction", "enabled")))
        reading.take("reserve", "compaction.reserveTokens", number(inner(file, "compaction", "reserveTokens")))
    return reading.given()


SETTINGS = OwnSettings(files=_files, read=_read)
