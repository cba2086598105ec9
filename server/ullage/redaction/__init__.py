"""Removes from quoted text what must not be shown or obeyed: secrets, private text, imitated orders and markers."""

# What a secret or private text is replaced by.
REDACTED = "[redacted]"
