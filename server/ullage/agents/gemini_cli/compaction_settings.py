"""Gemini CLI's setting for the share of the window at which it compresses the conversation."""

from ullage.agents.machine import Machine
from ullage.agents.own_settings import Given, OwnSettings, Reading, Texts, inner, number


def settings_path(machine: Machine) -> str:
    """Returns the path of the file with the user's settings."""
    return f"{machine.folder('GEMINI_CLI_HOME', '')}/.gemini/settings.json"


def _files(machine: Machine) -> tuple[str, ...]:
    project = (f"{machine.cwd}/.gemini/settings.json",) if machine.cwd else ()
    return (settings_path(machine), *project)


def _read(texts: Texts) -> Given:
    reading = Reading()
    for file in texts.files:
        reading.take("share", "model.compressionThreshold", number(inner(file, "model", "compressionThreshold")))
    return reading.given()


SETTINGS = OwnSettings(files=_files, read=_read, known=frozenset({"compressionThreshold"}))
