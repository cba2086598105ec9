"""An agent that replays another agent's session: `python replay_agent.py TRACE`, with one `[mark, line]` in JSON a
line.

The agent waits for each line of the client (`<`) before it sends the lines that followed it (`>`). If a client's line
differs by a byte from the recorded one, the agent ends with status 9.
"""

import json
import sys
from pathlib import Path


def main() -> int:
    for entry in Path(sys.argv[1]).read_text("utf-8").splitlines():
        mark, line = json.loads(entry)
        data = line.encode()
        if mark == ">":
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
        elif sys.stdin.buffer.readline() != data:
            return 9
    return 0 if sys.stdin.buffer.read() == b"" else 9


if __name__ == "__main__":
    sys.exit(main())
