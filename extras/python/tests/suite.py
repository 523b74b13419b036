"""Runs modules of tests; the last line is `N passed, N failed`.

python suite.py MODULE...
"""

import sys
import unittest


def main() -> int:
    tests = unittest.defaultTestLoader.loadTestsFromNames(sys.argv[1:])
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2).run(tests)
    failed = len({str(test) for test, _ in result.failures + result.errors})
    print(f"{max(result.testsRun - failed, 0)} passed, {failed} failed")
    return 0 if result.testsRun > 0 and failed == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
