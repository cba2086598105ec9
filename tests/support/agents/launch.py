"""Starts each agent so that it connects only to the loopback, with a false key, in folders of its own."""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from support.neovim import RIGS

_NODE = RIGS / "node" / "node_modules" / ".bin"
_FALSE_KEY = "sk-false"
_QUIET = {"privacy": {"usageStatisticsEnabled": False}, "telemetry": {"enabled": False}}


class Launch(Struct, frozen=True, kw_only=True):
    """An agent ready to be started. `title` is its package and version, as in the table."""

    title: str
    command: tuple[str, ...]
    environment: Mapping[str, str]
    cwd: Path


class Known(Struct, frozen=True, kw_only=True):
    """An agent of the rig: its name there, its arguments, and the files and variables that configure it."""

    name: str
    package: str
    arguments: tuple[str, ...] = ()
    prepare: Callable[[Path, str], Mapping[str, str]]

    @property
    def program(self) -> Path:
        return RIGS / "agents" / self.name / "node_modules" / ".bin" / self.name

    def launch(self, home: Path, url: str) -> Launch:
        """Returns the agent with a home folder, and its provider at `url`."""
        project = home / "project"
        project.mkdir(parents=True, exist_ok=True)
        folders = {
            "HOME": home,
            "XDG_CONFIG_HOME": home / "config",
            "XDG_DATA_HOME": home / "data",
            "XDG_CACHE_HOME": home / "cache",
            "XDG_STATE_HOME": home / "state",
        }
        environment = {
            "PATH": f"{_NODE}{os.pathsep}{os.environ['PATH']}",
            # A note of the fill comes long before the agent compacts by itself.
            "ULLAGE_WARN_AT": "0.7",
            "LANG": "C.UTF-8",
            **{name: str(folder) for name, folder in folders.items()},
            **self.prepare(home, url),
        }
        command = (str(self.program), *self.arguments)
        return Launch(title=self.title, command=command, environment=environment, cwd=project)

    @property
    def title(self) -> str:
        """The package with the installed version."""
        manifest = RIGS / "agents" / self.name / "node_modules" / self.package / "package.json"
        return f"{self.package.rpartition('/')[2]} {json.loads(manifest.read_text())['version']}"


def need(agent: Known) -> None:
    """Skips the test if the agent is not installed."""
    # Agents are large, and published by others. A machine that cannot get one tests the others.
    if not agent.program.exists():
        pytest.skip(f"{agent.name} is not installed; scripts/rigs/agents.sh gets it")


def _claude(home: Path, url: str) -> Mapping[str, str]:
    # Since 0.101 its usual mode decides by itself which calls need the user, and asks the model about others.
    settings = home / "claude" / "settings.json"
    settings.parent.mkdir(parents=True, exist_ok=True)
    # What a test has put there stays.
    if not settings.exists():
        settings.write_text(json.dumps({"permissions": {"defaultMode": "default"}}))
    return {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": _FALSE_KEY,
        "CLAUDE_CONFIG_DIR": str(home / "claude"),
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        # Without this the agent refuses to run as root, the user in many containers.
        "IS_SANDBOX": "1",
    }


def _codex(home: Path, url: str) -> Mapping[str, str]:
    folder = home / "codex"
    folder.mkdir(exist_ok=True)
    provider = f'name = "wire"\nbase_url = "{url}/v1"\nenv_key = "WIRE_KEY"\nwire_api = "responses"\n'
    config = (
        f'model = "gpt-5"\nmodel_provider = "wire"\n[model_providers.wire]\n{provider}[analytics]\nenabled = false\n'
    )
    (folder / "config.toml").write_text(config)
    return {"CODEX_HOME": str(folder), "WIRE_KEY": _FALSE_KEY}


def _opencode(home: Path, url: str) -> Mapping[str, str]:
    model = {"name": "m", "limit": {"context": 100_000, "output": 8_000}}
    options = {"baseURL": f"{url}/v1", "apiKey": _FALSE_KEY}
    provider = {"npm": "@ai-sdk/openai-compatible", "name": "wire", "options": options, "models": {"m": model}}
    config = {"model": "wire/m", "small_model": "wire/m", "autoupdate": False, "provider": {"wire": provider}}
    return {
        "OPENCODE_CONFIG_CONTENT": json.dumps(config),
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
    }


def _gemini(home: Path, url: str) -> Mapping[str, str]:
    chosen = {"model": {"name": "gemini-2.5-flash"}, "security": {"auth": {"selectedType": "gemini-api-key"}}}
    _write(home / ".gemini" / "settings.json", {**chosen, **_QUIET, "general": {"enableAutoUpdate": False}})
    return {"GEMINI_API_KEY": _FALSE_KEY, "GOOGLE_GEMINI_BASE_URL": url, "GEMINI_CLI_TRUST_WORKSPACE": "true"}


def _qwen(home: Path, url: str) -> Mapping[str, str]:
    chosen = {"security": {"auth": {"selectedType": "openai"}}}
    _write(home / ".qwen" / "settings.json", {**chosen, **_QUIET, "general": {"disableAutoUpdate": True}})
    return {"OPENAI_API_KEY": _FALSE_KEY, "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_MODEL": "qwen3-coder-plus"}


def _write(path: Path, value: Any) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")


AGENTS = (
    Known(name="claude-agent-acp", package="@agentclientprotocol/claude-agent-acp", prepare=_claude),
    Known(name="codex-acp", package="@agentclientprotocol/codex-acp", prepare=_codex),
    Known(name="opencode", package="opencode-ai", arguments=("acp",), prepare=_opencode),
    Known(name="gemini", package="@google/gemini-cli", arguments=("--acp",), prepare=_gemini),
    Known(name="qwen", package="@qwen-code/qwen-code", arguments=("--acp",), prepare=_qwen),
)
RIG_AGENTS = {agent.name: agent for agent in AGENTS}


def prepare_of(name: str) -> Callable[[Path, str], Mapping[str, str]]:
    """Returns the function that configures an agent of the rig."""
    return RIG_AGENTS[name].prepare
