"""OpenTelemetry's SDK in memory: what the process gives it."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from ullage.app import telemetry


class Collected:
    """What the SDK was given."""

    def __init__(self) -> None:
        self.exporter, self.reader = InMemorySpanExporter(), InMemoryMetricReader()
        self.tracers, self.meters = TracerProvider(), MeterProvider([self.reader])
        self.tracers.add_span_processor(SimpleSpanProcessor(self.exporter))

    def spans(self, name: str) -> list[Any]:
        return [span for span in self.exporter.get_finished_spans() if span.name == name]

    def points(self) -> dict[str, list[Any]]:
        data = self.reader.get_metrics_data()
        found = (
            metric
            for resource in (data.resource_metrics if data else ())
            for scope in resource.scope_metrics
            for metric in scope.metrics
        )
        return {metric.name: list(metric.data.data_points) for metric in found}

    def everything(self) -> str:
        return "\n".join([span.to_json() for span in self.exporter.get_finished_spans()] + [str(self.points())])


@contextmanager
def collecting(monkeypatch: pytest.MonkeyPatch) -> Generator[Collected]:
    """Gives the block what is collected in it."""
    found = Collected()
    # A process has one provider of each kind for good; tests run in one process.
    monkeypatch.setattr(trace, "get_tracer", found.tracers.get_tracer)
    monkeypatch.setattr(metrics, "get_meter", found.meters.get_meter)
    telemetry.telemetry.cache_clear()
    yield found
    telemetry.telemetry.cache_clear()
    found.tracers.shutdown()
    found.meters.shutdown()
