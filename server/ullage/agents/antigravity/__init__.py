"""What Ullage knows about Antigravity."""

from ullage.agents.agent import Agent, Sessions
from ullage.agents.antigravity.reader import FORMAT
from ullage.agents.antigravity.sessions import patterns, title_of

AGENT = Agent(
    name="Antigravity",
    formats=(FORMAT,),
    sessions=Sessions(patterns=patterns, title_of=title_of),
)
