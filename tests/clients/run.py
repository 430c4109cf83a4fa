"""Runs one suite of client tests: `run.py python|cli|raw|browser [NAME]...`

Ends with the lines that `cargo xtask test` reads: one `LEFT OUT name: why` per skipped test,
then `RESULT passed failed left_out`.
"""

import os
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))


class Result(unittest.TextTestResult):
    def startTest(self, test):
        self.started = time.monotonic()
        self.succeeded = getattr(self, "succeeded", 0)
        unittest.TestResult.startTest(self, test)

    def addSuccess(self, test):
        self.succeeded += 1
        unittest.TestResult.addSuccess(self, test)
        self.say("ok", test)

    def addFailure(self, test, err):
        unittest.TestResult.addFailure(self, test, err)
        self.say("FAILED", test)

    def addError(self, test, err):
        unittest.TestResult.addError(self, test, err)
        self.say("FAILED", test)

    def addSkip(self, test, reason):
        unittest.TestResult.addSkip(self, test, reason)
        self.say("LEFT OUT", test)

    def addSubTest(self, test, subtest, err):
        unittest.TestResult.addSubTest(self, test, subtest, err)
        if err is not None:
            self.say("FAILED", subtest)

    def say(self, verdict, test):
        seconds = time.monotonic() - self.started
        print(f"{verdict:8} {test.id()}  ({seconds:.1f} s)", flush=True)


def main():
    suite, *names = sys.argv[1:]
    sys.path[:0] = [HERE, os.path.join(HERE, suite)]
    tests = unittest.defaultTestLoader
    tests.testNamePatterns = [f"*{name}*" for name in names] or None
    tests = tests.discover(os.path.join(HERE, suite), "test_*.py")
    runner = unittest.TextTestRunner(resultclass=Result, stream=sys.stdout)
    result = runner.run(tests)
    for test, reason in result.skipped:
        print(f"LEFT OUT {test.id()}: {reason}")
    failed = len(result.failures) + len(result.errors)
    succeeded = getattr(result, "succeeded", 0)
    print(f"RESULT {succeeded} {failed} {len(result.skipped)}")
    # No test at all is a mistake in the set-up, not a success.
    return 1 if failed or succeeded + len(result.skipped) == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
