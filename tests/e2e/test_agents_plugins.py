"""The plugins that `ullage wire` makes, run by Node.js as their agents run them, with a program in Ullage's place: what
they ask, how often, what they give the model, and that nothing that Ullage does or fails to do harms the agent."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.acp_end import PATIENCE
from support.neovim import RIGS
from ullage.agents.table import agent_of_word
from ullage.app.agent_wiring import plugin_text

_NODE = RIGS / "node" / "node_modules" / ".bin" / "node"
_PROGRAM = """\
import json, sys
from pathlib import Path
said = json.load(sys.stdin)
here = Path(__file__).parent
with (here / "said.jsonl").open("a") as file:
    file.write(json.dumps(said) + "\\n")
if said["hook_event_name"] in ("PreCompact", "Stop"):
    # Nobody waits for it: it may run beside the next event.
    sys.exit()
answers = json.loads((here / "answers.json").read_text())
sys.stdout.write(answers.pop(0) if answers else "")
(here / "answers.json").write_text(json.dumps(answers))
"""
# Requests of a session, each with the messages that opencode has of it.
_OPENCODE = """\
import { Ullage } from "./ullage.mjs";
const hooks = await Ullage({});
const text = (id) => ({ id: "prt_0123456789abc", type: "text", text: id });
const message = (id, role, more) => ({ info: { id, sessionID: "s", role, ...more }, parts: [text(id)] });
const told = [];
async function request(summary) {
  const messages = [message("m1", "user")];
  if (summary) messages.push(message(summary, "assistant", { summary: true }), message("m3", "user"));
  messages.push(message("m4", "assistant"), message("m5", "user"));
  await hooks["experimental.chat.messages.transform"]({}, { messages });
  told.push(messages.map(({ parts }) => parts.map(({ text }) => text)));
}
async function compacted() {
  await hooks.event({ event: { type: "session.compacted", properties: { sessionID: "s" } } });
}
async function prompt() {
  const output = { message: { id: "m6", sessionID: "s" }, parts: [text("p")] };
  await hooks["chat.message"]({ sessionID: "s" }, output);
  told.push(output.parts.map(({ id, text }) => [id.slice(0, 16), text]));
}
"""
_PI = """\
import ullage from "./ullage.mjs";
const handlers = {};
ullage({ on: (name, handler) => (handlers[name] ??= []).push(handler) });
const told = [];
let branch = [];
const sessionManager = {
  getBranch: () => branch, getSessionId: () => "s", getSessionFile: () => "/sessions/s.jsonl",
};
async function run(name, event = {}, ctx = { sessionManager }) {
  for (const handler of handlers[name] ?? []) {
    const { message, messages } = (await handler(event, ctx)) ?? {};
    if (message) branch = [...branch, { type: "custom_message", ...message }];
    told.push(message?.content ?? messages?.map(({ content }) => content) ?? null);
  }
}
"""


def _answer(text: str) -> str:
    return json.dumps({"hookSpecificOutput": {"hookEventName": "e", "additionalContext": text}})


class Host:
    """A plugin in a folder, with the program that it runs."""

    def __init__(self, folder: Path, word: str, setting: str) -> None:
        if not _NODE.exists():
            pytest.skip("Node.js is not installed; scripts/rigs/node.sh gets it")
        agent = agent_of_word(word)
        assert agent is not None
        assert agent.wiring is not None
        self.folder, self._setting, self._parts = folder, setting, agent.wiring.files[-1].plugin
        (folder / "program.py").write_text(_PROGRAM)
        self.answers([])
        self.command(sys.executable, str(folder / "program.py"))

    def command(self, *words: str) -> None:
        (self.folder / "ullage.mjs").write_text(plugin_text(self._parts, words))

    def answers(self, texts: list[str]) -> None:
        (self.folder / "answers.json").write_text(json.dumps(texts))

    def told(self, script: str) -> Any:
        """Returns what the model is given while a script runs, each time a new process of the agent."""
        path = self.folder / "host.mjs"
        path.write_text(f"{self._setting}{script}\nconsole.log(JSON.stringify(told));\n")
        ran = subprocess.run(
            [_NODE, path], capture_output=True, text=True, check=False, timeout=PATIENCE, env={**os.environ}
        )
        assert (ran.returncode, ran.stderr) == (0, "")
        return json.loads(ran.stdout)

    def said(self) -> list[Any]:
        path = self.folder / "said.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@pytest.fixture
def opencode(tmp_path: Path) -> Host:
    return Host(tmp_path, "opencode", _OPENCODE)


@pytest.fixture
def pi(tmp_path: Path) -> Host:
    return Host(tmp_path, "pi", _PI)


def _with(brief: str, summary: str = "m2") -> list[list[str]]:
    return [["m1"], [summary], ["m3", brief], ["m4"], ["m5"]]


def test_opencode_gets_a_brief_once_for_each_compaction_and_the_same_in_each_request(opencode: Host) -> None:
    opencode.answers([_answer("first"), _answer("second")])
    told = opencode.told(
        "await request(); await request('m2'); await request('m2'); await compacted(); await request('m2b');"
    )
    assert told == [[["m1"], ["m4"], ["m5"]], _with("first"), _with("first"), _with("second", "m2b")]
    assert opencode.said() == [
        {"hook_event_name": "SessionStart", "source": source, "session_id": "s", "compaction_id": compaction}
        for source, compaction in (("resume", "m2"), ("compact", "m2b"))
    ]


def test_a_brief_that_is_late_is_asked_for_again_and_one_that_is_not_to_come_is_not(opencode: Host) -> None:
    opencode.answers(["", "", _answer("late")])
    told = opencode.told("await request('m2'); await request('m2'); await request('m2'); await request('m2');")
    assert [len(parts[2]) for parts in told] == [1, 1, 2, 2]
    opencode.answers(["{}", _answer("never")])
    known = len(opencode.said())
    assert [parts[2] for parts in opencode.told("await request('m2'); await request('m2');")] == [["m3"], ["m3"]]
    assert len(opencode.said()) == known + 1
    assert [parts[2] for parts in opencode.told("for (const _ of '12345678') await request('m2');")][-1] == [
        "m3",
        "never",
    ]


def test_a_program_that_never_answers_is_asked_a_few_times_only(opencode: Host) -> None:
    opencode.told("for (const _ of '12345678') await request('m2');")
    assert len(opencode.said()) == 5


def test_notes_are_asked_for_only_if_they_are_wanted_and_stored_with_the_prompt(opencode: Host) -> None:
    opencode.answers([_answer("Context: 70 %")])
    assert opencode.told("await prompt();") == [[["prt_0123456789ab", "p"]]]
    assert opencode.said() == []
    opencode.command(sys.executable, str(opencode.folder / "program.py"), "--fill-notes")
    asked = "await hooks['chat.params']({ sessionID: 's', agent: '%s', model: { limit: { context: %d } } });"
    idle = "await hooks.event({ event: { type: 'session.idle', properties: { sessionID: 's' } } });"
    script = f"await prompt(); {asked % ('build', 100)} {asked % ('title', 5)} {idle}"
    assert opencode.told(script) == [[["prt_0123456789ab", "p"], ["prt_0123456789ab", "Context: 70 %"]]]
    said = [(said["hook_event_name"], said.get("context_window")) for said in opencode.said()]
    assert said == [("UserPromptSubmit", None), ("Stop", 100)]


def test_pi_stores_a_brief_with_the_next_prompt_and_asks_no_more(pi: Host) -> None:
    pi.answers([_answer("brief")])
    script = (
        "await run('before_agent_start'); branch = [{ type: 'message' }, { type: 'compaction', id: 'c1' }];"
        "await run('before_agent_start'); await run('before_agent_start'); await run('context', { messages: [] });"
    )
    assert pi.told(script) == [None, "brief", None, None]
    (said,) = pi.said()
    assert said == {
        "hook_event_name": "SessionStart",
        "source": "resume",
        "session_id": "s",
        "compaction_id": "c1",
        "transcript_path": "/sessions/s.jsonl",
    }


def test_requests_of_pi_after_a_compaction_in_the_middle_of_a_turn_have_the_brief_until_a_prompt_stores_it(
    pi: Host,
) -> None:
    pi.answers(["", _answer("brief")])
    messages = "[{ role: 'compactionSummary', content: 'sum' }, { role: 'user', content: 'kept' }]"
    script = (
        f"await run('session_before_compact'); branch = [{{ type: 'compaction', id: 'c1' }}];"
        f"for (const _ of '123') await run('context', {{ messages: {messages} }});"
        f"await run('before_agent_start');"
    )
    with_brief = ["sum", "brief", "kept"]
    assert pi.told(script) == [None, None, with_brief, with_brief, "brief"]
    events = [(said["hook_event_name"], said.get("source")) for said in pi.said()]
    assert sorted(events, key=str) == [("PreCompact", None), ("SessionStart", "compact"), ("SessionStart", "compact")]


def test_a_closed_session_of_pi_is_left_alone(pi: Host) -> None:
    script = "const closed = { get sessionManager() { throw new Error('closed'); } };"
    for event in ("session_before_compact", "before_agent_start", "context", "agent_end"):
        script += f"await run('{event}', {{ messages: [] }}, closed);"
    assert set(pi.told(script)) == {None}


@pytest.mark.parametrize("program", ["/no/such/ullage", "echo '{'; exit 3", "echo null", "exec sleep 600"])
@pytest.mark.skipif(sys.platform == "win32", reason="a program of POSIX' shell")
def test_a_missing_broken_or_slow_ullage_changes_nothing(tmp_path: Path, program: str) -> None:
    path = tmp_path / "ull age"
    path.write_text(f"#!/bin/sh\n{program}\n")
    path.chmod(0o700)
    words = (program,) if program.startswith("/") else (str(path),)
    for word, setting, script, untouched in (
        ("opencode", _OPENCODE, "await request('m2'); await prompt();", [["m1"], ["m2"], ["m3"], ["m4"], ["m5"]]),
        ("pi", _PI, "branch = [{ type: 'compaction', id: 'c' }]; await run('before_agent_start');", None),
    ):
        folder = tmp_path / word
        folder.mkdir()
        host = Host(folder, word, setting)
        host.command(*words, "--fill-notes")
        module = folder / "ullage.mjs"
        # Soon, so that the test does not wait for it several times.
        module.write_text(module.read_text().replace("LIMIT = 5000", "LIMIT = 1000"))
        assert host.told(script)[0] == untouched
