"""`initialize` and `authenticate`: the version, what the agent can do, and how a person gives it a key."""

from typing import Any

from msgspec import Struct, field

from ullage.acp.client import Client, read_client

# Of the protocol; a client that speaks another is told this one, and decides.
PROTOCOL_VERSION = 1


class InitializeParams(Struct, frozen=True, kw_only=True, rename="camel"):
    """ACP's `InitializeRequest`; what may be malformed without harm is read leniently."""

    protocol_version: int
    client_capabilities: Any = None
    meta: Any = field(name="_meta", default=None)

    @property
    def client(self) -> Client:
        """Who is there."""
        return read_client(self.client_capabilities, self.meta)


class Implementation(Struct, frozen=True, kw_only=True):
    """ACP's name card."""

    name: str
    title: str
    version: str


class PromptCapabilities(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a prompt may hold beside text and links."""

    image: bool = True
    embedded_context: bool = True


class Yes(Struct, frozen=True):
    """ACP's way to say that a capability is there."""


class SessionCapabilities(Struct, frozen=True, kw_only=True):
    """The methods that a client may call beside those that every agent has. `fork` is not in ACP's stable schema; the
    clients that know it ask for it by this name."""

    list: Yes = Yes()
    resume: Yes = Yes()
    close: Yes = Yes()
    delete: Yes = Yes()
    fork: Yes = Yes()


class ExtensionMeta(Struct, frozen=True, kw_only=True):
    """Our own methods, for a client that knows Ullage."""

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
    """The answer to `initialize`, whatever version was asked for: there is one."""
    return InitializeResult(
        agent_info=Implementation(name="ullage", title="Ullage", version=version),
        agent_capabilities=AgentCapabilities(
            meta=ExtensionMetas(ullage=ExtensionMeta(version=version, methods=methods))
        ),
        auth_methods=(KEY_METHOD,),
    )
