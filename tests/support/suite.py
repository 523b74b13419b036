"""Loads the tests of DIRECTORY/test_*.py, runs them, and the canary, which must fail.

    tests/support/suite.py DIRECTORY [--glint PATH] [TEST...]      TEST: a part of FILE.CLASS.TEST
"""
import argparse
import os
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def flat(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from flat(test)
        else:
            yield test


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("directory")
    parser.add_argument("--glint", default=os.path.join(ROOT, "build/release/glint"))
    parser.add_argument("tests", nargs="*")
    options = parser.parse_intermixed_args()
    os.environ["GLINT"] = os.path.abspath(options.glint)
    sys.path.insert(0, os.path.abspath(options.directory))
    tests = list(flat(unittest.TestLoader().discover(options.directory)))
    wanted = [t for t in tests if not options.tests or any(name in t.id() for name in options.tests)]
    result = unittest.TextTestRunner(verbosity=2).run(unittest.TestSuite(wanted))
    passed = result.testsRun - len(result.failures) - len(result.errors) - len(result.skipped)
    failed = len(result.failures) + len(result.errors)
    for test, why in result.skipped:
        print(f"skipped: {test.id()}: {why}")
    canary = unittest.TestLoader().loadTestsFromName("canary")
    with open(os.devnull, "w", encoding="utf-8") as quiet:
        caught = unittest.TextTestRunner(stream=quiet).run(canary)
    if len(caught.failures) == canary.countTestCases() > 0:
        passed += 1
    else:
        print("FAILED: the canary passed")
        failed += 1
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
