"""The proxy, a door between an ACP client and any ACP agent: it forwards the messages of both, records them, warns and
compacts."""
