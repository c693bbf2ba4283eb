#!/usr/bin/env python3
"""Tests of tools/count_tests.py on files as ctest 3.25 writes them."""
import tempfile
import unittest
from pathlib import Path

from count_tests import count

RUN = '<testcase name="a" status="run"/>'
FAIL = '<testcase name="b" status="fail"><failure message="Failed"/></testcase>'
NOT_BUILT = '<testcase name="c" status="notrun"><skipped message="Unable to find executable"/></testcase>'
SKIPPED = '<testcase name="d" status="notrun"><skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/></testcase>'
DISABLED = '<testcase name="e" status="disabled"><skipped message="Disabled"/></testcase>'


class CountTest(unittest.TestCase):
    def count(self, text):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "tests.xml")
            path.write_text(text, encoding="utf-8")
            return count(path)

    def suite(self, *cases):
        return self.count(f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuite>{"".join(cases)}</testsuite>')

    def test_counts_passed_and_failed(self):
        self.assertEqual((2, 1), self.suite(RUN, FAIL, RUN))

    def test_takes_a_test_that_could_not_run_for_a_failure(self):
        self.assertEqual((1, 1), self.suite(RUN, NOT_BUILT))

    def test_leaves_out_skipped_and_disabled_tests(self):
        self.assertEqual((1, 0), self.suite(RUN, SKIPPED, DISABLED))

    def test_takes_an_empty_run_for_a_failure(self):
        self.assertEqual((0, 1), self.suite())
        self.assertEqual((0, 1), self.suite(SKIPPED))

    def test_takes_a_missing_or_broken_file_for_a_failure(self):
        self.assertEqual((0, 1), count("no/such/file.xml"))
        self.assertEqual((0, 1), self.count("<testsuite><testcase"))


if __name__ == "__main__":
    unittest.main()
