"""An editor that starts a server of Ullage and leaves it: `python leaving_editor.py DOOR SHARES COMMAND…`.

It greets the server, prints the server's process id, and then does what it reads: `input` closes the server's input,
`output` the reading end of the server's output, `exit` ends. With SHARES `1` another process has its ends of both
pipes, too, as a child has that was started without closing them.
"""

import json
import os
import subprocess
import sys
from typing import Any

_CLIENT: dict[str, Any] = {"name": "leaving", "version": "1"}
_GREETINGS: dict[str, dict[str, Any]] = {
    # Without the id of the client's process, which the Language Server would watch.
    "lsp": {"processId": None, "capabilities": {}, "rootUri": None},
    "acp": {"protocolVersion": 1, "clientCapabilities": {}},
    "mcp": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": _CLIENT},
}


def main(door: str, shares: str, *command: str) -> None:
    (given, to_server), (from_server, written) = os.pipe(), os.pipe()
    server = subprocess.Popen(command, stdin=given, stdout=written)
    os.close(given)
    os.close(written)
    if shares == "1":
        # Waits for the end of the test, which holds the other end of this program's input.
        subprocess.Popen(["cat"], stdout=subprocess.DEVNULL, pass_fds=(to_server, from_server))
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": _GREETINGS[door]}).encode()
    os.write(to_server, b"Content-Length: %d\r\n\r\n%s" % (len(body), body) if door == "lsp" else body + b"\n")
    heard = b""
    while b'"result"' not in heard:
        heard += os.read(from_server, 1 << 16) or sys.exit("the server ended")
    os.write(1, b"%d\n" % server.pid)
    while word := os.read(0, 16):
        match word.strip():
            case b"input":
                os.close(to_server)
            case b"output":
                os.close(from_server)
            case _:
                os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
