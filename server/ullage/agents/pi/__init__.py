"""What Ullage knows about pi."""

from ullage.agents.agent import AcpAgent, Agent, Sessions
from ullage.agents.own_context import OwnContext, before_end
from ullage.agents.pi.compaction_settings import SETTINGS
from ullage.agents.pi.inserted import INSERTED
from ullage.agents.pi.reader import FORMAT
from ullage.agents.pi.sessions import facts_of, patterns, title_of
from ullage.agents.pi.wiring import WIRING

AGENT = Agent(
    name="pi",
    formats=(FORMAT,),
    sessions=Sessions(patterns=patterns, title_of=title_of, facts_of=facts_of),
    # Read in its source, and measured: 89,639 of 100,000 are compacted.
    own_context=OwnContext(threshold=before_end(16_384)),
    own_settings=SETTINGS,
    acp=AcpAgent(compact_command="compact"),
    takes_focus=True,
    inserted=INSERTED,
    wiring=WIRING,
)
