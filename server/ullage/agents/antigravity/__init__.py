"""What Ullage knows about Antigravity."""

from ullage.agents.agent import Agent, Inserted, Sessions
from ullage.agents.antigravity.reader import FORMAT
from ullage.agents.antigravity.sessions import patterns, title_of

AGENT = Agent(
    name="Antigravity",
    formats=(FORMAT,),
    sessions=Sessions(patterns=patterns, title_of=title_of),
    inserted=Inserted(
        not_typed=(r"The following is a <SYSTEM_MESSAGE> not actually sent by the user",),
        tags=("USER_SETTINGS_CHANGE",),
        typed_tags=("USER_REQUEST",),
    ),
)
