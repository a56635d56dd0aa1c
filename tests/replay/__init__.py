"""Replays recorded command lines and requests, and compares the answers."""
