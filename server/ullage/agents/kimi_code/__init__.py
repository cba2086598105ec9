"""What Ullage knows about Kimi Code."""

from ullage.agents.agent import Agent, Inserted, Sessions
from ullage.agents.kimi_code.reader import FORMAT
from ullage.agents.kimi_code.sessions import companions, facts_of, is_sub_agent, patterns, title_of
from ullage.agents.kimi_code.thresholds import OWN_CONTEXT, SETTINGS

AGENT = Agent(
    name="Kimi Code",
    short="Kimi",
    formats=(FORMAT,),
    companions=companions,
    sessions=Sessions(
        patterns=patterns, title_of=title_of, facts_of=facts_of, fact_files=companions, is_sub_agent=is_sub_agent
    ),
    own_context=OWN_CONTEXT,
    own_settings=SETTINGS,
    inserted=Inserted(tags=("git-context",), reminder_tags=("system-reminder",)),
)
