"""What Ullage knows about Claude Code."""

from ullage.agents.agent import Agent, Sessions
from ullage.agents.claude_code.acp import ACP
from ullage.agents.claude_code.compaction_settings import SETTINGS
from ullage.agents.claude_code.inserted import INSERTED
from ullage.agents.claude_code.reader import FORMAT
from ullage.agents.claude_code.retention import RETENTION
from ullage.agents.claude_code.session_writer import WRITER
from ullage.agents.claude_code.sessions import (
    MARKS,
    companions,
    facts_of,
    is_sub_agent,
    kept_beside,
    patterns,
    running_patterns,
    title_of,
)
from ullage.agents.claude_code.thresholds import OWN_CONTEXT
from ullage.agents.claude_code.wiring import WIRING
from ullage.agents.running import Processes, running_in_record

AGENT = Agent(
    name="Claude Code",
    short="CC",
    formats=(FORMAT,),
    companions=companions,
    kept_beside=kept_beside,
    sessions=Sessions(patterns=patterns, title_of=title_of, facts_of=facts_of, is_sub_agent=is_sub_agent, marks=MARKS),
    processes=Processes(patterns=running_patterns, running_in=running_in_record),
    session_variable="CLAUDE_CODE_SESSION_ID",
    folder_variable="CLAUDE_PROJECT_DIR",
    writer=WRITER,
    retention=RETENTION,
    own_context=OWN_CONTEXT,
    own_settings=SETTINGS,
    takes_focus=True,
    acp=ACP,
    inserted=INSERTED,
    wiring=WIRING,
)
