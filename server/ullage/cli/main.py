import sys
from pathlib import Path

from ullage.app.language_server import serve_language_server


def main():
    return serve_language_server(Path(sys.argv[3]))
