"""HTTP: from a request to the runtime and back."""
