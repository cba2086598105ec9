"""The coding agents that Ullage knows, one entry each.

To add an agent, add a folder in this package and an entry here.
"""

from ullage.agents.agent import AcpAgent, Agent, Inserted
from ullage.agents.claude_code import acp as claude_code_acp
from ullage.agents.claude_code import inserted as claude_code_inserted
from ullage.agents.claude_code import reader as claude_code_reader
from ullage.agents.codex import log_reader as codex_log_reader
from ullage.agents.codex import reader as codex_reader
from ullage.agents.gemini_cli import acp as gemini_cli_acp
from ullage.agents.qwen_code import acp as qwen_code_acp

AGENTS: tuple[Agent, ...] = (
    Agent(
        name="Claude Code",
        formats=(claude_code_reader.FORMAT,),
        acp=claude_code_acp.ACP,
        inserted=claude_code_inserted.INSERTED,
    ),
    Agent(
        name="Codex",
        formats=(codex_log_reader.FORMAT, codex_reader.FORMAT),
        acp=AcpAgent(compact_command="compact"),
        inserted=Inserted(tags=("environment_context",), instruction_tags=("user_instructions",)),
    ),
    Agent(name="Gemini CLI", acp=gemini_cli_acp.ACP),
    Agent(name="opencode", acp=AcpAgent(name="OpenCode", compact_command="compact", offers_command=False)),
    Agent(name="Qwen Code", acp=qwen_code_acp.ACP),
)
