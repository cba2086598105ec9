"""Runs a command of Ullage in a process that collects spans, as `opentelemetry-instrument` does: `FILE COMMAND…`.

Each span that ends is a line of JSON in the file.
"""

import sys
from pathlib import Path

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor

from ullage.cli.main import main


def _run(file: Path, *arguments: str) -> int:
    with file.open("a", encoding="utf-8") as out:
        exporter = ConsoleSpanExporter(out=out, formatter=lambda span: f"{span.to_json(indent=None)}\n")
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        trace.set_tracer_provider(provider)
        return main(arguments)


if __name__ == "__main__":
    sys.exit(_run(Path(sys.argv[1]), *sys.argv[2:]))
