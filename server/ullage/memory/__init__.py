"""The memory tool: what its six commands mean, on values. The files are reached through a port
(`ullage.service.ports`)."""
