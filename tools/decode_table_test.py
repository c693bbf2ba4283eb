#!/usr/bin/env python3
"""Tests of tools/decode_table.py on made-up lines."""
import json
import unittest

from decode_table import check, compare, read_cases, summary, table


def line(source, times, depth=0, temperature=0, workload="w"):
    return json.dumps({"bench": "decode", "workload": workload, "temperature": temperature, "source": source, "depth": depth,
                       "decode_ms_of_runs": times, "decode_tokens_per_second": 1000 / sorted(times)[len(times) // 2],
                       "tokens_per_step": 2})


def arms(*lines):
    return read_cases(lines)[0]["w"]


class DecodeTableTest(unittest.TestCase):
    def test_compares_runs_that_stood_side_by_side(self):
        case = compare(arms(line("none", [10, 30, 20]), line("auto", [5, 15, 20])))
        self.assertEqual(2, case["by_none"])

    def test_takes_the_fastest_fixed_source_as_the_best(self):
        case = compare(arms(line("none", [9]), line("mtp", [3], depth=2), line("copy", [4]), line("replay", [1]),
                            line("auto", [6])))
        self.assertEqual(("mtp", 2), (case["best"]["source"], case["best"]["depth"]))
        self.assertEqual(0.5, case["by_best"])

    def test_writes_a_row_for_each_workload(self):
        cases = read_cases([line("none", [10], workload=name) for name in "ba"] + ["\n"] +
                           [line("auto", [5], workload=name) for name in "ba"])
        self.assertEqual("| a | 100 | 100 (none) | 200 | 2.00 | 2.00 | 2.0 |", table(cases[0])[2])
        self.assertEqual(4, len(table(cases[0])))

    def test_names_what_is_missing(self):
        for lines, sentence in (([], "found no line"), ([line("none", [10])], "w at temperature 0: found no line of auto")):
            with self.assertRaisesRegex(SystemExit, sentence):
                check(read_cases(lines))

    def test_counts_the_cases_that_keep_up(self):
        lines = [line("none", [10], workload=name) for name in "ab"]
        lines += [line("auto", [10], workload="a"), line("auto", [12.5], workload="b")]
        self.assertEqual("| 0 | 0.80, 0.90 | 0.80, 0.90 | 1 of 2 |", summary(read_cases(lines))[2])


if __name__ == "__main__":
    unittest.main()
