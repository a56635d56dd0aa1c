"""Rankers at work in a process of the service: choosing, settling, folding."""
