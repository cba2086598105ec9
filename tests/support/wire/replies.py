"""The replies that a server is given: an answer in parts, and the fault in it."""

from enum import StrEnum

from msgspec import Struct


class Say(Struct, frozen=True):
    """A text."""

    text: str


class Think(Struct, frozen=True):
    """Thinking, with a `signature` if the provider signs it."""

    text: str
    signature: str = "c2lnbmVk"


class Redacted(Struct, frozen=True):
    """Thinking that only the provider can read."""

    data: str


class Refuse(Struct, frozen=True):
    """The model declines."""

    text: str


class Call(Struct, frozen=True):
    """A tool call. `arguments` are as the model writes them, JSON or not. `namespace` is the group that the tool was
    offered in, "" if in none; only the Responses API has groups."""

    id: str
    name: str
    arguments: str
    namespace: str = ""


Part = Say | Think | Redacted | Refuse | Call


class Stop(StrEnum):
    """Why an answer ends. `natural` follows from its parts."""

    NATURAL = "natural"
    MAX_TOKENS = "max_tokens"
    REFUSAL = "refusal"


class Fault(StrEnum):
    """A fault, in groups by the step of the answer at which it happens."""

    # Before the answer.
    HUNG_UP = "hung up"
    NO_HEAD = "no head"
    # Instead of an answer.
    ORPHANED_RESULT = "orphaned tool result"
    TOO_LONG = "context too long"
    UNAUTHORIZED = "unauthorized"
    FORBIDDEN = "forbidden"
    TOO_LARGE = "request too large"
    RATE_LIMITED = "rate limited"
    NO_CREDIT = "no credit"
    SERVER_ERROR = "server error"
    OVERLOADED = "overloaded"
    NOT_JSON = "error page of a proxy"
    # In the middle of the answer.
    RESET = "reset"
    CUT_OFF = "cut off"
    STALL = "stall"
    MALFORMED = "malformed event"
    ERROR_EVENT = "error event"
    # The whole answer is sent, but in a strange way.
    SLOW = "slow bytes"
    EMPTY = "empty answer"


class Reply(Struct, frozen=True, kw_only=True):
    """An answer, or a fault after `after` events of it. `pace` is the seconds before each event."""

    parts: tuple[Part, ...] = ()
    stop: Stop = Stop.NATURAL
    fault: Fault | None = None
    after: int = 0
    pace: float = 0.0
    reasoning_tokens: int = 0


def say(text: str) -> Reply:
    """Returns an answer of one text."""
    return Reply(parts=(Say(text),))


def fail(fault: Fault, after: int = 3) -> Reply:
    """Returns an answer with a fault."""
    return Reply(parts=(Say("Half an answer that nobody will hear the end of."),), fault=fault, after=after)


class Refusal(Struct, frozen=True, kw_only=True):
    """An error answer: the status, Anthropic's type, OpenAI's type and code, the message and extra headers."""

    status: int
    anthropic: str
    openai: str
    message: str
    code: str | None = None
    headers: dict[str, str] = {}


REFUSALS = {
    Fault.ORPHANED_RESULT: Refusal(
        status=400,
        anthropic="invalid_request_error",
        openai="invalid_request_error",
        message="messages.2.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1. "
        "Each `tool_result` block must have a corresponding `tool_use` block in the previous message.",
    ),
    Fault.TOO_LONG: Refusal(
        status=400,
        anthropic="invalid_request_error",
        openai="invalid_request_error",
        code="context_length_exceeded",
        message="prompt is too long: 201337 tokens > 200000 maximum",
    ),
    Fault.UNAUTHORIZED: Refusal(
        status=401,
        anthropic="authentication_error",
        openai="invalid_request_error",
        code="invalid_api_key",
        message="invalid x-api-key",
    ),
    Fault.FORBIDDEN: Refusal(
        status=403,
        anthropic="permission_error",
        openai="invalid_request_error",
        message="Your key does not have permission to use this resource",
    ),
    Fault.TOO_LARGE: Refusal(
        status=413,
        anthropic="request_too_large",
        openai="invalid_request_error",
        message="Request exceeds the maximum size",
    ),
    Fault.RATE_LIMITED: Refusal(
        status=429,
        anthropic="rate_limit_error",
        openai="tokens",
        code="rate_limit_exceeded",
        message="Rate limit reached",
        headers={"retry-after": "0"},
    ),
    Fault.NO_CREDIT: Refusal(
        status=429,
        anthropic="billing_error",
        openai="insufficient_quota",
        code="insufficient_quota",
        message="You exceeded your current quota, please check your plan and billing details.",
    ),
    Fault.SERVER_ERROR: Refusal(
        status=500, anthropic="api_error", openai="server_error", message="Internal server error"
    ),
    Fault.OVERLOADED: Refusal(status=529, anthropic="overloaded_error", openai="server_error", message="Overloaded"),
}
