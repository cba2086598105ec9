#!/usr/bin/env python3
"""A client of Ullage's Language Server in Python, with the standard library alone.

    python3 ullage_client.py watch                 a line for each agent's conversation on this machine, as it grows
    python3 ullage_client.py compact TRANSCRIPT    imports a transcript, compacts it and shows the summary as it is written

The server is `ullage lsp`, or that of the program whose path is in ULLAGE_SERVER. What is sent is described in
protocol/README.md.
"""

import itertools
import json
import os
import queue
import subprocess
import sys
import threading


class Refused(Exception):
    """The server answered with an error; the text is for the user."""


class Client:
    """One server process. `on` is called in the reading thread with each notification's method and params."""

    def __init__(self, command, on):
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._ids, self._answers, self._on = itertools.count(1), {}, on
        threading.Thread(target=self._read, daemon=True).start()
        self.request(
            "initialize",
            processId=os.getpid(),
            rootUri=None,
            clientInfo={"name": "ullage_client.py"},
            capabilities={"experimental": {"ullage": {}}},
        )
        self._send(method="initialized", params={})

    def request(self, method, **params):
        """Sends a request and returns its result. Raises `Refused`, and `EOFError` if the server has ended."""
        number, answer = next(self._ids), queue.SimpleQueue()
        self._answers[number] = answer
        self._send(id=number, method=method, params=params)
        if (message := answer.get()) is None:
            raise EOFError("the server has ended")
        if "error" in message:
            raise Refused(message["error"]["message"])
        return message["result"]

    def close(self):
        """Ends the server as the protocol wants it, and returns its exit status."""
        self.request("shutdown")
        self._send(method="exit")
        return self._process.wait()

    def _send(self, **message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self._process.stdin.flush()

    def _read(self):
        stdout = self._process.stdout
        while header := stdout.readline():
            length = int(header.split(b":")[1])
            stdout.readline()  # the empty line after the header
            message = json.loads(stdout.read(length))
            if "method" not in message:
                self._answers.pop(message["id"]).put(message)
            elif "id" not in message:
                self._on(message["method"], message["params"])
        for answer in self._answers.values():
            answer.put(None)


def figure(used, window, percent, calls):
    """Returns a status line's text, for example `39 % (78,010 of 200,000), 12-20 calls left`."""
    text = f"{percent} % ({used:,} of {window:,})" if window else f"{used or 0:,} tokens"
    return f"{text}, {calls[0]}-{calls[1]} calls left" if calls else text


def show(method, params):
    """Shows a notification: the rows of followed conversations, or the progress of a compaction."""
    if method == "ullage/following/changed":
        for row in params["rows"]:
            text = figure(row["used"], row["window"], row["percent"], row["callsLeft"])
            print(f"{row['agentShort']} {row['title'][:40]}: {text}", flush=True)
    elif method == "ullage/session/update":
        update = params["update"]
        if update["sessionUpdate"] == "compaction_update":
            print(f"-- compaction {update['status']}", flush=True)
        elif update["sessionUpdate"] == "compaction_summary_chunk":
            print(update["content"]["text"], end="", flush=True)
        elif update["sessionUpdate"] == "usage_update":
            own, calls = update["_meta"]["ullage"], update["_meta"]["ullage"]["callsLeft"]
            low_and_high = calls and (calls["low"], calls["high"])
            print(
                f"[{own['level']}] {figure(update['used'], update['size'], own['percent'], low_and_high)}", flush=True
            )


def main(arguments):
    """Runs the program and returns its exit status."""
    match arguments:
        case ["watch"] | ["compact", _]:
            client = Client([os.environ.get("ULLAGE_SERVER", "ullage"), "lsp"], show)
        case _:
            sys.exit(__doc__)
    try:
        if arguments[0] == "watch":
            client.request("ullage/following/start", folders=[os.getcwd()])
            sys.stdin.read()  # until Ctrl+D
        else:
            imported = client.request("ullage/session/import", path=os.path.abspath(arguments[1]))
            # An agent's own conversation is only read; its fork can be changed.
            session = client.request("ullage/session/fork", sessionId=imported["session"]["sessionId"])
            client.request("ullage/context/compact", sessionId=session["sessionId"])
    except Refused as refused:
        print(refused, file=sys.stderr)
        client.close()
        return 1
    return client.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
