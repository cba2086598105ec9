"""What Ullage knows about Copilot Chat and other chats in VS Code."""

from ullage.agents.agent import Agent, Sessions
from ullage.agents.copilot_chat.reader import FORMAT, companions
from ullage.agents.copilot_chat.sessions import facts_of, patterns, title_of

AGENT = Agent(
    name="Copilot Chat",
    short="Chat",
    formats=(FORMAT,),
    companions=companions,
    sessions=Sessions(patterns=patterns, title_of=title_of, facts_of=facts_of, fact_files=companions),
)
