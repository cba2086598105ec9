"""The composition root: the one place that names concrete stores and providers."""
