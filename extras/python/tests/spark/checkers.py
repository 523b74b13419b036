"""Runs pyright, which needs Node.js, on a program with all common calls (typed_program.py).

The last line is `N passed, N failed`.
"""

from __future__ import annotations

import os
import subprocess
import sys

PROGRAM = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                       "typed_program.py")


def main() -> int:
    done = subprocess.run([sys.executable, "-m", "pyright", "--pythonpath", sys.executable,
                           PROGRAM], check=False)
    print(f"{int(done.returncode == 0)} passed, {int(done.returncode != 0)} failed")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
