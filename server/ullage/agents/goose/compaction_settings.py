"""goose's setting for the share of the window at which it compacts: `GOOSE_AUTO_COMPACT_THRESHOLD`, in the environment
or in `config.yaml`. 0 and 1 switch compaction off (read in its source, `context_mgmt/mod.rs`)."""

from msgspec.structs import replace

from ullage.agents.machine import Machine
from ullage.agents.own_settings import Given, OwnSettings, Reading, Texts, number

_NAME, _WINDOW = "GOOSE_AUTO_COMPACT_THRESHOLD", "GOOSE_CONTEXT_LIMIT"


def _files(machine: Machine) -> tuple[str, ...]:
    if machine.system == "win32":
        return (f"{machine.settings}/Block/goose/config/config.yaml",)
    return (f"{machine.folder('XDG_CONFIG_HOME', '.config')}/goose/config.yaml",)


def _read(texts: Texts) -> Given:
    reading, window = Reading(), Reading()
    # The environment comes before the file.
    for values in (*texts.files, texts.variables):
        window.take("model_window", _WINDOW, number(values.get(_WINDOW)) or None)
        share = number(values.get(_NAME))
        if share is None:
            continue
        if 0 < share < 1:
            reading = Reading()
            reading.take("share", _NAME, share)
        else:
            reading.take("automatic", _NAME, False)
            reading.rename("automatic", f"{_NAME}={share:g}")
    limit = window.given()
    return replace(reading.given(), model_window=limit.model_window, names={**limit.names, **reading.given().names})


SETTINGS = OwnSettings(files=_files, read=_read, known=frozenset({_NAME}), prefix="GOOSE")
