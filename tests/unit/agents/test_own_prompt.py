"""The user's files that an agent adds to each request: which they are, what is read of them, and what figures show."""

import os
from pathlib import Path

import pytest

from support.command_line import ullage
from support.foreign import to_lines
from ullage.agents.machine import Machine
from ullage.agents.table import AGENTS
from ullage.model.events import ConversationImported, Record
from ullage.model.json_values import JsonObject
from ullage.service.conversation.projection import agent_of
from ullage.system.settings_files import LocalAgentSettings
from ullage.transcript.fold import Transcript

BY_NAME = {agent.name: agent for agent in AGENTS}
CWD = "/home/dev/src/shop/server"
AT_WORK = Machine(system="linux", home="/home/dev", cwd=CWD)


def files_of(agent: str, *there: str, settings: tuple[JsonObject, ...] = (), machine: Machine = AT_WORK) -> list[str]:
    return [*BY_NAME[agent].own_prompt.files(machine, settings, {*there}.__contains__)]


def test_gemini_cli_adds_its_own_file_because_those_of_a_project_are_in_its_log() -> None:
    assert files_of("Gemini CLI") == ["/home/dev/.gemini/GEMINI.md"]
    named: tuple[JsonObject, ...] = ({"context": {"fileName": ["AGENTS.md", "GEMINI.md"]}}, {})
    assert files_of("Gemini CLI", settings=named) == ["/home/dev/.gemini/AGENTS.md", "/home/dev/.gemini/GEMINI.md"]


def test_qwen_code_adds_files_up_to_the_folder_around_the_repository() -> None:
    named: tuple[JsonObject, ...] = ({"context": {"fileName": "Q.md"}},)
    in_repository = files_of("Qwen Code", "/home/dev/src/shop/.git", settings=named)
    assert in_repository == ["/home/dev/.qwen/Q.md", f"{CWD}/Q.md", "/home/dev/src/shop/Q.md", "/home/dev/src/Q.md"]
    assert files_of("Qwen Code", settings=named)[-1] == "/home/dev/Q.md"
    usual = files_of("Qwen Code")
    assert [path for path in usual if path.startswith(CWD)] == [f"{CWD}/QWEN.md", f"{CWD}/AGENTS.md"]
    assert files_of("Qwen Code", machine=Machine(system="linux", home="/home/dev"))[0] == "/home/dev/.qwen/QWEN.md"


def test_opencode_adds_files_of_the_first_name_that_the_repository_has() -> None:
    shop = "/home/dev/src/shop"
    own, claude = "/home/dev/.config/opencode/AGENTS.md", "/home/dev/.claude/CLAUDE.md"
    git = f"{shop}/.git"
    assert files_of("opencode", git, own, claude, f"{shop}/CLAUDE.md") == [own, f"{shop}/CLAUDE.md"]
    assert files_of("opencode", git, claude, f"{shop}/CLAUDE.md", f"{CWD}/AGENTS.md") == [claude, f"{CWD}/AGENTS.md"]
    # What is above the repository is not sent.
    assert files_of("opencode", git, "/home/dev/src/AGENTS.md") == []
    named: tuple[JsonObject, ...] = ({"instructions": ["~/a.md", "/b.md", "c.md", "https://example.org/d.md", 5]},)
    chosen = files_of("opencode", git, settings=named)
    assert chosen == ["/home/dev/a.md", "/b.md", f"{CWD}/c.md", f"{shop}/c.md"]


def test_kilo_code_adds_its_own_files_as_opencode_does_and_older_rules() -> None:
    own = "/home/dev/.config/kilo/AGENTS.md"
    found = files_of("Kilo Code", own, f"{CWD}/AGENTS.md", "/home/dev/.config/opencode/AGENTS.md")
    assert found[:2] == [own, f"{CWD}/AGENTS.md"]
    assert {"/home/dev/.kilo/rules/*.md", f"{CWD}/.kilocode/rules/*.md"} <= {*found}
    skills = [*BY_NAME["Kilo Code"].own_prompt.skills(AT_WORK, lambda _: False)]
    assert f"{CWD}/.kilo/skills/*/SKILL.md" in skills
    assert not any("opencode" in place for place in skills)


def test_goose_adds_files_from_its_folder_and_from_the_folders_of_the_repository() -> None:
    shop = "/home/dev/src/shop"
    names = (".goosehints", "AGENTS.md")
    places = ("/home/dev/.config/goose", CWD, shop)
    assert files_of("goose", f"{shop}/.git") == [f"{place}/{name}" for place in places for name in names]
    chosen = Machine(system="linux", home="/home/dev", cwd=CWD, variables={"CONTEXT_FILE_NAMES": '["CLAUDE.md"]'})
    assert files_of("goose", machine=chosen) == ["/home/dev/.config/goose/CLAUDE.md", f"{CWD}/CLAUDE.md"]


def test_crush_adds_files_of_many_agents_and_those_that_its_settings_name() -> None:
    usual = files_of("Crush")
    assert usual[:2] == ["/home/dev/.config/crush/CRUSH.md", "/home/dev/.config/AGENTS.md"]
    assert {f"{CWD}/CLAUDE.md", f"{CWD}/.cursor/rules/*"} <= {*usual}
    options = {"global_context_paths": ["~/all.md"], "context_paths": ["docs/a.md", "/b.md"]}
    chosen = files_of("Crush", settings=({"options": options},))
    assert (chosen[0], chosen[-2:]) == ("/home/dev/all.md", [f"{CWD}/docs/a.md", "/b.md"])
    skills = [*BY_NAME["Crush"].own_prompt.skills(AT_WORK, {"/home/dev/src/shop/.git"}.__contains__)]
    assert {f"{place}/.crush/skills/*/SKILL.md" for place in (CWD, "/home/dev/src/shop")} <= {*skills}


def test_cline_adds_rules_of_the_project_and_of_the_user() -> None:
    rules = files_of("Cline")
    assert {f"{CWD}/.clinerules", f"{CWD}/.clinerules/*.md", "/home/dev/Documents/Cline/Rules/*.md"} <= {*rules}


def test_a_pattern_stands_for_the_files_of_a_folder_in_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "a [1] b"
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("CLINE_DIR", raising=False)
    rules = project / ".clinerules"
    rules.mkdir(parents=True)
    for name in ("2.md", "1.md", "notes.txt"):
        (rules / name).write_text(name)
    found = LocalAgentSettings().instructions(BY_NAME["Cline"], str(project))
    assert [(Path(one.path), one.text) for one in found] == [(rules / name, name) for name in ("1.md", "2.md")]


@pytest.mark.parametrize("agent", ["Gemini CLI", "Qwen Code", "opencode", "Kilo Code", "goose", "Crush", "Cline"])
def test_no_agent_looks_for_files_where_no_folder_is_known(agent: str) -> None:
    nowhere = Machine(system="linux", home="/home/dev")
    places = [*files_of(agent, machine=nowhere), *BY_NAME[agent].own_prompt.skills(nowhere, {""}.__contains__)]
    assert all(place.startswith("/home/dev/") for place in places)


def test_of_a_skill_the_name_and_description_are_read_and_of_another_file_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, project = tmp_path / "home", tmp_path / "a [1] b"
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("QWEN_HOME", raising=False)
    for path, text in (
        (home / ".qwen" / "QWEN.md", "Speak of casks."),
        (project / "AGENTS.md", "Count the staves."),
        (project / ".git" / "HEAD", "x"),
        (project / "QWEN.md", "  \n"),
        (home / ".agents/skills/cooper/SKILL.md", "---\nname: cooper\ndescription: Mends casks.\n---\nLong."),
        (project / ".qwen/skills/torn/SKILL.md", "no head"),
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    found = LocalAgentSettings().instructions(BY_NAME["Qwen Code"], str(project))
    assert [(Path(one.path), one.text, one.is_skill) for one in found] == [
        (home / ".qwen/QWEN.md", "Speak of casks.", False),
        (project / "AGENTS.md", "Count the staves.", False),
        (home / ".agents/skills/cooper/SKILL.md", "cooper: Mends casks.", True),
    ]
    assert all(one.changed_at > 0 for one in found)
    assert LocalAgentSettings().instructions(BY_NAME["pi"], str(project)) == ()


def test_the_part_that_no_log_has_names_the_files_that_were_there_then(tmp_path: Path) -> None:
    home, project = tmp_path / "home", tmp_path / "shop"
    memory, later, skill = home / ".qwen/QWEN.md", project / "AGENTS.md", home / ".qwen/skills/cooper/SKILL.md"
    for path in (memory, later, skill, project / ".git"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("---\nname: cooper\ndescription: Mends casks.\n---\n" + "A cask leaks. " * 400)
        os.utime(path, (1_700_000_000, 1_700_000_000))
    os.utime(later, (1_900_000_000, 1_900_000_000))
    line = {"sessionId": "s", "cwd": str(project), "version": "0.24.4", "timestamp": "2026-11-20T10:00:00.000Z"}
    counts = {"promptTokenCount": 16_000, "candidatesTokenCount": 10, "totalTokenCount": 16_010}
    log = tmp_path / "log.jsonl"
    log.write_bytes(
        to_lines(
            {**line, "uuid": "1", "type": "user", "message": {"role": "user", "parts": [{"text": "Which cask?"}]}},
            {
                **line,
                "uuid": "2",
                "parentUuid": "1",
                "type": "assistant",
                "model": "qwen3-coder-plus",
                "message": {"role": "model", "parts": [{"text": "Berta."}]},
                "usageMetadata": counts,
            },
        )
    )
    shown = ullage("context", log, "--json", env={"HOME": str(home), "QWEN_HOME": ""}).json
    parts = {(part["kind"], part.get("name", "")): part["tokens"] for part in shown["hidden_parts"]}
    assert parts.keys() == {("memory", str(memory)), ("skills", ""), ("unknown", "")}
    assert 1_200 <= parts["memory", str(memory)] <= 2_600
    assert 3 <= parts["skills", ""] <= 20
    assert sum(parts.values()) == shown["hidden"]


@pytest.mark.parametrize(
    ("name", "called", "found"),
    [
        ("opencode", "Kilo Code", "Kilo Code"),
        ("opencode", "opencode", "opencode"),
        ("cline-task", "Roo Code", "Roo Code"),
        ("cline-task", "", "Cline"),
    ],
)
def test_an_agent_that_writes_anothers_format_has_its_own_settings_and_rules(
    name: str, called: str, found: str
) -> None:
    imported = ConversationImported(format=name, agent=called)
    transcript = Transcript()
    transcript.apply(Record(position=0, timestamp=0, event=imported))
    agent = agent_of(transcript)
    assert agent is BY_NAME[found]
