"""`initialize` and `authenticate`: the protocol version, the agent's capabilities, and how the user gives it a key."""

from typing import Any

from msgspec import Struct, field

from ullage.acp.client import Client, read_client

# ACP's version. A client that asks for another version gets this one and decides whether to continue.
PROTOCOL_VERSION = 1


class InitializeParams(Struct, frozen=True, kw_only=True, rename="camel"):
    """ACP's `InitializeRequest`. Capabilities of any shape are accepted."""

    protocol_version: int
    client_capabilities: Any = None
    meta: Any = field(name="_meta", default=None)

    @property
    def client(self) -> Client:
        """The client's capabilities."""
        return read_client(self.client_capabilities, self.meta)


class Implementation(Struct, frozen=True, kw_only=True):
    """The agent's name and version, ACP's `Implementation`."""

    name: str
    title: str
    version: str


class PromptCapabilities(Struct, frozen=True, kw_only=True, rename="camel"):
    """The content that a prompt may hold in addition to text and links."""

    image: bool = True
    embedded_context: bool = True


class Yes(Struct, frozen=True):
    """An empty object: ACP's way to say that a capability exists."""


class SessionCapabilities(Struct, frozen=True, kw_only=True):
    """The optional methods that the agent serves. `fork` is not in ACP's stable schema; clients that know it look
    for this name."""

    list: Yes = Yes()
    resume: Yes = Yes()
    close: Yes = Yes()
    delete: Yes = Yes()
    fork: Yes = Yes()


class ExtensionMeta(Struct, frozen=True, kw_only=True):
    """Ullage's own methods, for a client that knows Ullage."""

    version: str
    methods: tuple[str, ...]


class ExtensionMetas(Struct, frozen=True, kw_only=True):
    """The `_meta` object."""

    ullage: ExtensionMeta


class AgentCapabilities(Struct, frozen=True, kw_only=True, rename="camel"):
    """ACP's `AgentCapabilities`."""

    load_session: bool = True
    prompt_capabilities: PromptCapabilities = PromptCapabilities()
    session_capabilities: SessionCapabilities = SessionCapabilities()
    meta: ExtensionMetas = field(name="_meta")


class AuthMethod(Struct, frozen=True, kw_only=True):
    """A way to authenticate."""

    id: str
    name: str
    description: str


class InitializeResult(Struct, frozen=True, kw_only=True, rename="camel"):
    """ACP's `InitializeResponse`."""

    protocol_version: int = PROTOCOL_VERSION
    agent_info: Implementation
    agent_capabilities: AgentCapabilities
    auth_methods: tuple[AuthMethod, ...]


class AuthenticateParams(Struct, frozen=True, kw_only=True, rename="camel"):
    """ACP's `AuthenticateRequest`."""

    method_id: str


KEY_METHOD = AuthMethod(
    id="key",
    name="Key of a model's provider",
    description="Set ANTHROPIC_API_KEY or OPENAI_API_KEY, or a provider of your own, in the agent's environment or "
    "settings, and start it again. Without a key the context commands work all the same.",
)


def introduce(version: str, methods: tuple[str, ...]) -> InitializeResult:
    """Returns the answer to `initialize`. It is the same for every version that a client asks for."""
    return InitializeResult(
        agent_info=Implementation(name="ullage", title="Ullage", version=version),
        agent_capabilities=AgentCapabilities(
            meta=ExtensionMetas(ullage=ExtensionMeta(version=version, methods=methods))
        ),
        auth_methods=(KEY_METHOD,),
    )
