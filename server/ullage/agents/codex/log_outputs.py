"""The results of commands in a Codex log, as Codex sends them to the model.

The log streams a command's output in pieces, and has its beginning once more at the end, cut for the screen. The model
is sent more of it than the screen shows (`codex-rs/core/src/exec.rs` and `codex.rs`).
"""

import binascii
from itertools import islice

import msgspec

from ullage.formats.parsing import as_count
from ullage.model.json_values import JsonObject, as_object, as_text

# The part of an output that the model is sent: the first lines, up to a number of bytes.
_LINES = 256
_BYTES = 10 * 1024
# Characters of an output that are shown. An output of this length was cut; that of a stopped command may be missing.
_SHOWN = 5 * 1024
# The exit code of a command that Codex or its sandbox stopped.
_STOPPED = -1


class CommandOutputs:
    """Collects the streamed outputs of commands that are running, and gives their results as the model was sent
    them."""

    def __init__(self) -> None:
        self._streams: dict[tuple[str, str], bytearray] = {}

    def stream(self, event: JsonObject) -> None:
        """Adds a chunk of a command's output, which is Base64 or a list of bytes. A chunk that can't be decoded is
        ignored."""
        key = as_text(event.get("call_id")), as_text(event.get("stream"))
        chunk = event.get("chunk")
        try:
            piece = binascii.a2b_base64(chunk) if isinstance(chunk, str) else bytes(chunk or ())
        except (ValueError, TypeError):
            return
        self._streams.setdefault(key, bytearray()).extend(piece)

    def end(self, event: JsonObject, *, failed: bool) -> str:
        """Returns the result of the command that the event ends, as the model was sent it.

        Newer versions log that text (`formatted_output`). For older ones it is a JSON object with the standard output,
        the standard error of a command that failed, or both if the sandbox stopped the command.
        """
        outputs = [self._output(event, name) for name in ("stdout", "stderr")]
        if formatted := as_text(event.get("formatted_output")):
            return formatted
        exit_code = event.get("exit_code", 0)
        output = "".join(outputs) if exit_code == _STOPPED else outputs[failed]
        duration = as_object(event.get("duration"))
        seconds = as_count(duration.get("secs")) + as_count(duration.get("nanos")) / 1e9
        metadata = {"exit_code": exit_code, "duration_seconds": round(seconds, 1)}
        return msgspec.json.encode({"output": output, "metadata": metadata}).decode()

    def _output(self, event: JsonObject, name: str) -> str:
        shown = as_text(event.get(name))
        streamed = _cut(self._streams.pop((as_text(event.get("call_id")), name), bytearray()))
        cut = not shown or len(shown) >= _SHOWN
        return streamed if cut and len(streamed) > len(shown) else shown


def _cut(output: bytearray) -> str:
    lines = b"".join(islice(output.splitlines(keepends=True), _LINES))
    return lines[:_BYTES].decode("utf-8", "replace")
