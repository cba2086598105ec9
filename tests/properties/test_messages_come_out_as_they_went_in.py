"""Law: every message that the providers' own packages allow leaves Ullage as it came.

The messages are made from the SDKs' typed dictionaries, so a new kind of content block is tested as soon as its SDK is
updated."""

from collections.abc import Iterable
from contextlib import suppress
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin, get_type_hints

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ullage.formats.provider import Provider, read_messages, write_messages, write_request
from ullage.model.edits import Replacement
from ullage.model.json_values import as_list, as_object, as_text
from ullage.transcript.replace import replace_block

anthropic = pytest.importorskip("anthropic.types")
openai = pytest.importorskip("openai.types.chat")

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
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return values_of(args[0], depth)
    if hint in SCALARS:
        return SCALARS[hint]
    if origin is Literal:
        return st.sampled_from(args)
    if origin in (Union, UnionType):
        plain = [arg for arg in args if not hasattr(arg, "model_fields")]  # SDKs take objects of answers, too
        return st.one_of([values_of(arg, depth) for arg in plain if depth < 3 or not is_container(arg)])
    if hasattr(hint, "__required_keys__"):
        return typed_dicts(hint, depth)
    if origin is dict:
        return st.dictionaries(TEXTS, values_of(args[1], depth + 1), max_size=2)
    if origin in (list, Iterable) or origin is not None:
        return st.lists(values_of(args[0], depth + 1), max_size=2 if depth else 3)
    # Binary contents of files, which JSON cannot hold.
    return TEXTS


def is_container(hint: Any) -> bool:
    return get_origin(hint) in (list, dict, Iterable)


def typed_dicts(hint: Any, depth: int) -> st.SearchStrategy[dict[str, Any]]:
    required: dict[str, st.SearchStrategy[Any]] = {}
    optional: dict[str, st.SearchStrategy[Any]] = {}
    # The class's own sets of required keys are wrong where annotations are strings.
    for name, field in sorted(get_type_hints(hint, include_extras=True).items()):
        named = getattr(get_origin(field), "__name__", None) or str(get_origin(field))
        is_required = hint.__total__ if "Required" not in named else "NotRequired" not in named
        inner = get_args(field)[0] if "Required" in named else field
        (required if is_required else optional)[name] = values_of(inner, depth + 1)
    return st.fixed_dictionaries(required, optional=optional)


def says(value: Any) -> Any:
    """One spelling for messages that say the same: no nulls, no empty content, a text for a list of one text block,
    parsed arguments."""
    if isinstance(value, dict):
        fields = as_object(cast("Any", value))
        arguments = as_text(fields.get("arguments"))
        if arguments.startswith("{"):
            with suppress(msgspec.DecodeError):
                fields = {**fields, "arguments": msgspec.json.decode(arguments)}
        said = {name: says(field) for name, field in fields.items()}
        return {name: field for name, field in said.items() if field not in (None, "", [])}
    if isinstance(value, list):
        items = [says(item) for item in as_list(cast("Any", value))]
        alone = as_object(items[0]) if len(items) == 1 else {}
        return as_text(alone.get("text")) if alone.get("type") == "text" and alone.keys() <= {"type", "text"} else items
    return value


def is_a_message(message: dict[str, Any]) -> bool:
    return message.get("content") is not None or any(
        message.get(name) for name in ("tool_calls", "function_call", "refusal", "audio")
    )


ANTHROPIC = values_of(anthropic.MessageParam)
OPENAI = values_of(openai.ChatCompletionMessageParam).filter(is_a_message)


@given(ANTHROPIC)
def test_every_message_that_anthropics_sdk_allows_comes_out_as_it_went_in(message: dict[str, Any]) -> None:
    (read,) = read_messages(Provider.ANTHROPIC, [message])
    (written,) = write_messages(Provider.ANTHROPIC, read)
    assert says(written) == says(message)


@given(OPENAI)
# An empty text comes out without its list.
@example({"role": "user", "content": [{"type": "text", "text": ""}]})
def test_every_message_that_openais_sdk_allows_comes_out_as_it_went_in(message: dict[str, Any]) -> None:
    (read,) = read_messages(Provider.OPENAI, [message])
    (written,) = write_messages(Provider.OPENAI, read)
    assert says(written) == says(message)


@given(st.lists(st.one_of(ANTHROPIC), max_size=3), st.lists(OPENAI, max_size=3))
def test_every_message_also_becomes_a_request_of_each_format(
    ours: list[dict[str, Any]], theirs: list[dict[str, Any]]
) -> None:
    messages = (*read_messages(Provider.ANTHROPIC, ours), *read_messages(Provider.OPENAI, theirs))
    for provider in Provider:
        msgspec.json.encode(write_request(provider, messages))


@given(st.one_of(ANTHROPIC.map(lambda m: (Provider.ANTHROPIC, m)), OPENAI.map(lambda m: (Provider.OPENAI, m))), TEXTS)
def test_content_that_an_edit_has_taken_away_never_comes_back_with_a_providers_fields(
    given_message: tuple[Provider, dict[str, Any]], text: str
) -> None:
    provider, message = given_message
    (read,) = read_messages(provider, [message])
    for block in read.content:
        edited = replace_block(block, Replacement(message_id="m", block=0, text=text, input={}))
        kept = getattr(edited, "provided", None)
        if edited != block and kept is not None:
            assert not kept.whole and not {"content", "input", "text", "function"} & set(kept.fields)
