"""What Ullage knows about Hermes Agent: how its sessions are read, and where it compacts.

A session is JSON: facts, and `messages` in the shape of OpenAI's chat API.
"""

from ullage.agents.agent import Agent
from ullage.agents.own_context import OwnContext, share
from ullage.agents.record_reader import RecordReader
from ullage.formats.parsing import Document, Line
from ullage.formats.transcripts.chat import ChatReader, read_functions
from ullage.formats.transcripts.format import Records, incremental
from ullage.model.json_values import JsonObject, as_object, as_objects, as_text
from ullage.model.message import Role, TextBlock

NAME = "hermes"
_FACTS = "facts"


def _matches(document: Document) -> bool:
    session = as_object(document.value)
    return isinstance(session.get("messages"), list) and {"session_id", "platform", "session_start"} <= set(session)


def _records(document: Document) -> Records:
    session = as_object(document.value)
    facts: JsonObject = {_FACTS: {key: value for key, value in session.items() if key != "messages"}}
    values = [facts, *as_objects(session.get("messages"))]
    return Records(lines=tuple(Line(number=number, value=value) for number, value in enumerate(values)))


class HermesReader(RecordReader):
    """Reads one session of Hermes Agent. Each record is a complete message, so no event is held back."""

    def _begin(self) -> None:
        self._chat = ChatReader(self._builder)

    def _read(self, value: JsonObject, number: int) -> None:
        if _FACTS in value:
            self._take_facts(as_object(value[_FACTS]))
        elif not self._chat.add(value):
            role = as_text(value.get("role"))
            self._builder.skip(number, f"message of role {role!r}", expected=role == "session_meta")

    def _take_facts(self, facts: JsonObject) -> None:
        self._builder.agent = "Hermes"
        self._builder.session_id = as_text(facts.get("session_id"))
        self._builder.title = as_text(facts.get("title"))
        self._builder.cwd = as_text(facts.get("cwd")) or as_text(as_object(facts.get("model_config")).get("cwd"))
        self._builder.use_model(as_text(facts.get("model")))
        tools = [
            tool | as_object(tool.get("function")) | {"function": None, "parameters": tool.get("input_schema")}
            for tool in as_objects(facts.get("tools"))
        ]
        self._builder.declare(read_functions(tools))
        if prompt := as_text(facts.get("system_prompt")):
            self._builder.add(Role.SYSTEM, (TextBlock(text=prompt),))


FORMAT = incremental(NAME, _matches, HermesReader, _records)

AGENT = Agent(
    name="Hermes",
    formats=(FORMAT,),
    # As its maintainers say (hermes PR 1096).
    own_context=OwnContext(threshold=share(0.5)),
)
