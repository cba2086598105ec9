"""The third door, between an ACP client and any ACP agent: it forwards, records, warns and compacts."""
