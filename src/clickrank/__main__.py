"""``python -m clickrank`` is the command ``clickrank``."""

from clickrank.cli.app import app

if __name__ == "__main__":
    app()
