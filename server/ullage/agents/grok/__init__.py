"""What Ullage knows about the Grok CLI."""

from ullage.agents.agent import Agent, Sessions
from ullage.agents.grok.reader import FORMAT, companions
from ullage.agents.grok.sessions import facts_of, patterns, title_of

AGENT = Agent(
    name="Grok CLI",
    short="Grok",
    formats=(FORMAT,),
    companions=companions,
    sessions=Sessions(patterns=patterns, title_of=title_of, facts_of=facts_of, fact_files=companions),
)
