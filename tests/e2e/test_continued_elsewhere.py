"""A conversation of one agent that the other one continues: `ullage continue --in`, and the real programs with a model
on the loopback."""

import json
from hashlib import sha256
from pathlib import Path

from support.agents.launch import need
from support.agents.model_server import ModelServer
from support.agents.resumed import CLAUDE, CODEX, PROMPT, said, sent_items
from support.agents.runs import resume
from support.claude_log import ClaudeLog
from support.codex_files import call, item, output, session
from support.codex_files import said as wrote
from support.command_line import ullage
from support.foreign import to_lines
from support.systems import needs_linux

PATCH = "*** Begin Patch\n*** Update File: part1.py\n*** End Patch"


@needs_linux
async def test_codex_sends_what_claude_code_was_sent(tmp_path: Path) -> None:
    need(CODEX)
    model = ModelServer()
    async with model.serving():
        launch = CODEX.launch(tmp_path, model.url)
        log = ClaudeLog(cwd=str(launch.cwd), version="2.1.316").ask("Rename the table in every part.")
        log.read("/home/me/part1.py", "def total(): ...\n").answer(9_000, text="One part is done.")
        log.compact(167_000, summary="The table was renamed in one part.").ask("And the second?")
        log.call("Bash", "2 passed", command="pytest -q").answer(9_000, text="It is done, too.")
        original = tmp_path / "original.jsonl"
        original.write_bytes(log.data)
        digest = sha256(original.read_bytes()).digest()
        made = ullage("continue", original, "--in", "codex", "--json", env=dict(launch.environment)).json
        assert made["agent"] == "Codex"
        await resume(launch, CODEX.program, "exec", "--skip-git-repo-check", *made["command"][1:], PROMPT)
        (request,) = (json.loads(body)["input"] for body in model.asked)
    assert sent_items(request) == [
        ("user", "The table was renamed in one part."),
        ("user", "And the second?"),
        ("assistant", '{"command": "pytest -q"}'),
        ("user", '"2 passed"'),
        ("assistant", "It is done, too."),
        ("user", PROMPT),
    ]
    assert [one["name"] for one in request if one["type"] == "function_call"] == ["Bash"]
    assert sha256(original.read_bytes()).digest() == digest


@needs_linux
async def test_claude_code_sends_what_codex_was_sent(tmp_path: Path) -> None:
    need(CLAUDE)
    model = ModelServer()
    async with model.serving():
        launch = CLAUDE.launch(tmp_path, model.url)
        lines = [
            session(id="7f0c2a51-7d1e-4c8b-9a41-6f1f2d3c4b5a", cwd=str(launch.cwd), cli_version="0.166.0"),
            wrote("developer", "<permissions instructions> All is allowed."),
            wrote("user", "<environment_context>\n  <cwd>/home/me/old</cwd>\n</environment_context>"),
            wrote("user", "Rename the table in every part."),
            item("reasoning", summary=[{"type": "summary_text", "text": "A rename."}], encrypted_content="gAAAA"),
            call("c1"),
            call("c2"),
            output("c1", "part1.py"),
            output("c2", "part2.py"),
            item("custom_tool_call", name="apply_patch", input=PATCH, call_id="c3"),
            item("custom_tool_call_output", call_id="c3", output="Done!"),
            wrote("assistant", "One part is done."),
        ]
        original = tmp_path / "original.jsonl"
        original.write_bytes(to_lines(*lines))
        made = ullage("continue", original, "--in", "claude-code", "--json", env=dict(launch.environment)).json
        assert any("Reasoning is left out" in note for note in made["notes"])
        await resume(launch, CLAUDE.program, *made["command"][1:], "-p", PROMPT)
        requests = [json.loads(body)["messages"] for body in model.asked]
        (request,) = (one for one in requests if ("user", PROMPT) in said(one))
    shell = '{"command": ["ls"]}'
    assert said(request) == [
        ("user", "Rename the table in every part."),
        ("assistant", shell),
        ("assistant", shell),
        ("user", '"part1.py"'),
        ("user", '"part2.py"'),
        ("assistant", json.dumps({"arguments": PATCH})),
        ("user", '"Done!"'),
        ("assistant", "One part is done."),
        ("user", PROMPT),
    ]
    blocks = [block for message in request for block in message["content"]]
    names = [block["name"] for block in blocks if block["type"] == "tool_use"]
    assert names == ["shell", "shell", "apply_patch"]
