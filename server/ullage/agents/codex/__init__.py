"""What Ullage knows about Codex."""

from ullage.agents.agent import Agent, Sessions
from ullage.agents.codex import log_reader, reader
from ullage.agents.codex.acp import ACP
from ullage.agents.codex.inserted import INSERTED
from ullage.agents.codex.segments import companions, references
from ullage.agents.codex.session_writer import WRITER
from ullage.agents.codex.sessions import facts_of, patterns, session_in_request, title_of
from ullage.agents.codex.thresholds import OWN_CONTEXT, SETTINGS
from ullage.agents.codex.wiring import WIRING, WITHHELD

AGENT = Agent(
    name="Codex",
    formats=(log_reader.FORMAT, reader.FORMAT),
    companions=companions,
    references=references,
    # Where its sessions are, and where the user's data are. Codex 0.166 gives its servers few variables.
    withheld_variables=WITHHELD,
    session_in_request=session_in_request,
    sessions=Sessions(patterns=patterns, title_of=title_of, facts_of=facts_of),
    own_context=OWN_CONTEXT,
    own_settings=SETTINGS,
    writer=WRITER,
    acp=ACP,
    inserted=INSERTED,
    wiring=WIRING,
)
