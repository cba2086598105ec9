"""What a program gives: its own list of messages, which becomes the engine's messages and is given back, and options,
which are refused with the name of the most similar one if they are unknown.

The format is recognised: OpenAI's chat messages, items of its Responses, or Anthropic's messages. A message that the
engine doesn't change is returned as the same object.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import wraps
from inspect import Parameter, signature
from typing import Any, TypeVar, cast

from ullage.formats.provider import Provider, read_messages, write_messages
from ullage.formats.verbatim import is_anthropic, is_chat, other_format
from ullage.model.json_values import as_object
from ullage.model.message import Message


class MessageList:
    """A program's messages as the engine's (`messages`), with their format (`provider`).

    Engine messages, which `read_messages` returns, are accepted, too, and are then returned in that form. Raises
    `InvalidRequest` if one of `given` is not a message.
    """

    def __init__(self, given: Sequence[Any], provider: Provider | None = None) -> None:
        ours = tuple(message for message in given if isinstance(message, Message))
        self._are_ours = bool(ours) and len(ours) == len(given)
        read: list[Any] = [] if self._are_ours else [plain(message) for message in given]
        self.provider = provider or provider_of(read)
        self.messages = ours if self._are_ours else read_messages(self.provider, read)
        self._by_id = {message.id: (message, own) for message, own in zip(self.messages, given, strict=True)}

    def give_back(self, messages: Sequence[Message]) -> list[Any]:
        """Returns the engine's messages as the program's: an unchanged one as the object that the program gave, a
        changed or new one in the same format."""
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


C = TypeVar("C", bound=type)


def check_options(where: str, given: Mapping[str, Any], known: Collection[str]) -> None:
    """Raises `TypeError` for the first name in `given` that is not in `known`. `where` is the name of the class or
    function for the error's text."""
    for name in given:
        if name in known:
            continue
        near = get_close_matches(name, known, 1)
        remedy = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(sorted(known)) or 'none'}"
        raise TypeError(f"{where}() has no option {name!r}; {remedy}")


def checked(made: C) -> C:
    """A class decorator: the class raises the `TypeError` of `check_options` for unknown options, and its `repr` shows
    the options that its objects were made with."""
    init = made.__init__
    known = [
        name
        for name, parameter in signature(init).parameters.items()
        if name != "self" and parameter.kind is not Parameter.VAR_KEYWORD
    ]

    @wraps(init)
    def refusing(self: Any, *args: Any, **options: Any) -> None:
        check_options(made.__name__, options, known)
        init(self, *args, **options)

    def show(self: Any) -> str:
        options = ", ".join(f"{name}={getattr(self, name)!r}" for name in known if name in vars(self))
        return f"{made.__name__}({options})"

    made.__init__ = refusing
    cast("Any", made).__repr__ = show
    return made
