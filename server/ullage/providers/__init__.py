"""Providers of models: SDKs, servers and scripts. A provider's SDK is imported when the provider is first used."""
