"""What the service needs from outside. Each port has a real twin and an in-memory one for tests."""
