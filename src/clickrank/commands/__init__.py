"""The commands on logs. Each imports what it needs when it runs, so that help comes at once."""
