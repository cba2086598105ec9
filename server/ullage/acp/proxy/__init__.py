"""The proxy between a client and any agent: passes everything on, learns, and acts only where it was asked to."""
