"""Agent frameworks' own extension points, filled by the engine. No framework is imported before its adapter is used."""
