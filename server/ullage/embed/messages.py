"""What a program gives: its own list of messages, which becomes the engine's messages and is given back, and options
and arguments, which are refused with the remedy if they are unknown or have a value that they cannot have.

The format is recognised: OpenAI's chat messages, items of its Responses, or Anthropic's messages. A message that the
engine doesn't change is returned as the same object.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from enum import Enum, StrEnum
from functools import wraps
from inspect import Parameter, iscoroutinefunction, isfunction, signature
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, Unpack, cast, get_args, get_origin, get_type_hints

import msgspec

from ullage.formats.provider import Provider, read_messages, write_messages
from ullage.formats.verbatim import is_anthropic, is_chat, other_format, show
from ullage.model.errors import InvalidRequest
from ullage.model.json_values import MOST_LEVELS, as_object, is_too_deep
from ullage.model.message import Message


class MessageList:
    """A program's messages as the engine's (`messages`), with their format (`provider`).

    Engine messages, which `read_messages` returns, are accepted, too, and are then returned in that form. Raises
    `InvalidRequest` if `given` is no list, or one of it is not a message.
    """

    def __init__(self, given: Sequence[Any], provider: Provider | None = None) -> None:
        given = listed("messages", given)
        ours = tuple(message for message in given if isinstance(message, Message))
        self._are_ours = bool(ours) and len(ours) == len(given)
        read: list[Any] = [] if self._are_ours else plain_messages(given)
        self.provider = provider or provider_of(read)
        self.messages = ours if self._are_ours else read_messages(self.provider, read)
        self._by_id = {message.id: (message, own) for message, own in zip(self.messages, given, strict=True)}

    def ids_at(self, pinned: Collection[int]) -> frozenset[str]:
        """Returns the ids of the messages with these indices. Raises `InvalidRequest` for one that no message has."""
        count = len(self.messages)
        for at in pinned:
            if at not in range(-count, count):
                raise InvalidRequest(f"`pinned` has {show(at)}; give indices of the {count} messages")
        return frozenset(self.messages[at].id for at in pinned)

    def give_back(self, messages: Sequence[Message]) -> list[Any]:
        """Returns messages as the program's: unchanged ones as the given objects, others in the same format."""
        back: list[Any] = []
        for message in messages:
            known, own = self._by_id.get(message.id, (None, None))
            if message == known:
                back.append(own)
            else:
                back.extend([message] if self._are_ours else write_messages(self.provider, message))
        return back


def provider_of(messages: Sequence[Any]) -> Provider:
    """Returns the format of the messages: `openai-responses` if one can only be an item of OpenAI's Responses,
    `anthropic` if they have a mark of Anthropic's format and none of OpenAI's, otherwise `openai`."""
    if any(other_format(Provider.OPENAI, as_object(message)) == Provider.OPENAI_RESPONSES for message in messages):
        return Provider.OPENAI_RESPONSES
    return Provider.ANTHROPIC if is_anthropic(messages) and not is_chat(messages) else Provider.OPENAI


def plain(value: Any) -> Any:
    """Returns a value as plain JSON values: objects of a provider's SDK, also inside lists and dicts, are converted as
    the SDK itself does it before it sends them."""
    dump = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type):
        return dump(mode="json", exclude_unset=True, exclude=getattr(value, "__api_exclude__", None))
    if isinstance(value, Mapping):
        return {name: plain(field) for name, field in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, list | tuple) or (isinstance(value, Iterable) and not isinstance(value, str | bytes)):
        return [plain(item) for item in cast("Iterable[Any]", value)]
    return value


def plain_messages(given: Iterable[Any]) -> list[Any]:
    """Returns messages as plain JSON values. Raises `InvalidRequest` if one is a list, a stream or another iterator,
    which is left as it is, refers to itself, or is nested too deeply to be stored."""
    messages: list[Any] = []
    for number, one in enumerate(given, start=1):
        is_message = isinstance(one, Mapping | str | bytes) or hasattr(one, "model_dump")
        if isinstance(one, Iterable) and not is_message:
            raise InvalidRequest(
                f"message {number} is {show(cast('Any', one))}; give one message after the other, as in `*messages`, "
                "and of a stream the whole answer when it has ended"
            )
        try:
            message = plain(one)
        except RecursionError:
            message = None
        if (message is None and one is not None) or is_too_deep([message]):
            raise InvalidRequest(f"message {number} refers to itself or has more than {MOST_LEVELS} levels; flatten it")
        messages.append(message)
    return messages


def listed(name: str, given: Any) -> list[Any]:
    """Returns a list that a program gave. Raises `InvalidRequest` if it is none."""
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise InvalidRequest(f"`{name}` is {show(given)}; give a list")
    return list(cast("Iterable[Any]", given))


E = TypeVar("E", bound=StrEnum)


def choice(name: str, kinds: type[E], given: Any) -> E:
    """Returns a word as one of an enumeration's. Raises `InvalidRequest` if it is none."""
    try:
        return kinds(given)
    except ValueError:
        raise InvalidRequest(f"`{name}` has {show(given)}; give one of {', '.join(kinds)}") from None


F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=type)


def check_options(where: str, given: Mapping[str, Any], known: Collection[str]) -> None:
    """Raises `TypeError` for a name in `given` that is not in `known`. `where` is the class or function."""
    for name in given:
        if name in known:
            continue
        near = get_close_matches(name, known, 1)
        remedy = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(sorted(known)) or 'none'}"
        raise TypeError(f"{where}() has no option {name!r}; {remedy}")


def checked(made: C) -> C:
    """A class decorator: the class raises the `TypeError` of `check_options` for unknown options, its options and its
    methods' arguments are checked as by `valued`, and its `repr` shows the options that its objects were made with."""
    init = made.__init__
    options = [name for name in _names(init) if name != "self"]
    checking = valued(init)

    @wraps(init)
    def refusing(self: Any, *args: Any, **given: Any) -> None:
        check_options(made.__name__, given, options)
        checking(self, *args, **given)

    def shown(self: Any) -> str:
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in options if name in vars(self))
        return f"{made.__name__}({values})"

    made.__init__ = refusing
    cast("Any", made).__repr__ = shown
    for name, method in list(vars(made).items()):
        if isfunction(method) and not name.startswith("_"):
            setattr(made, name, valued(method))
    return made


def _names(function: Callable[..., Any]) -> list[str]:
    """Returns the names of a function's parameters, with those of the keywords that a `TypedDict` lists."""
    names = [name for name, kind in signature(function).parameters.items() if kind.kind is not Parameter.VAR_KEYWORD]
    listed = (get_args(hint) for hint in get_type_hints(function).values() if get_origin(hint) is Unpack)
    return [*names, *(name for (kind,) in listed for name in kind.__annotations__)]


def valued(function: F) -> F:
    """A decorator: the function raises `InvalidRequest` for an argument that is not of its plain type: a number, text,
    word of an enumeration, path or list. The error has the argument's name and what to give."""
    takes = signature(function)
    if len(takes.parameters) < 2:
        return function
    hints: dict[str, Any] = {}

    def check(args: Sequence[Any], given: Mapping[str, Any]) -> None:
        try:
            bound = takes.bind(*args, **given)
        except TypeError:
            return  # Python's own error names what is missing.
        # Names in a class's hints are known only once its module is loaded.
        hints.update(() if hints else get_type_hints(function, include_extras=True))
        for name, value in bound.arguments.items():
            if name in hints and takes.parameters[name].kind is not Parameter.VAR_POSITIONAL:
                _check_value(name, value, hints[name])

    if iscoroutinefunction(function):

        @wraps(function)
        async def awaited(*args: Any, **given: Any) -> Any:
            check(args, given)
            return await function(*args, **given)

        return cast("F", awaited)

    @wraps(function)
    def called(*args: Any, **given: Any) -> Any:
        check(args, given)
        return function(*args, **given)

    return cast("F", called)


def _check_value(name: str, value: Any, hint: Any) -> None:
    members = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    plain = [get_args(member)[0] if get_origin(member) is Annotated else member for member in members]
    if [get_origin(kind) for kind in plain] in ([Sequence], [Collection]):
        listed(name, value)
        return
    if not all(isinstance(kind, type) and issubclass(kind, int | float | str | Path | NoneType) for kind in plain):
        return
    if isinstance(value, Enum | Path) and isinstance(value, tuple(plain)):
        return
    # A text may be given for an enumeration or a path, which says itself what is wrong with it.
    kinds = tuple(member for member, kind in zip(members, plain, strict=True) if not issubclass(kind, Enum | Path))
    try:
        msgspec.convert(value, cast("Any", Union)[kinds])
    except msgspec.ValidationError as error:
        wanted = str(error).removeprefix("Expected ").partition(", got ")[0].replace("null", "None")
        raise InvalidRequest(f"`{name}` is {show(value)}; give {wanted}") from None
