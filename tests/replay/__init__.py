"""What the command line and the service answered before, asked again."""
