"""What Ullage knows about Qwen Code."""

from ullage.agents.agent import Agent, Sessions
from ullage.agents.qwen_code.acp import ACP
from ullage.agents.qwen_code.inserted import INSERTED
from ullage.agents.qwen_code.reader import FORMAT
from ullage.agents.qwen_code.sessions import companions, facts_of, is_sub_agent, patterns, title_of
from ullage.agents.qwen_code.thresholds import OWN_CONTEXT
from ullage.agents.qwen_code.wiring import WIRING

AGENT = Agent(
    name="Qwen Code",
    short="Qwen",
    formats=(FORMAT,),
    companions=companions,
    sessions=Sessions(patterns=patterns, title_of=title_of, facts_of=facts_of, is_sub_agent=is_sub_agent),
    own_context=OWN_CONTEXT,
    acp=ACP,
    inserted=INSERTED,
    wiring=WIRING,
)
