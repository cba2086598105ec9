"""For every agent that Ullage can be added to, and any settings of it: added and taken out again, each file is the same
byte for byte, and while Ullage is there, the agent still finds all that was there before."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.settings_texts import json_texts, toml_texts
from ullage.agents.table import AGENTS
from ullage.agents.wiring import SettingsFile
from ullage.app.agent_wiring import OwnCommand, added_to, plan_adding, plan_removing
from ullage.system.settings_files import apply

FILES = [
    pytest.param(agent.wiring.word, file, id=f"{agent.wiring.word} {number}")
    for agent in AGENTS
    if agent.wiring
    for number, file in enumerate(agent.wiring.files)
]
OWN = OwnCommand(words=("/opt/the u/ullage",), store=Path("/data/sessions.db"))
# A file of Ullage's own is only made where there is none, or nothing in it.
TEXTS = {"json": json_texts(), "toml": toml_texts(), "whole": st.text(" \t\r\n", max_size=5)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("settings")


def _goes_there_and_back(path: Path, word: str, file: SettingsFile, data: bytes) -> None:
    path.write_bytes(data)
    change, wired = plan_adding(path, added_to(file, word, OWN, "date"), None)
    apply(change)
    if wired is None:
        assert path.read_bytes() == data
        return
    assert path.read_bytes() == wired.after != data
    apply(plan_removing(wired))
    assert path.read_bytes() == data


@pytest.mark.parametrize(("word", "file"), FILES)
@settings(max_examples=25)
@given(data=st.data())
def test_added_and_taken_out_settings_are_the_same(
    folder: Path, word: str, file: SettingsFile, data: st.DataObject
) -> None:
    _goes_there_and_back(folder / f"{word}.settings", word, file, data.draw(TEXTS[file.syntax]).encode())


@pytest.mark.long
@pytest.mark.parametrize(("word", "file"), FILES)
@settings(max_examples=300)
@given(data=st.data())
def test_three_hundred_settings_of_each_file_are_the_same(
    folder: Path, word: str, file: SettingsFile, data: st.DataObject
) -> None:
    _goes_there_and_back(folder / f"{word}.settings", word, file, data.draw(TEXTS[file.syntax]).encode())
