#!/usr/bin/env python3
"""Counts the results in a JUnit file that ctest wrote, prints "N passed, N failed". No file or no test is one failure."""
import sys
import xml.etree.ElementTree as ElementTree


def count(path):
    """(passed, failed). Tests that skipped themselves and disabled ones are neither; one that could not run has failed."""
    try:
        cases = ElementTree.parse(path).getroot().findall(".//testcase")
    except (OSError, ElementTree.ParseError):
        return 0, 1
    passed = failed = 0
    for case in cases:
        status = case.get("status")
        skipped = case.find("skipped")
        if status == "run":
            passed += 1
        elif status == "disabled" or (skipped is not None and skipped.get("message", "").startswith("SKIP_")):
            continue
        else:
            failed += 1
    return (passed, failed) if passed + failed > 0 else (0, 1)


if __name__ == "__main__":
    print("%d passed, %d failed" % count(sys.argv[1]))
