"""Tests that take minutes: each shows a promise of the service."""
