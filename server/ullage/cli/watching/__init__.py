"""The live table of `ullage watch`: what it shows, what a key does to it, and how keys are read."""
