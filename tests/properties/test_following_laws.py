"""Following an agent's file: whatever the agent writes at once, and however long it pauses, one second later the row
has the figure of the file as it is."""

import asyncio
import os
import selectors
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.codex_files import call as codex_call
from support.codex_files import counted, logged, output, said
from support.codex_files import session as codex_session
from support.follower_ports import follower_ports
from support.foreign import to_lines
from support.memory_store import MemoryStore
from support.session_log import call, line, result, say
from support.workspace import CountingIds, build_test_client
from ullage.agents.transcripts import read_document
from ullage.model.errors import InputError
from ullage.model.usage import FollowedRow
from ullage.service.follow.agent_follower import AgentFollower
from ullage.service.ports.agent_files import FoundFile
from ullage.service.sessions import import_or_continue
from ullage.system.growing_files import GrowingFiles, read_transcript_file

Json = dict[str, Any]
_TIME = "2026-05-01T10:00:00.000Z"
_KIMI_HEAD = (
    {"type": "metadata", "protocol_version": "1.5", "created_at": 1_790_000_000_000},
    {"type": "profile.bind", "systemPrompt": "Be brief.", "environmentDisclosure": {"cwd": "/home/ann"}, "time": 1},
)
_AIDER_HEAD = ("", "# aider chat started at 2026-09-21 10:00:00", "", "> Aider v0.86.2", "> Main model: m1 with diff")
_Line = Json | str
# Seconds. After the longest, all is taken as complete.
PAUSES = st.sampled_from([0.01, 0.3, 0.9, 1.5, 3.0, 10.0, 400.0])
# Seconds after a write: as long as the row may take. A file that has been quiet for more than a minute is looked at
# less often.
SOON, SELDOM, RECENT = 1.0, 4.0, 60.0
# What an agent writes at once, as a part of what is still to be written; the pause after it; and whether the process
# that follows is another one then.
STEPS = st.lists(st.tuples(st.floats(0, 1), PAUSES, st.booleans()), max_size=12)
Steps = Sequence[tuple[float, float, bool]]


def _used(turn: int, step: int) -> int:
    """Returns the tokens of the prompt of an answer. The context grows with every answer, and shrinks once."""
    return 20_000 + 7_000 * turn + 900 * step - (9_000 if turn == 2 else 0)


def _claude(reason: str | None) -> Callable[[int], list[Json]]:
    def turn(at: int) -> list[Json]:
        def answer(step: int, name: str, parent: str, block: Json, stop: str) -> Json:
            usage = {"input_tokens": 3, "cache_read_input_tokens": _used(at, step), "output_tokens": 40}
            stopped = reason and stop
            return line("assistant", name, parent, [block], id=f"m{at}{step}", usage=usage, stop_reason=stopped)

        last = f"e{at - 1}" if at else None
        lines = [
            line("user", f"u{at}", last, f"Question {at}?"),
            answer(0, f"a{at}", f"u{at}", say("I look."), "tool_use"),
            answer(0, f"b{at}", f"a{at}", call(f"x{at}"), "tool_use"),
            answer(0, f"c{at}", f"b{at}", call(f"y{at}"), "tool_use"),
            line("user", f"r{at}", f"b{at}", [result(f"x{at}", "12 passed " * 40)]),
            line("user", f"s{at}", f"c{at}", [result(f"y{at}", "3 failed " * 40)]),
            answer(1, f"d{at}", f"s{at}", {"type": "thinking", "thinking": "So", "signature": "s"}, "end_turn"),
            answer(1, f"e{at}", f"d{at}", say("It is done."), "end_turn"),
        ]
        return [one | {"cwd": "/home/ann/casks", "version": "2.1.332" if reason else "2.1.20"} for one in lines]

    return turn


def _codex(at: int) -> list[Json]:
    return [
        said("user", f"Question {at}?"),
        said("assistant", "I look."),
        codex_call(f"x{at}"),
        codex_call(f"y{at}"),
        counted(_used(at, 0), 3 * at + 1),
        output(f"x{at}", "12 passed " * 40),
        output(f"y{at}", "3 failed " * 40),
        said("assistant", "It is done."),
        counted(_used(at, 1), 3 * at + 2),
    ]


def _codex_log(at: int) -> list[Json]:
    return [
        logged("user_message", message=f"Question {at}?"),
        logged("task_started"),
        logged("agent_message_delta", delta="I look"),
        logged("agent_message", message="I look."),
        logged("exec_command_begin", call_id=f"x{at}", command=["ls"]),
        logged("exec_command_end", call_id=f"x{at}", stdout="12 passed " * 40, stderr="", exit_code=0),
        logged("token_count", input_tokens=_used(at, 0), output_tokens=40),
        logged("agent_message", message="It is done."),
        logged("token_count", input_tokens=_used(at, 1), output_tokens=40),
        logged("task_complete"),
    ]


def _copilot(at: int) -> list[Json]:
    def event(kind: str, name: str, **data: Any) -> Json:
        return {"type": kind, "data": data, "id": f"{name}{at}", "timestamp": _TIME, "agentId": ""}

    def used(step: int) -> Json:
        usage = {"apiCallId": f"k{at}{step}", "inputTokens": _used(at, step), "outputTokens": 40, "model": "m"}
        return event("session.usage_record", f"v{step}-", usage=usage)

    calls: list[Json] = [{"toolCallId": f"{name}{at}", "name": "bash", "arguments": {}} for name in "xy"]
    return [
        event("user.message", "u", content=f"Question {at}?"),
        used(0),
        event("assistant.message", "a", content="I look.", messageId=f"m{at}", apiCallId=f"k{at}0", toolRequests=calls),
        event("tool.execution_complete", "r", toolCallId=f"x{at}", result={"content": "12 passed " * 40}),
        event("tool.execution_complete", "s", toolCallId=f"y{at}", result={"content": "3 failed " * 40}),
        used(1),
        event("assistant.message", "e", content="It is done.", messageId=f"n{at}", apiCallId=f"k{at}1"),
        event("assistant.turn_end", "t"),
    ]


def _qwen(at: int) -> list[Json]:
    def record(kind: str, name: str, parent: str | None, part: Json, **more: Any) -> Json:
        role = "model" if kind == "assistant" else "user"
        facts = {"uuid": f"{name}{at}", "parentUuid": parent, "sessionId": "s", "timestamp": _TIME, "cwd": "/home/ann"}
        return {"type": kind, "message": {"role": role, "parts": [part]}, "version": "0.24.4"} | facts | more

    def used(step: int) -> Json:
        prompt = _used(at, step)
        return {"promptTokenCount": prompt, "candidatesTokenCount": 40, "totalTokenCount": prompt + 40}

    called: Json = {"functionCall": {"id": f"x{at}", "name": "ls", "args": {}}}
    response = {"functionResponse": {"id": f"x{at}", "name": "ls", "response": {"output": "12 passed " * 40}}}
    return [
        record("user", "u", f"e{at - 1}" if at else None, {"text": f"Question {at}?"}),
        record("assistant", "a", f"u{at}", called, usageMetadata=used(0), model="qwen3"),
        record("tool_result", "r", f"a{at}", response),
        record("assistant", "e", f"r{at}", {"text": "It is done."}, usageMetadata=used(1), model="qwen3"),
    ]


def _kimi(at: int) -> list[Json]:
    def record(name: str, **fields: Any) -> Json:
        return {"type": name, "agentId": "main", "time": 1_790_000_000_000} | fields

    def event(kind: str, **fields: Any) -> Json:
        return record("context.append_loop_event", event={"type": kind} | fields)

    def step(number: int, *parts: Json) -> list[Json]:
        name = f"s{at}{number}"
        usage = {"inputOther": _used(at, number), "output": 40, "inputCacheRead": 0, "inputCacheCreation": 0}
        return [
            event("step.begin", uuid=name),
            record("llm.request", kind="loop", model="k2"),
            event("content.part", stepUuid=name, part={"type": "text", "text": "I say."}),
            *parts,
            event("step.end", uuid=name, usage=usage),
            record("usage.record", usage=usage, usageScope="turn"),
        ]

    asked = {"role": "user", "content": [{"type": "text", "text": f"Question {at}?"}], "id": f"u{at}", "toolCalls": []}
    return [
        record("context.append_message", message=asked | {"origin": {"kind": "user"}}),
        *step(
            0,
            event("tool.call", toolCallId=f"x{at}", name="Bash", args={"command": "ls"}),
            event("tool.result", toolCallId=f"x{at}", result={"output": "12 passed " * 40}),
        ),
        *step(1),
    ]


def _pi(at: int) -> list[Json]:
    def entry(name: str, parent: str | None, **message: Any) -> Json:
        return {"type": "message", "id": f"{name}{at}", "parentId": parent, "timestamp": _TIME, "message": message}

    def answer(step: int, *parts: Json) -> Json:
        prompt = _used(at, step)
        usage = {"input": prompt, "output": 40, "cacheRead": 0, "cacheWrite": 0, "totalTokens": prompt + 40}
        return {"role": "assistant", "content": list(parts), "usage": usage, "model": "m", "stopReason": "stop"}

    calls: list[Json] = [{"type": "toolCall", "id": f"{name}{at}", "name": "bash", "arguments": {}} for name in "xy"]
    text = {"type": "text", "text": "12 passed " * 40}
    return [
        entry("u", f"e{at - 1}" if at else None, role="user", content=[{"type": "text", "text": f"Question {at}?"}]),
        entry("a", f"u{at}", **answer(0, *calls)),
        entry("r", f"a{at}", role="toolResult", toolCallId=f"x{at}", toolName="bash", content=[text], isError=False),
        entry("s", f"r{at}", role="toolResult", toolCallId=f"y{at}", toolName="bash", content=[text], isError=False),
        entry("e", f"s{at}", **answer(1, {"type": "text", "text": "It is done."})),
    ]


def _gemini(at: int) -> list[Json]:
    def message(name: str, kind: str, content: Any, **more: Any) -> Json:
        return {"id": f"{name}{at}", "timestamp": _TIME, "type": kind, "content": content} | more

    def answer(name: str, step: int, text: str, **more: Any) -> Json:
        prompt = _used(at, step)
        tokens = {"input": prompt, "output": 40, "cached": 0, "thoughts": 0, "tool": 0, "total": prompt + 40}
        return message(name, "gemini", text, tokens=tokens, model="gemini-3-pro") | more

    response = {"functionResponse": {"id": f"x{at}", "name": "ls", "response": {"output": "12 passed " * 40}}}
    called: Json = {"id": f"x{at}", "name": "ls", "args": {}, "result": [response], "status": "success"}
    return [
        message("u", "user", [{"text": f"Question {at}?"}]),
        answer("a", 0, "I look."),
        answer("a", 0, "I look.", toolCalls=[called]),
        {"$set": {"lastUpdated": _TIME}},
        answer("e", 1, "It is done."),
    ]


def _droid(at: int) -> list[Json]:
    def message(name: str, role: str, content: Any) -> Json:
        return {"type": "message", "id": f"{name}{at}", "message": {"role": role, "content": content}}

    return [
        message("u", "user", f"Question {at}?"),
        message("a", "assistant", [call(f"x{at}")]),
        message("r", "user", [result(f"x{at}", "12 passed " * 40)]),
        message("e", "assistant", "It is done."),
    ]


def _droid_stream(at: int) -> list[Json]:
    return [
        {"type": "message", "role": "user", "text": f"Question {at}?"},
        {"type": "message", "role": "assistant", "text": "I look."},
        {"type": "tool_call", "id": f"x{at}", "toolName": "ls", "parameters": {}},
        {"type": "tool_result", "id": f"x{at}", "value": "12 passed " * 40},
        {"type": "message", "role": "assistant", "text": "It is done."},
        {
            "type": "completion",
            "finalText": "It is done.",
            "usage": {"input_tokens": _used(at, 1), "output_tokens": 40},
        },
    ]


def _cursor(at: int) -> list[Json]:
    def said(role: str, *parts: Json) -> Json:
        return {"role": role, "message": {"content": list(parts)}}

    return [
        said("user", say(f"Question {at}?")),
        said("assistant", say("I look."), {"type": "tool_use", "name": "ls", "input": {}}),
        said("user", {"type": "tool_result", "content": "12 passed " * 40}),
        said("assistant", say("It is done.")),
        {"type": "turn_ended"},
    ]


def _antigravity(at: int) -> list[Json]:
    def step(kind: str, text: str, **more: Any) -> Json:
        return {"step_index": at, "source": "MODEL", "type": kind, "status": "DONE", "content": text} | more

    return [
        step("USER_INPUT", f"Question {at}?"),
        step("PLANNER_RESPONSE", "I look.", tool_calls=[{"name": "ls", "args": {"a": "[1"}}]),
        step("LIST_DIRECTORY", "12 passed " * 40),
        step("PLANNER_RESPONSE", "It is done."),
    ]


def _grok(at: int) -> list[Json]:
    return [
        {"type": "user", "content": f"Question {at}?", "prompt_index": at},
        {"type": "reasoning", "content": "", "summary": "hm"},
        {"type": "assistant", "content": "I look.", "tool_calls": [{"id": f"x{at}", "name": "ls"}], "model_id": "grok"},
        {"type": "tool_result", "content": "12 passed " * 40, "tool_call_id": f"x{at}"},
        {"type": "assistant", "content": "It is done.", "model_id": "grok"},
    ]


def _aider(at: int) -> list[str]:
    said = [f"#### Question {at}?", "#### of all casks", "", "It is", "", "done.", ""]
    return [*said, f"> Tokens: {_used(at, 1)} sent, 40 received.", ""]


# By the format: a file's name, its first lines, and those of a turn.
LOGS: dict[str, tuple[str, tuple[_Line, ...], Callable[[int], list[Any]]]] = {
    "claude-code": ("log.jsonl", (), _claude("said")),
    "claude-code, old": ("log.jsonl", (), _claude(None)),
    "codex": ("log.jsonl", (codex_session(),), _codex),
    "codex-log": ("log.jsonl", (logged("session_configured", model="gpt-5", session_id="s"),), _codex_log),
    "copilot-cli": (
        "events.jsonl",
        ({"type": "session.start", "data": {"sessionId": "s"}, "id": "i", "timestamp": _TIME},),
        _copilot,
    ),
    "qwen-code": ("log.jsonl", (), _qwen),
    "kimi-code": ("wire.jsonl", _KIMI_HEAD, _kimi),
    "pi": ("log.jsonl", ({"type": "session", "version": 3, "id": "s", "timestamp": _TIME, "cwd": "/home/ann"},), _pi),
    "gemini-cli": (
        "log.jsonl",
        ({"sessionId": "s", "projectHash": "aa", "startTime": _TIME, "kind": "main"},),
        _gemini,
    ),
    "droid": ("log.jsonl", ({"type": "session_start", "id": "s"},), _droid),
    "droid-stream": ("log.jsonl", ({"type": "system", "model": "m", "session_id": "s"},), _droid_stream),
    "cursor-cli": ("log.jsonl", (), _cursor),
    "antigravity": ("log.jsonl", (), _antigravity),
    "grok-cli": ("chat_history.jsonl", (), _grok),
    "aider": (".aider.chat.history.md", _AIDER_HEAD, _aider),
}


def file_of(name: str, turns: int) -> tuple[str, bytes]:
    """Returns the name and the content of a conversation's file after so many turns."""
    file, head, turn = LOGS[name]
    return file, to_lines(*head, *(one for at in range(turns) for one in turn(at)))


class _Jumping(selectors.SelectSelector):
    """A selector that moves the time on in place of waiting."""

    now = 0.0

    def select(self, timeout: float | None = None) -> Any:
        assert timeout is not None, "everything waits for ever"
        self.now += max(0.0, timeout)
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose time passes only while everything waits, so that a test of pauses takes no time. It begins at
    the time 1,000 s. What is given to a thread is done at once."""

    def __init__(self) -> None:
        self._clock = _Jumping()
        self._clock.now = 1_000.0
        super().__init__(self._clock)

    def time(self) -> float:
        return self._clock.now

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:
        done = self.create_future()
        try:
            done.set_result(func(*args))
        except Exception as error:  # noqa: BLE001 - the caller gets it when it waits
            done.set_exception(error)
        return done


class Files(GrowingFiles):
    """The files of a machine on which time is virtual."""

    def __init__(self, time: Callable[[], float]) -> None:
        super().__init__()
        self._time = time
        self.written = time()

    def quiet_for(self, path: Path) -> float:
        return self._time() - self.written


class Following:
    """A file that is followed by one process after the other, with the same store."""

    def __init__(self, path: Path) -> None:
        loop = asyncio.get_running_loop()
        self.path = path
        self.files = Files(loop.time)
        self._store, self._ids = MemoryStore(), CountingIds()
        self.begin()

    def begin(self) -> None:
        self._rows: list[FollowedRow] = []
        ports = follower_ports(self.path.parent, self._find, files=self.files)
        self._client = build_test_client(store=self._store, ids=self._ids)
        follower = AgentFollower(self._client.workspace, ports, self._rows.append, 3600.0)
        self._task = asyncio.create_task(follower.run())

    def _find(self, seconds: float, paths: Collection[str] | None = None) -> Sequence[FoundFile]:
        return [FoundFile(path=self.path)] if self.path.exists() else []

    async def end(self) -> None:
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task

    def write(self, data: bytes) -> None:
        with self.path.open("ab") as file:
            file.write(data)
        # Two writes in a moment may have one time, which two writes a second apart never have.
        self.files.written = asyncio.get_running_loop().time()
        moment = int(self.files.written * 1e9)
        os.utime(self.path, ns=(moment, moment))

    @property
    def figure(self) -> tuple[int | None, str | None] | None:
        """The size of the context in the newest row, and where it is from."""
        return (self._rows[-1].used, self._rows[-1].used_source) if self._rows else None


async def figure_of(path: Path) -> tuple[int, str] | None:
    """Returns the figure of a file that is read whole, None if it has no message."""
    try:
        transcript = read_document(read_transcript_file(path))
    except InputError:
        return None
    conversation = (await import_or_continue(build_test_client().workspace, transcript, "")).conversation
    return conversation.used, conversation.projection.tracker.reading.source


async def follow(path: Path, data: bytes, steps: Steps) -> None:
    path.touch()
    following, loop = Following(path), asyncio.get_running_loop()
    late = 0.0
    try:
        for share, pause, is_other in [*steps, (1.0, SOON, False), (0.0, SELDOM, False)]:
            length = round(share * len(data))
            if not path.name.endswith("l"):
                # Half a line of text is no line, but is read when the file is read whole.
                length = data.find(b"\n", length) + 1 or len(data)
            if length:
                late = SELDOM if loop.time() - following.files.written > RECENT else SOON
                following.write(data[:length])
                data = data[length:]
            if is_other:
                await following.end()
                following.begin()
            await asyncio.sleep(pause)
            if loop.time() - following.files.written >= late:
                assert following.figure == await figure_of(path)
    finally:
        await following.end()


@pytest.mark.parametrize("name", LOGS)
@settings(max_examples=10)
@given(turns=st.integers(1, 3), steps=STEPS)
def test_one_second_after_the_last_write_the_row_has_the_figure_of_the_file(
    name: str, turns: int, steps: Steps
) -> None:
    file, data = file_of(name, turns)
    with TemporaryDirectory() as folder, asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(follow(Path(folder) / file, data, steps))


@pytest.mark.parametrize("name", LOGS)
def test_the_row_has_the_figure_of_the_file_after_each_line(name: str) -> None:
    file, data = file_of(name, 3)
    lines = data.splitlines(keepends=True)
    ends = [(len(one) / len(b"".join(lines[at:])), 3.5, at % 4 == 3) for at, one in enumerate(lines)]
    with TemporaryDirectory() as folder, asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(follow(Path(folder) / file, data, ends))
