"""Law: whatever the providers' own packages allow leaves Ullage as it came, and a cut leaves a valid rest.

The messages, items and tools are made from the SDKs' types, so a new kind is tested as soon as its SDK is updated."""

from collections.abc import Iterable, Sequence
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage import ContextManager, ContextSettings, TruncationMode
from ullage.formats.provider import MESSAGES, Provider, read_messages, write_messages, write_request
from ullage.model.events import Replacement, ShortenEdit
from ullage.model.message import is_sealed
from ullage.transcript.view import Item, apply_edit, replace_block

anthropic = pytest.importorskip("anthropic.types")
beta = pytest.importorskip("anthropic.types.beta")
chat = pytest.importorskip("openai.types.chat")
responses = pytest.importorskip("openai.types.responses")

from support.documents import ROOT  # noqa: E402
from support.sdk_items import CASES, KINDS, TOOLS, bare, fields_of, partner, shape, table, turn_of  # noqa: E402
from support.tables import every  # noqa: E402

Json = dict[str, Any]
KEYS = MESSAGES

# Values of types.

TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=6)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | TEXTS, lambda inner: st.dictionaries(TEXTS, inner, max_size=2)
)
SCALARS: dict[Any, st.SearchStrategy[Any]] = {
    str: TEXTS,
    int: st.integers(0, 1_000),
    float: st.floats(0, 1),
    bool: st.booleans(),
    object: VALUES,
    NoneType: st.none(),
}


def values_of(hint: Any, depth: int = 0) -> st.SearchStrategy[Any]:  # noqa: PLR0911
    """Makes the JSON values that a type hint allows."""
    hint = bare(hint)
    origin, args = get_origin(hint), get_args(hint)
    if hint in SCALARS:
        return SCALARS[hint]
    if origin is Literal:
        return st.sampled_from(args)
    if origin in (Union, UnionType):
        plain = [arg for arg in args if not hasattr(arg, "model_fields")]
        return st.one_of([values_of(arg, depth) for arg in plain if depth < 3 or not is_container(arg)])
    if hasattr(hint, "__required_keys__"):
        fields = list(fields_of(hint))
        required = {name: values_of(field, depth + 1) for name, field, needed in fields if needed}
        optional = {name: values_of(field, depth + 1) for name, field, needed in fields if not needed}
        return st.fixed_dictionaries(required, optional=optional)
    if origin is dict:
        return st.dictionaries(TEXTS, values_of(args[1], depth + 1), max_size=2)
    if origin in (list, Iterable) or origin is not None:
        return st.lists(values_of(args[0], depth + 1), max_size=2 if depth else 3)
    # Binary contents of files, which JSON cannot hold.
    return TEXTS


def is_container(hint: Any) -> bool:
    return get_origin(hint) in (list, dict, Iterable)


def is_a_message(message: Json) -> bool:
    return message["role"] == "assistant" or message.get("content") is not None


def without_answers_marks(message: Json) -> bool:
    """Whether a chat message is one of a request: an answer that was dumped has null for calls that it lacks."""
    return message.get("tool_calls", ()) is not None


ANTHROPIC = values_of(anthropic.MessageParam)
OPENAI = values_of(chat.ChatCompletionMessageParam).filter(is_a_message).filter(without_answers_marks)
RESPONSES = values_of(responses.ResponseInputItemParam)
ANY = st.one_of(
    ANTHROPIC.map(lambda message: (Provider.ANTHROPIC, message)),
    OPENAI.map(lambda message: (Provider.OPENAI, message)),
    RESPONSES.map(lambda message: (Provider.OPENAI_RESPONSES, message)),
)


@given(ANY)
def test_every_message_that_an_sdk_allows_comes_out_as_it_went_in(case: tuple[Provider, Json]) -> None:
    provider, message = case
    (read,) = read_messages(provider, [message])
    assert write_messages(provider, read) == [message]
    # Also from the store.
    stored = msgspec.json.decode(msgspec.json.encode(read), type=type(read))
    assert write_messages(provider, stored) == [message]


@given(st.sampled_from(Provider), st.data())
def test_a_list_of_messages_becomes_the_very_list_of_a_request(provider: Provider, data: st.DataObject) -> None:
    kinds = {Provider.ANTHROPIC: ANTHROPIC, Provider.OPENAI: OPENAI, Provider.OPENAI_RESPONSES: RESPONSES}
    first: Json = {"role": "user", "content": "How many trees?"}
    messages = [first, *data.draw(st.lists(kinds[provider], max_size=4))]
    assert write_request(provider, read_messages(provider, messages))[KEYS[provider]] == messages


@given(st.lists(ANY, max_size=4))
def test_every_message_also_becomes_a_request_of_each_format(cases: list[tuple[Provider, Json]]) -> None:
    messages = [read for provider, message in cases for read in read_messages(provider, [message])]
    for provider in Provider:
        msgspec.json.encode(write_request(provider, messages))


@given(ANY, TEXTS)
def test_an_edit_changes_what_it_names_and_nothing_else(case: tuple[Provider, Json], text: str) -> None:
    provider, message = case
    (read,) = read_messages(provider, [message])
    for at, block in enumerate(read.content):
        change = Replacement(message_id=read.id, block=at, text=text, input={"tree": text})
        if is_sealed(block) or replace_block(block, change) == block:
            continue
        edit = ShortenEdit(id="e", timestamp=0, replacements=(change,))
        (item,) = apply_edit([Item(0, read)], edit)
        written = write_messages(provider, item.message)
        if not written:
            assert not text.strip(), "only what has no text left is not sent"
            continue
        (left,) = written
        changed = [name for name in message if left.get(name) != message[name]]
        assert len(changed) <= 1, "one field of the message holds what was edited"
        assert left.keys() <= message.keys()


# Every type by name.


@every("name, provider, message", KINDS)
def test_each_type_of_each_sdk_is_counted_and_comes_out_as_it_went_in(
    name: str, provider: Provider, message: Json
) -> None:
    said: list[Json] = [{"role": "user", "content": "How many?"}, message, {"role": "user", "content": "And then?"}]
    with ContextManager("gpt-4o", provider=provider) as manager:
        manager.add_message(said[0])
        before = manager.token_usage
        manager.add_message(message)
        assert manager.token_usage > before
        manager.add_message(said[2])
        assert manager.get_request()[KEYS[provider]] == said
        assert manager.get_messages() == [each for each in said if each.get("role") not in ("system", "developer")]


@pytest.mark.parametrize("how", [*TruncationMode, "compact"])
@every("name, provider, message", CASES)
def test_each_type_of_each_sdk_stays_valid_after_every_cut(
    name: str, provider: Provider, message: Json, how: TruncationMode | str
) -> None:
    mode = how if isinstance(how, TruncationMode) else TruncationMode.SUMMARIZE
    settings = ContextSettings(mode=mode, keep_tool_uses=1)
    said: list[Json] = []
    with ContextManager("gpt-4o", provider=provider, window=8_000, context=settings) as manager:
        for number in range(12):
            turn = turn_of(provider, message, number)
            said += turn
            for each in turn:
                manager.add_message(each)
            if how == "compact" and number % 4 == 3:
                manager.compact_sync()
            sent = manager.get_request()[KEYS[provider]]
            assert_valid(provider, message, sent, said)
        assert manager.history(), "something was cut"


def assert_valid(provider: Provider, kind: Json, sent: Sequence[Json], said: Sequence[Json]) -> None:
    """Asserts that each message of a kind that is sent has its partner right after it, and that no partner is alone."""
    length = 1 + len(partner(provider, kind))
    for at, each in enumerate(said):
        if shape(each) != shape(kind) or is_said_by_the_test(each):
            continue
        group = said[at : at + length]
        if each in sent:
            place = sent.index(each)
            assert list(map(shape, sent[place : place + length])) == list(map(shape, group))
        else:
            assert length == 1 or group[1] not in sent, "a result without its call"


def is_said_by_the_test(message: Json) -> bool:
    content = message.get("content")
    return isinstance(content, str) and content.startswith(("Row", "Answer"))


@every("provider, tool", TOOLS)
def test_every_tool_of_each_sdk_is_counted_and_comes_out_as_it_went_in(provider: Provider, tool: Json) -> None:
    with ContextManager("gpt-4o", provider=provider) as manager:
        before = manager.token_usage
        manager.set_tools([tool])
        assert manager.get_request()["tools"] == [tool]
        assert manager.token_usage > before


def test_the_table_of_types_has_each_type_of_each_sdk_and_what_edits_leave_of_it(
    request: pytest.FixtureRequest,
) -> None:
    page = ROOT / "docs" / "item_types.md"
    before, head, written = page.read_text(encoding="utf-8").partition("| --- | --- | --- | --- |\n")
    rows = table()
    if request.config.getoption("--update-golden"):
        page.write_text(f"{before}{head}" + "\n".join(rows) + "\n", encoding="utf-8")
    else:
        assert written.splitlines() == rows
