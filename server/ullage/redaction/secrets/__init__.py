"""How secrets are recognised: by shape, place, name and randomness."""
