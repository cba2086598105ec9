"""What may not be shown or quoted: secrets, private words, texts that pose as orders or markers."""
