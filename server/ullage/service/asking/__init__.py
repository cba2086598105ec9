"""One request of a provider, with retries."""
