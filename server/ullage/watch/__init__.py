"""Reads the files that coding agents keep on this machine. Nothing is ever written to them or to their folders."""
