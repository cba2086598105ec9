"""The coding agents that Ullage knows, one line each.

To add an agent, add a module in this package that makes its `AGENT`, and a line here.
"""

from ullage.agents import (
    aider,
    antigravity,
    claude_code,
    cline,
    codex,
    copilot_chat,
    copilot_cli,
    crush,
    cursor,
    droid,
    gemini_cli,
    goose,
    grok,
    hermes,
    kimi_code,
    opencode,
    openhands,
    pi,
    qwen_code,
)
from ullage.agents.agent import Agent

# In the order in which their transcript formats are tried.
AGENTS: tuple[Agent, ...] = (
    claude_code.AGENT,
    codex.AGENT,
    copilot_chat.AGENT,
    copilot_cli.AGENT,
    gemini_cli.AGENT,
    opencode.AGENT,
    opencode.KILO_AGENT,
    cline.AGENT,
    cline.ROO_AGENT,
    crush.AGENT,
    goose.AGENT,
    kimi_code.AGENT,
    openhands.AGENT,
    aider.AGENT,
    pi.AGENT,
    qwen_code.AGENT,
    droid.AGENT,
    cursor.AGENT,
    antigravity.AGENT,
    grok.AGENT,
    hermes.AGENT,
)
_BY_NAME = {agent.name: agent for agent in AGENTS}
_BY_FORMAT = {known.name: agent for agent in AGENTS for known in agent.formats}


def agent_of_format(name: str, called: str = "") -> Agent | None:
    """Returns the agent that writes the transcript format named `name`, or None if no known agent does. Several may
    write it: then it is the one whose name is `called`."""
    return _BY_NAME.get(called) or _BY_FORMAT.get(name)


def word_of(agent: Agent) -> str:
    """Returns an agent's name as a word for a command line, such as `gemini-cli`."""
    return agent.name.lower().replace(" ", "-")


def agent_called(word: str) -> Agent | None:
    """Returns the agent with this name or word, in upper or lower case; None if no known agent is called so."""
    return next((agent for agent in AGENTS if word_of(agent) == word.lower().replace(" ", "-")), None)


def agent_of_word(word: str) -> Agent | None:
    """Returns the agent that commands call `word`, or None if Ullage can't be added to an agent of that name."""
    return next((agent for agent in AGENTS if agent.wiring and agent.wiring.word == word), None)


def short_name(name: str) -> str:
    """Returns an agent's name in a few characters, for a status bar: the name itself if no shorter one is known."""
    agent = _BY_NAME.get(name)
    return agent.short or name if agent else name


def compact_command(name: str) -> tuple[str, bool]:
    """Returns what a user types in an agent to compact the conversation, such as `/compact`, or "" if it is not known.
    The second value says whether the command takes words about what the summary must keep."""
    agent = _BY_NAME.get(name)
    if agent is None or not agent.acp.compact_command:
        return "", False
    return f"/{agent.acp.compact_command}", agent.takes_focus
