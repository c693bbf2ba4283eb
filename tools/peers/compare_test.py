#!/usr/bin/env python3
"""Tests of tools/peers/compare.py and install.py; small shell commands stand for the engines."""
import contextlib
import io
import json
import os
import sys
import tempfile
import unittest
from pathlib import Path

from compare import OURS, Contender, attention_table, busy_seconds, measure, parse, product_table, run_command
from install import NotInstalled, build_ggml, or_say, wanted_torch

PROGRAMS = {OURS: "ours", "ggml": "ggml_ops", "torch": ["python", "torch_ops.py"], "vllm": None}
OURS_LINE = {"bench": "product", "format": "q8", "shape": "8x4", "kernel": "amx", "processor": "P", "rows": 1, "runs": 3,
             "ms_median": 2.0, "ms_min": 1.0, "read_gb_per_second": 20.0}
PEER_LINE = {"bench": "product", "engine": "ggml", "engine_version": "1", "format": "q8_0", "shape": "8x4", "context": 0,
             "kernel": "CPU", "threads": 2, "rows": 1, "runs": 3, "ms_median": 4.0, "ms_min": 3.0}


def prints(line):
    return [sys.executable, "-c", f"print({json.dumps(line)!r})"]


class CompareTest(unittest.TestCase):
    def measure(self, *contenders):
        options = parse(["--rounds", "2", "--tries", "1", "--wait", "0", "--threads", "2", "--commit", "abc"])
        with contextlib.redirect_stderr(io.StringIO()) as said:
            return measure(list(contenders), options), said.getvalue()

    def test_puts_ours_first_and_leaves_out_what_is_not_there(self):
        names = [contender.name for contender in product_table(parse([]), PROGRAMS, "q8")]
        self.assertEqual([OURS, "ggml q8_0 CPU", "ggml q8_0 AMX", "ggml q8_0 CPU_REPACK", "torch int8pack", "torch int_mm",
                          "torch qlinear"], names)

    def test_asks_all_for_the_same_shape_rows_and_threads(self):
        options = parse(["--shape", "8x2x64", "--context", "512", "--attention-rows", "1,4", "--threads", "3", "--seconds", "2"])
        for contender in attention_table(options, PROGRAMS):
            words = " ".join(map(str, contender.command))
            self.assertIn("attention --shape 8x2x64 --context 512", words)
            self.assertIn("--rows 1,4 --threads 3 --seconds 2", words)

    def test_refuses_a_table_that_is_not_there(self):
        with contextlib.redirect_stderr(io.StringIO()) as said, self.assertRaises(SystemExit):
            parse(["--tables", "q5"])
        self.assertIn("found q5, wanted attention, q4, q8, bf16", said.getvalue())

    def test_measures_in_rounds(self):
        lines, _ = self.measure(Contender(OURS, prints(OURS_LINE)), Contender("peer", prints(PEER_LINE)))
        self.assertEqual([(OURS, "abc", [2.0, 2.0]), ("ggml", "1", [4.0, 4.0])],
                         [(line["engine"], line["engine_version"], line["ms_of_rounds"]) for line in lines])
        self.assertEqual(("P", 20.0), (lines[1]["processor"], lines[1]["read_gb_per_second"]))

    def test_goes_on_without_a_peer_that_cannot_run(self):
        lines, said = self.measure(Contender(OURS, prints(OURS_LINE)), Contender("gone", ["/missing/program"]),
                                   Contender("lacks it", ["sh", "-c", "echo AMX does not take bf16 >&2; exit 3"]))
        self.assertEqual([OURS], [line["engine"] for line in lines])
        self.assertIn("gone: not measured: [Errno 2]", said)
        self.assertIn("lacks it: not measured: AMX does not take bf16\n", said)

    def test_ends_where_ours_cannot_run(self):
        with self.assertRaisesRegex(SystemExit, "ours cannot be measured"):
            self.measure(Contender(OURS, ["false"]))

    def test_says_the_last_line_of_a_complaint(self):
        self.assertEqual((1, "", "second"), run_command(["sh", "-c", "printf 'first\\nsecond\\n' >&2; exit 1"]))

    def test_counts_all_but_idle_time_as_busy(self):
        ticks = os.sysconf("SC_CLK_TCK")
        stat = f"cpu  {ticks} {ticks} {ticks} {9 * ticks} {9 * ticks} 0 0 {ticks} 0 0\ncpu0 1 2 3\n"
        self.assertEqual(4, busy_seconds(stat))


class InstallTest(unittest.TestCase):
    def test_says_in_one_line_why_a_peer_is_missing(self):
        def fails(_folder, _log):
            raise NotInstalled("no network")
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()) as said:
            self.assertIsNone(or_say("vllm", fails, Path(folder)))
        self.assertEqual("vllm: not measured: no network\n", said.getvalue())

    def test_leaves_a_program_that_is_there(self):
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder, "ggml/ggml_ops")
            program.parent.mkdir()
            program.touch()
            self.assertEqual(program, or_say("ggml", build_ggml, Path(folder)))

    def test_finds_the_torch_that_a_package_was_built_for(self):
        self.assertEqual("torch==2.13.0", wanted_torch(["numpy", 'torch==2.13.0+cpu; platform_machine == "x86_64"']))
        with self.assertRaises(NotInstalled):
            wanted_torch(["numpy"])


if __name__ == "__main__":
    unittest.main()
