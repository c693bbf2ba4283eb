#!/usr/bin/env python3
"""Tests of tools/peers/rounds.py with a clock that is told what time it is."""
import contextlib
import io
import json
import unittest

from rounds import ROUNDS_MIN, Operation, measure, n_rotated, parse_options, print_lines

KERNELS = {"attention": {"sdpa": None}, "product": {"linear": None}}


class Clock:
    def __init__(self):
        self.seconds = 0.0

    def __call__(self):
        return self.seconds


class RoundsTest(unittest.TestCase):
    def setUp(self):
        self.clock = Clock()
        self.calls = []

    def run_once(self, buffer, n_rows):
        self.calls.append((buffer, n_rows))
        self.clock.seconds += n_rows / 1000

    def measure(self, seconds=0.0):
        return measure(Operation("q8", ["a", "b"], {1: 1, 8: 8}, self.run_once), seconds, lambda: self.calls.append("read"), self.clock)

    def test_times_every_number_of_rows_in_every_round(self):
        samples = self.measure()
        self.assertEqual([1, 8], list(samples))
        for rows, ms in samples.items():
            self.assertEqual(ROUNDS_MIN, len(ms))
            self.assertAlmostEqual(rows, ms[0])

    def test_begins_rounds_with_other_data_and_another_number_of_rows(self):
        self.measure()
        rounds = [[call if call == "read" else call[1] for call in self.calls[at:at + 4]] for at in (2, 6)]
        self.assertEqual([["read", 1, 8, 1], ["read", 8, 1, 8]], rounds)

    def test_takes_another_buffer_for_every_run(self):
        self.measure()
        buffers = [call[0] for call in self.calls if call != "read"]
        self.assertEqual(["a", "b"] * (len(buffers) // 2), buffers[:len(buffers) // 2 * 2])

    def test_goes_on_until_the_time_is_over(self):
        self.assertGreater(len(self.measure(seconds=1)[1]), 50)

    def test_rotates_a_gibibyte_of_at_least_two_buffers(self):
        self.assertEqual([64, 4, 2], [n_rotated(n) for n in (1, 1 << 28, 1 << 32)])

    def test_prints_a_line_for_each_number_of_rows(self):
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            print_lines({1: [2.0, 1.0, 3.0]}, {"engine": "torch"})
        self.assertEqual({"engine": "torch", "rows": 1, "runs": 3, "ms_median": 2.0, "ms_min": 1.0}, json.loads(printed.getvalue()))

    def test_reads_the_command_line(self):
        options = parse_options(["product", "--kernel", "linear", "--shape", "8x4", "--rows", "1,8", "--threads", "2"], "Doc.", KERNELS)
        self.assertEqual(([8, 4], [1, 8], 2), (options.shape, options.rows, options.threads))

    def test_refuses_a_kernel_of_another_operation(self):
        with contextlib.redirect_stderr(io.StringIO()) as said, self.assertRaises(SystemExit):
            parse_options(["attention", "--kernel", "linear", "--rows", "1", "--threads", "2"], "Doc.", KERNELS)
        self.assertIn("attention has the kernels sdpa", said.getvalue())


if __name__ == "__main__":
    unittest.main()
