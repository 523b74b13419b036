"""The command glint: `glint ...` and `python -m glint ...` become the program of the wheel."""

from __future__ import annotations

import os
import sys

from ._run import program


def main() -> None:
    os.execv(program(), ["glint", *sys.argv[1:]])


if __name__ == "__main__":
    main()
