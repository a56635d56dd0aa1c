"""What a policy would have earned, from a log that another one made."""
