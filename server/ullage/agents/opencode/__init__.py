"""What Ullage knows about opencode."""

from ullage.agents.agent import AcpAgent, Agent, Inserted, Sessions
from ullage.agents.opencode.compaction_settings import RESERVED, SETTINGS
from ullage.agents.opencode.reader import FORMAT
from ullage.agents.opencode.sessions import companions, facts_of, patterns, title_of
from ullage.agents.opencode.sources import TABLES
from ullage.agents.opencode.wiring import WIRING
from ullage.agents.own_context import OwnContext, less_output

AGENT = Agent(
    name="opencode",
    formats=(FORMAT,),
    companions=companions,
    sessions=Sessions(
        patterns=patterns, title_of=title_of, facts_of=facts_of, table="session", newer_table="session_v2"
    ),
    tables=TABLES,
    # Measured by trial: 92,000 of 100,000 with answers of up to 8,000.
    own_context=OwnContext(threshold=less_output(32_000, RESERVED)),
    own_settings=SETTINGS,
    # What it says in the user's place after its own compaction.
    inserted=Inserted(not_typed=(r"Continue if you have next steps, or stop and ask for clarification if you",)),
    acp=AcpAgent(name="OpenCode", compact_command="compact", offers_command=False),
    wiring=WIRING,
)
