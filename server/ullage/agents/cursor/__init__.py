"""What Ullage knows about Cursor's command line."""

from ullage.agents.agent import Agent, Inserted, Sessions
from ullage.agents.cursor import chat_stores
from ullage.agents.cursor.reader import FORMAT
from ullage.agents.cursor.sessions import companions, facts_of, is_sub_agent, patterns, title_of

AGENT = Agent(
    name="Cursor",
    formats=(chat_stores.FORMAT, FORMAT),
    companions=companions,
    tables=chat_stores.TABLES,
    inserted=Inserted(tags=("user_info",)),
    sessions=Sessions(
        patterns=patterns,
        title_of=title_of,
        facts_of=facts_of,
        fact_files=companions,
        is_sub_agent=is_sub_agent,
        table="meta",
    ),
)
