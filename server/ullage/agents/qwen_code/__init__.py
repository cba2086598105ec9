"""What Ullage knows about Qwen Code."""
