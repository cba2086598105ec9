"""What Ullage knows about the Grok CLI."""

from ullage.agents.agent import Agent, Sessions
from ullage.agents.grok.reader import FORMAT, companions
from ullage.agents.grok.sessions import patterns, title_of

AGENT = Agent(
    name="Grok CLI",
    short="Grok",
    formats=(FORMAT,),
    companions=companions,
    sessions=Sessions(patterns=patterns, title_of=title_of, fact_files=companions),
)
