"""What Ullage knows about Gemini CLI."""

from ullage.agents.agent import Agent, Inserted, Sessions
from ullage.agents.gemini_cli.acp import ACP
from ullage.agents.gemini_cli.compaction_settings import SETTINGS
from ullage.agents.gemini_cli.reader import FORMAT
from ullage.agents.gemini_cli.retention import RETENTION
from ullage.agents.gemini_cli.sessions import fact_files, facts_of, is_sub_agent, patterns, title_of
from ullage.agents.gemini_cli.wiring import WIRING
from ullage.agents.own_context import OwnContext, share

AGENT = Agent(
    name="Gemini CLI",
    short="Gemini",
    formats=(FORMAT,),
    sessions=Sessions(
        patterns=patterns, title_of=title_of, facts_of=facts_of, fact_files=fact_files, is_sub_agent=is_sub_agent
    ),
    retention=RETENTION,
    # Half of the window, measured by trial.
    own_context=OwnContext(threshold=share(0.5)),
    own_settings=SETTINGS,
    acp=ACP,
    inserted=Inserted(tags=("session_context", "hook_context")),
    wiring=WIRING,
)
