"""The command glint: `glint ...` and `python -m glint ...` become the program of the wheel."""

from __future__ import annotations

import os
import sys
import sysconfig

from ._run import program


def main() -> None:
    # Where the wheel has the programs that glint submit --on looks for.
    path = os.environ.get("PATH", os.defpath)
    os.environ["PATH"] = path + os.pathsep + sysconfig.get_path("scripts")
    os.execv(program(), ["glint", *sys.argv[1:]])


if __name__ == "__main__":
    main()
