"""The composition root: the one package that names concrete stores and providers."""
