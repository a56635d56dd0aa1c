"""The command line: one module per group of commands.

Each command imports what it needs when it runs, so that help is printed at once.
"""
