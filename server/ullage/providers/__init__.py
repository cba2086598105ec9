"""Models behind SDKs, servers and scripts. An SDK is imported when its provider is first used."""
