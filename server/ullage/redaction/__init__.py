"""Removes from quoted text what must not be shown or obeyed: secrets, private text, imitated orders and markers."""
