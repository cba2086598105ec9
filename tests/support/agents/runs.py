"""Agents as users run them: in a terminal, or with a prompt on the command line. Each says in its own file how full its
context is."""

import asyncio
import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from msgspec import Struct

from support.acp_end import PATIENCE
from support.agents.launch import RIG_AGENTS, Known, Launch, prepare_of
from support.agents.model_server import ModelServer
from support.neovim import RIGS
from ullage.model.json_values import as_object

Json = dict[str, Any]


async def resume(launch: Launch, program: Path, *arguments: str, patience: float = 2 * PATIENCE) -> str:
    """Runs an agent with these arguments to its end, which it reaches within `patience` seconds. Returns its output.
    Raises `AssertionError` if it fails."""
    process = await asyncio.create_subprocess_exec(
        str(program),
        *arguments,
        env=launch.environment,
        cwd=launch.cwd,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        async with asyncio.timeout(patience):
            out, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
    assert process.returncode == 0, out.decode(errors="replace")
    return out.decode(errors="replace")


class OneShot(Struct, frozen=True, kw_only=True):
    """An agent that answers one prompt and ends. `first` and `again` are its arguments before the prompt of a new
    conversation and of the same one.

    `figure` returns the size of its context in tokens after the last answer, from its own files in a home folder. The
    agent compacts by itself at `compacts_at` tokens; `tool` and its arguments are a call without which it would not,
    because it does so only between two requests of one process. `asks_summary` are words of its request for a summary
    if others of its requests have the usual ones. It ends within `patience` seconds.
    """

    known: Known
    first: tuple[str, ...]
    again: tuple[str, ...]
    figure: Callable[[Path], int]
    compacts_at: int
    tool: tuple[str, Json] | None = None
    asks_summary: tuple[str, ...] = ()
    patience: float = 2 * PATIENCE

    async def ask(self, home: Path, url: str, prompt: str, *, again: bool) -> None:
        """Asks the agent, whose provider is at `url`, and waits until it has ended. Raises `AssertionError` with its
        output if it fails."""
        arguments = self.again if again else self.first
        launch = self.known.launch(home, url)
        await resume(launch, self.known.program, *arguments, prompt, patience=self.patience)

    async def request_with(self, home: Path, model: ModelServer, prompt: str, *, again: bool = True) -> str:
        """Asks the agent, and returns the last request that has the prompt."""
        known = len(model.asked)
        await self.ask(home, model.url, prompt, again=again)
        return [request for request in model.asked[known:] if prompt in request][-1]


def _records(home: Path, pattern: str) -> Iterator[Json]:
    """Yields the JSON objects of the newest file that matches."""
    newest = max(home.glob(pattern), key=lambda file: file.stat().st_mtime_ns)
    yield from (json.loads(line) for line in newest.read_text(encoding="utf-8").splitlines())


def _last(found: Iterator[int]) -> int:
    *_, last = found
    return last


def _gemini(home: Path) -> int:
    records = _records(home, ".gemini/tmp/*/chats/*.jsonl")
    return _last(record["tokens"]["total"] for record in records if record.get("type") == "gemini")


def _qwen(home: Path) -> int:
    records = _records(home, ".qwen/projects/*/chats/*.jsonl")
    return _last(record["usageMetadata"]["totalTokenCount"] for record in records if record["type"] == "assistant")


def _pi(home: Path) -> int:
    messages = (as_object(record.get("message")) for record in _records(home, "pi/sessions/*/*.jsonl"))
    return _last(message["usage"]["totalTokens"] for message in messages if message.get("role") == "assistant")


def _opencode(home: Path) -> int:
    with closing(sqlite3.connect(home / "data" / "opencode" / "opencode.db")) as database:
        rows = [json.loads(data) for (data,) in database.execute("SELECT data FROM message ORDER BY time_created, id")]
    return _last(row["tokens"]["total"] for row in rows if row["role"] == "assistant" and not row.get("summary"))


def _grok(home: Path) -> int:
    """Returns what the last turn used, which is one request's as long as no tool is called."""
    newest = max(home.glob(".grok/sessions/*/*/usage.json"), key=lambda file: file.stat().st_mtime_ns)
    turn = json.loads(newest.read_text(encoding="utf-8"))["turns"][-1]
    assert turn["modelCalls"] == 1
    return turn["totalTokens"]


def _prepare_grok(home: Path, url: str) -> Mapping[str, str]:
    (home / ".grok").mkdir(exist_ok=True)
    model = {"model": "m", "name": "m", "base_url": f"{url}/v1", "api_key": "sk-false", "context_window": 100_000}
    lines = ('[models]\ndefault = "m"\n[model.m]', *(f"{name} = {json.dumps(value)}" for name, value in model.items()))
    (home / ".grok" / "config.toml").write_text("\n".join(lines))
    return {"GROK_DISABLE_AUTOUPDATER": "1"}


def _prepare_pi(home: Path, url: str) -> Mapping[str, str]:
    model = {"id": "m", "name": "m", "contextWindow": 100_000, "maxTokens": 8_000, "input": ["text"]}
    free = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}
    provider = {"baseUrl": f"{url}/v1", "api": "openai-completions", "apiKey": "sk-false"}
    models = [{**model, "reasoning": False, "cost": free}]
    (home / "pi").mkdir(exist_ok=True)
    (home / "pi" / "models.json").write_text(json.dumps({"providers": {"wire": {**provider, "models": models}}}))
    return {"PI_CODING_AGENT_DIR": str(home / "pi"), "PI_OFFLINE": "1", "PI_SKIP_VERSION_CHECK": "1"}


def _prepare_qwen(home: Path, url: str) -> Mapping[str, str]:
    """Gives Qwen Code a small window, which it fills to a good part by itself."""
    variables = prepare_of("qwen")(home, url)
    path = home / ".qwen" / "settings.json"
    chosen = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**chosen, "model": {"generationConfig": {"contextWindowSize": 80_000}}}))
    return variables


class Seated(Struct, frozen=True, kw_only=True):
    """An agent that runs in a terminal. It takes prompts when its screen shows `ready`.

    `window` and `compacts_at` are what it gives its model, in tokens. `figure` returns the size of its context in
    tokens after the last answer, as the agent says it to others. After the command `status` its screen shows what
    `told` makes of that size.
    """

    known: Known
    arguments: tuple[str, ...] = ()
    ready: str
    window: int
    compacts_at: int
    figure: Callable[[Path], int]
    status: str
    told: Callable[[int], str]


def _prepare_claude(home: Path, url: str) -> Mapping[str, str]:
    """Answers what Claude Code asks at its first start, and has its status line's input written to a file."""
    variables = prepare_of("claude-agent-acp")(home, url)
    folder, project = home / "claude", home / "project"
    folder.mkdir(exist_ok=True)
    trusted = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
    state = {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "customApiKeyResponses": {"approved": ["sk-false"], "rejected": []},
        "projects": {str(project): trusted},
    }
    (folder / ".claude.json").write_text(json.dumps(state))
    line = f"cat > {home}/status.part && mv {home}/status.part {home}/status.json"
    (folder / "settings.json").write_text(json.dumps({"statusLine": {"type": "command", "command": line}}))
    return variables


def _claude(home: Path) -> int:
    status = home / "status.json"
    context = json.loads(status.read_text(encoding="utf-8"))["context_window"]
    return context["total_input_tokens"] + context["total_output_tokens"]


def _prepare_codex(home: Path, url: str) -> Mapping[str, str]:
    variables = prepare_of("codex-acp")(home, url)
    with (home / "codex" / "config.toml").open("a") as config:
        config.write(f'[projects."{home / "project"}"]\ntrust_level = "trusted"\n')
    return variables


def _codex(home: Path) -> int:
    payloads = (record["payload"] for record in _records(home, "codex/sessions/*/*/*/*.jsonl"))
    counts = (one["info"] for one in payloads if one.get("type") == "token_count" and one.get("info"))
    return _last(info["last_token_usage"]["total_tokens"] for info in counts)


class _Claude(Known, frozen=True, kw_only=True):
    """Claude Code itself, which its ACP agent's package contains."""

    @property
    def program(self) -> Path:
        return RIGS / "agents" / self.name / "node_modules" / f"{self.package}-linux-x64" / "claude"


class _Codex(Known, frozen=True, kw_only=True):
    """Codex itself, on which its ACP agent's package depends."""

    @property
    def program(self) -> Path:
        return RIGS / "agents" / self.name / "node_modules" / ".bin" / "codex"


# Words in the requests for summaries of Claude Code and Codex alone. Claude Code's first prompt speaks of summaries.
SUMMARY_WORDS = ("create a detailed summary", "handoff summary")
SEATED = (
    Seated(
        known=_Claude(name="claude-agent-acp", package="@anthropic-ai/claude-agent-sdk", prepare=_prepare_claude),
        ready="❯",
        window=1_000_000,
        compacts_at=967_000,
        figure=_claude,
        status="/context",
        # The screen has the prompt alone, which is 20 tokens of an answer less.
        told=lambda used: f"{(used - 20) / 1000:.1f}".rstrip("0").rstrip(".") + "k/1m",
    ),
    Seated(
        known=_Codex(name="codex-acp", package="@openai/codex", prepare=_prepare_codex),
        # Its daemon would outlive the test.
        arguments=("--no-daemon", "--no-alt-screen"),
        ready="Ask Codex",
        window=258_400,
        compacts_at=244_800,
        figure=_codex,
        status="/status",
        told=lambda used: f"{used / 1000:.3g}K used",
    ),
)
_PI = ("--provider", "wire", "--model", "m")
ONE_SHOTS = (
    OneShot(
        known=Known(name="qwen", package="@qwen-code/qwen-code", prepare=_prepare_qwen),
        first=("-p",),
        again=("-c", "-p"),
        figure=_qwen,
        compacts_at=47_000,
    ),
    OneShot(
        known=Known(name="pi", package="@earendil-works/pi-coding-agent", prepare=_prepare_pi),
        first=(*_PI, "-p"),
        again=(*_PI, "-c", "-p"),
        figure=_pi,
        compacts_at=83_616,
    ),
    OneShot(
        known=RIG_AGENTS["opencode"],
        first=("run",),
        again=("run", "-c"),
        figure=_opencode,
        compacts_at=92_000,
    ),
    OneShot(
        known=RIG_AGENTS["gemini"],
        first=("-p",),
        again=("-r", "latest", "-p"),
        figure=_gemini,
        compacts_at=524_288,
        # What it resumes has no usage, so before a process's first request it takes the context for small.
        tool=("list_directory", {"dir_path": "."}),
    ),
    OneShot(
        known=Known(name="grok", package="@xai-official/grok", prepare=_prepare_grok),
        first=("-m", "m", "--always-approve", "-p"),
        again=("-m", "m", "--always-approve", "-c", "-p"),
        figure=_grok,
        compacts_at=85_000,
        # A new process estimates what it resumes.
        tool=("list_dir", {"target_directory": "."}),
        asks_summary=("a successor assistant can continue",),
    ),
)
