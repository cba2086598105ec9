"""The memory tool: what its six commands mean, on values. Files are behind a port (`ullage.service.ports`)."""
