"""`initialize` and `authenticate`: the agent's capabilities, and how the user gives it a key, in version 1's shapes."""

from typing import Any

from msgspec import Struct, field

from ullage.acp.connection import Client, read_client
from ullage.acp.version_2 import VERSION, greeting_as_v1
from ullage.model.json_values import as_object, as_text

PROTOCOL_VERSION = 1


class InitializeParams(Struct, frozen=True, kw_only=True, rename="camel"):
    """ACP's `InitializeRequest`. Capabilities of any shape are accepted: `client_capabilities` is version 1's name,
    `capabilities` that of version 2."""

    protocol_version: int
    client_capabilities: Any = None
    capabilities: Any = None
    client_info: Any = None
    info: Any = None
    meta: Any = field(name="_meta", default=None)

    @property
    def name(self) -> str:
        """The client's name, "" if it has none. `client_info` is version 1's member, `info` that of version 2."""
        return as_text(as_object(self.info or self.client_info).get("name"))

    @property
    def version(self) -> int:
        """The version that is spoken: the highest that the agent has and the client asks for, 1 if there is none. A
        client that speaks neither decides whether to continue."""
        return VERSION if self.protocol_version >= VERSION else PROTOCOL_VERSION

    @property
    def client(self) -> Client:
        """What the client can do, read from its capabilities and its `_meta`."""
        said = self.client_capabilities
        if self.version == VERSION:
            said = greeting_as_v1({"capabilities": self.capabilities})["clientCapabilities"]
        return read_client(said, self.meta)


class Implementation(Struct, frozen=True, kw_only=True):
    """ACP's `Implementation`: the agent's name, the title that users see, and the version."""

    name: str
    title: str
    version: str


class PromptCapabilities(Struct, frozen=True, kw_only=True, rename="camel"):
    """The kinds of content that a prompt to the agent may contain in addition to text and links."""

    image: bool = True
    embedded_context: bool = True


class McpCapabilities(Struct, frozen=True, kw_only=True):
    """The transports by which the agent reaches MCP servers, besides stdio, which every agent of ACP has."""

    http: bool


class Yes(Struct, frozen=True):
    """An empty object, by which ACP says that a capability exists."""


class SessionCapabilities(Struct, frozen=True, kw_only=True, rename="camel"):
    """The optional session methods that the agent serves. `fork` and `title` are not in ACP's stable schema; clients
    that can fork, or set a title, look for these names."""

    list: Yes = Yes()
    resume: Yes = Yes()
    close: Yes = Yes()
    delete: Yes = Yes()
    additional_directories: Yes = Yes()
    fork: Yes = Yes()
    title: Yes = Yes()


class ExtensionMeta(Struct, frozen=True, kw_only=True):
    """Ullage's version and the names of its own methods (`_ullage/…`), for a client that can call them."""

    version: str
    methods: tuple[str, ...]


class ExtensionMetas(Struct, frozen=True, kw_only=True):
    """The `_meta` object of the agent's capabilities."""

    ullage: ExtensionMeta


class AgentCapabilities(Struct, frozen=True, kw_only=True, rename="camel"):
    """ACP's `AgentCapabilities`: what the agent can do."""

    load_session: bool = True
    prompt_capabilities: PromptCapabilities = PromptCapabilities()
    mcp_capabilities: McpCapabilities
    session_capabilities: SessionCapabilities = SessionCapabilities()
    meta: ExtensionMetas = field(name="_meta")


class AuthMethod(Struct, frozen=True, kw_only=True):
    """ACP's `AuthMethodAgent`: a way to authenticate by the request `authenticate`, with the text that the client shows
    for it."""

    id: str
    name: str
    description: str


class TerminalAuthMethod(Struct, frozen=True, kw_only=True, tag_field="type", tag="terminal"):
    """ACP's `AuthMethodTerminal`: a way to authenticate for which the client starts this program again in a terminal,
    with `args` after the arguments that it has. Exit status 0 is success."""

    id: str
    name: str
    description: str
    args: tuple[str, ...]


class InitializeResult(Struct, frozen=True, kw_only=True, rename="camel"):
    """ACP's `InitializeResponse`."""

    protocol_version: int = PROTOCOL_VERSION
    agent_info: Implementation
    agent_capabilities: AgentCapabilities
    auth_methods: tuple[AuthMethod | TerminalAuthMethod, ...]


class AuthenticateParams(Struct, frozen=True, kw_only=True, rename="camel"):
    """ACP's `AuthenticateRequest`. `method_id` is the id of a method that the agent offered."""

    method_id: str


KEY_METHOD = AuthMethod(
    id="key",
    name="Key of a model's provider",
    description="Store a key with `ullage acp --login`, or set ANTHROPIC_API_KEY or OPENAI_API_KEY in the agent's "
    "environment and start it again. Without a key the context commands work all the same.",
)
LOGIN_METHOD = TerminalAuthMethod(
    id="login",
    name="Store a key",
    description="Asks in a terminal for a provider's key and keeps it in the system's keyring.",
    args=("--login",),
)


def introduce(version: str, methods: tuple[str, ...], client: Client, *, uses_servers: bool) -> InitializeResult:
    """Returns the answer to `initialize` in ACP's version 1. `methods` are the names of Ullage's own methods.
    `uses_servers` says that MCP servers can be used. The login in a terminal is offered to a client that can start
    it."""
    return InitializeResult(
        agent_info=Implementation(name="ullage", title="Ullage", version=version),
        agent_capabilities=AgentCapabilities(
            mcp_capabilities=McpCapabilities(http=uses_servers),
            meta=ExtensionMetas(ullage=ExtensionMeta(version=version, methods=methods)),
        ),
        auth_methods=(LOGIN_METHOD, KEY_METHOD) if client.starts_logins else (KEY_METHOD,),
    )
