"""Law: what is pinned and the newest message of the user are in every request word for word, or `CannotFit` names what
is too large and nothing is changed. At every door: a program's `ContextManager` and `ContextCompactor`, the Language
Server, prompts of the ACP agent, and `ullage compact`."""

import asyncio
import contextlib
import io
import tempfile
from collections.abc import AsyncGenerator, Callable, Sequence
from pathlib import Path
from typing import Any, cast

import msgspec
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

from support.build import words
from support.workspace import SMALL_MODEL, Live, NoTools, OneProvider, TestClient, build_test_client
from ullage import ContextCompactor, ContextManager
from ullage.cli.main import main
from ullage.formats.provider import Provider, write_request
from ullage.model.answer import Fragment, ModelRequest
from ullage.model.errors import CannotFit
from ullage.model.json_values import as_list, as_object
from ullage.model.message import ToolDefinition, ToolUseBlock
from ullage.model.settings import ContextSettings, Settings
from ullage.providers.played import ScriptedProvider, parse_script
from ullage.service.archive.export import export_session
from ullage.service.ports.models import ToolOutcome

WINDOW, USABLE = 8_192, 6_144
# Tokens that a request has in addition to the texts of a talk: the first message, frames, notices, and what is left of
# tool calls and results that are cut.
BESIDE = 600
NAMES = ("the system prompt", "pinned message", "newest message", "the tools and the hidden prompt")


class Talk(Struct, frozen=True, kw_only=True):
    """A conversation that ends with a question of the user, or with tool calls after it. All sizes are tokens. `pins`
    are sizes of pinned messages, `exchanges` of those before and after the pins, `results` of tool results at the end;
    with `words_beside` the last result is in a message with words of the user, which then are the newest."""

    pins: tuple[int, ...] = ()
    tools: int = 0
    system: int = 0
    exchanges: tuple[int, ...] = ()
    question: int = 10
    results: tuple[int, ...] = ()
    words_beside: bool = False

    @property
    def must_stay(self) -> int:
        """Returns the tokens of what must be in the request word for word."""
        return sum(self.pins) + self.tools + self.system + self.question

    @property
    def pinned_texts(self) -> list[str]:
        """Returns the texts of the pinned messages."""
        return [f"Pin {number}: {words(size)}." for number, size in enumerate(self.pins)]

    @property
    def asked(self) -> str:
        """Returns the user's newest words."""
        return f"And the question: {words(self.question)}?"

    @property
    def declared(self) -> list[dict[str, Any]]:
        """Returns the tools."""
        return [{"name": "t", "description": words(self.tools), "input_schema": {"type": "object"}}] * bool(self.tools)

    @property
    def prompt(self) -> str:
        """Returns the system prompt."""
        return words(self.system) if self.system else ""

    @property
    def history(self) -> list[dict[str, Any]]:
        """Returns the messages before the question."""
        half = len(self.exchanges) // 2
        made = [("user", "Start."), ("assistant", "Yes?"), *_exchanges(self.exchanges[:half], 0)]
        for text in self.pinned_texts:
            made += [("user", text), ("assistant", "Noted.")]
        made += _exchanges(self.exchanges[half:], half)
        return [{"role": role, "content": text} for role, text in made]

    @property
    def end(self) -> list[dict[str, Any]]:
        """Returns the question with what follows it."""
        asked: dict[str, Any] = {
            "role": "user",
            "content": "Look." if self.words_beside and self.results else self.asked,
        }
        made = [asked]
        for number, size in enumerate(self.results):
            use: dict[str, Any] = {"type": "tool_use", "id": f"c{number}", "name": "t", "input": {}}
            result: list[dict[str, Any]] = [
                {"type": "tool_result", "tool_use_id": f"c{number}", "content": words(size, f"r{number}")}
            ]
            if self.words_beside and number == len(self.results) - 1:
                result.append({"type": "text", "text": self.asked})
            made += [{"role": "assistant", "content": [use]}, {"role": "user", "content": result}]
        return made


def _exchanges(sizes: Sequence[int], first: int) -> list[tuple[str, str]]:
    return [
        each
        for number, size in enumerate(sizes, start=first)
        for each in (("user", f"Part {number}: {words(size)}"), ("assistant", f"Done {number}: {words(size)}"))
    ]


def _share(least: float, most: float) -> st.SearchStrategy[int]:
    return st.floats(least, most).map(lambda share: int(share * USABLE))


talks = st.builds(
    Talk,
    pins=st.one_of(
        st.just(()),
        st.tuples(_share(0.1, 0.95)),
        st.lists(_share(0.02, 0.4), max_size=4).map(tuple),
    ),
    tools=st.one_of(st.just(0), _share(0.1, 0.95)),
    system=st.one_of(st.just(0), _share(0.1, 0.95)),
    exchanges=st.lists(_share(0.01, 0.2), max_size=12).map(tuple),
    question=st.one_of(st.integers(1, 400), _share(0.1, 1.3)),
    results=st.lists(st.sampled_from([3, 300, 2_000, 12_000]), max_size=3).map(tuple),
    words_beside=st.booleans(),
)
# What the law was first broken by: one pin of more than half of usable, several that are together, and a pin with a
# loop of tool calls after the question.
ONE_PIN = Talk(pins=(3_600,), exchanges=(200,) * 8)
MANY_PINS = Talk(pins=(600,) * 6, exchanges=(200,) * 8)
PIN_AND_TOOLS = Talk(pins=(3_300,), exchanges=(200,) * 6, results=(300, 12_000))
LONG_LOOP = Talk(exchanges=(100,) * 3, question=700, results=(1_500,) * 6)
HUGE_QUESTION = Talk(exchanges=(100,) * 3, question=9_000)


def law(examples: int) -> Callable[[Callable[[Talk], None]], Callable[[], None]]:
    """Makes a test that holds for any talk."""

    def made(test: Callable[[Talk], None]) -> Callable[[], None]:
        for talk in (ONE_PIN, MANY_PINS, PIN_AND_TOOLS, LONG_LOOP, HUGE_QUESTION):
            test = example(talk)(test)
        checks = [HealthCheck.too_slow, HealthCheck.data_too_large]
        return given(talks)(settings(deadline=None, max_examples=examples, suppress_health_check=checks)(test))  # type: ignore[return-value]

    return made


def judge(talk: Talk, sent: str | None, refused: str) -> None:
    """Asserts the law for a request's text, or for the error where there is none."""
    if sent is not None:
        assert talk.must_stay <= USABLE
        for text in (*talk.pinned_texts, talk.asked):
            assert text in sent, f"not in the request: {text[:30]}"
        return
    assert talk.must_stay + BESIDE > USABLE, refused
    assert any(name in refused for name in NAMES), refused


def text_of(request: Any) -> str:
    """Returns all texts of a request, each on its line."""
    if isinstance(request, dict):
        return "\n".join(map(text_of, as_object(cast("Any", request)).values()))
    if isinstance(request, list):
        return "\n".join(map(text_of, as_list(cast("Any", request))))
    return str(request)


@law(30)
def test_the_request_of_a_program(talk: Talk) -> None:
    with ContextManager(SMALL_MODEL, provider="anthropic", window=WINDOW, system=talk.prompt, tools=talk.declared) as c:
        for message, (message_id,) in [(one, c.add_message(one)) for one in talk.history]:
            if message["content"] in talk.pinned_texts:
                c.pin(message_id)
        c.add_message(*talk.end)
        before = c.history()
        try:
            sent, refused = text_of(c.get_request()), ""
            assert c.token_usage <= USABLE
        except CannotFit as error:
            sent, refused = None, str(error)
            assert c.history() == before
    judge(talk, sent, refused)


@law(20)
def test_a_list_of_messages_that_a_program_has_compacted(talk: Talk) -> None:
    system = [{"role": "system", "content": talk.prompt}] * bool(talk.prompt)
    given = [*system, *talk.history, *talk.end]
    pins = [at for at, message in enumerate(given) if message["content"] in talk.pinned_texts]
    own = replace(talk, tools=0)
    try:
        left = ContextCompactor("gpt-4o").compact_sync(given, USABLE, pinned=pins)
    except CannotFit as error:
        judge(own, None, str(error))
        return
    # A system prompt may be cut for a budget that the caller names.
    judge(replace(own, system=0), text_of(left), "")


async def _begun(client: TestClient, talk: Talk) -> str:
    new = await client.call("session/new", model=SMALL_MODEL, system=talk.prompt, tools=talk.declared)
    session_id = new["sessionId"]
    for message in talk.history:
        added = await client.call("session/append", sessionId=session_id, messages=[message])
        if message["content"] in talk.pinned_texts:
            await client.call("context/pin", sessionId=session_id, messageId=added["messageIds"][0], pinned=True)
        await client.workspace.open(session_id).settled()
    return session_id


async def _served(talk: Talk) -> tuple[str | None, str]:
    client = build_test_client()
    session_id = await _begun(client, talk)
    await client.call("session/append", sessionId=session_id, messages=talk.end)
    session = client.workspace.open(session_id)
    await session.settled()
    before = session.transcript.edits
    try:
        result = await client.call("context/messages", sessionId=session_id, provider="anthropic")
    except CannotFit as error:
        assert session.transcript.edits == before
        assert session.guards.warned_unfit
        assert await client.entries(session_id)
        return None, str(error)
    assert session.used <= USABLE
    return text_of(result["request"]), ""


@law(25)
def test_the_request_of_the_language_server(talk: Talk) -> None:
    sent, refused = asyncio.run(_served(talk))
    judge(talk, sent, refused)


class _Recording(ScriptedProvider):
    """Plays a script and keeps the requests for answers."""

    def __init__(self, script: str) -> None:
        super().__init__("scripted", parse_script(script))
        self.requests: list[ModelRequest] = []

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Fragment]:
        if not request.instructions:
            self.requests.append(request)
        async for fragment in super().stream(request):
            yield fragment


class _Results(NoTools):
    """Has one tool, which returns a result of each size in turn."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self._sizes = list(sizes)

    @property
    def definitions(self) -> tuple[ToolDefinition, ...]:
        return (ToolDefinition(name="look", description="Looks."),)

    async def run(self, _session_id: str, _cwd: str, _use: ToolUseBlock, /) -> ToolOutcome:
        return ToolOutcome(text=words(self._sizes.pop(0), "found"))


async def _prompted(talk: Talk) -> tuple[list[str], str]:
    script = "\n---\n".join([*("tool: look {}" for _ in talk.results), "say: Done."])
    provider = _Recording(script)
    client = build_test_client(live=Live(providers=OneProvider(provider), toolbox=_Results(talk.results)))
    session_id = await _begun(client, talk)
    session = client.workspace.open(session_id)
    refused = ""
    try:
        await client.call("session/prompt", sessionId=session_id, prompt=[{"type": "text", "text": talk.asked}])
    except CannotFit as error:
        refused = str(error)
        assert session.used > USABLE
    sent = [
        text_of(write_request(Provider.ANTHROPIC, request.messages, request.tools)) for request in provider.requests
    ]
    return sent, refused


@law(25)
def test_the_requests_of_a_prompt_turn(talk: Talk) -> None:
    sent, refused = asyncio.run(_prompted(talk))
    # A system prompt is cut rather than that nothing can be sent.
    own = replace(talk, system=0)
    for text in sent:
        judge(own, text, "")
    assert bool(refused) or len(sent) == len(talk.results) + 1
    if refused:
        judge(talk, None, refused)


async def _exported(talk: Talk) -> str:
    client = build_test_client(settings=Settings(context=ContextSettings(enabled=False)))
    session_id = await _begun(client, talk)
    await client.call("session/append", sessionId=session_id, messages=talk.end)
    return await export_session(client.workspace.open(session_id), "ullage")


@law(12)
def test_the_context_that_the_command_line_compacts(talk: Talk) -> None:
    with tempfile.TemporaryDirectory() as folder:
        given, left = Path(folder) / "talk.jsonl", Path(folder) / "left.json"
        given.write_text(asyncio.run(_exported(talk)), encoding="utf-8")
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
            status = main(
                ["compact", str(given), "--budget", str(USABLE), "--provider", "anthropic", "--output", str(left)]
            )
        own = replace(talk, system=0)
        if status:
            judge(talk, None, errors.getvalue())
        else:
            judge(own, text_of(msgspec.json.decode(left.read_bytes())), "")
