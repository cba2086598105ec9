"""The third door: stands between an ACP client and any ACP agent, records, warns and compacts."""
