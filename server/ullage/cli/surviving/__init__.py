"""What `ullage survive` reads and carries: cuts of recorded conversations, and the contexts of the arms."""
