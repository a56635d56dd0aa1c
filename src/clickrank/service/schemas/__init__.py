"""What the service and its clients send to each other."""
