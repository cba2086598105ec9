"""A client of a workspace in memory."""

import pytest

from support.workspace import TestClient, build_test_client


@pytest.fixture
def client() -> TestClient:
    """A client whose workspace has no session yet."""
    return build_test_client()
