#!/usr/bin/env python3
"""Tests of tools/kernel_curves.py on made-up lines."""
import json
import unittest
from xml.etree import ElementTree

from kernel_curves import draw, main, read_curves, table


def line(rows, ms, bench="product", device="cpu (amx, 2 threads)"):
    return json.dumps({"bench": bench, "shape": "8x8", "format": "q8", "kv_type": "bf16", "folded": 3, "context": 2048, "device": device,
                       "rows": rows, "ms_median": ms, "share_of_floor": 1 / ms, "read_gb_per_second": 20,
                       "matrix_gflops": 6000})


class KernelCurvesTest(unittest.TestCase):
    def test_writes_a_row_for_each_curve_and_a_column_for_each_number_of_rows(self):
        tables = read_curves([line(16, 4), line(1, 2), line(1, 5, device="cpu (avx2, 2 threads)")])
        rows = table(tables["product 8x8"])
        self.assertEqual("| | 1 row | 16 rows | read GB/s | unit GFLOP/s |", rows[0])
        self.assertEqual("| q8, cpu (amx, 2 threads) | 2.00 (50 %) | 4.00 (25 %) | 20.0 | 6,000 |", rows[2])
        self.assertEqual("| q8, cpu (avx2, 2 threads) | 5.00 (20 %) |  | 20.0 | 6,000 |", rows[3])

    def test_keeps_operations_apart(self):
        tables = read_curves([line(1, 2), line(1, 2, bench="attention"), '{"bench": "decode"}'])
        self.assertEqual(["product 8x8", "attention 8x8, 2,048 tokens"], list(tables))

    def test_tells_apart_what_one_operation_is_measured_with(self):
        tables = read_curves([line(1, 2, bench="delta-net"), line(1, 2, bench="step")])
        self.assertEqual(["3 folded, cpu (amx, 2 threads)"], list(tables["delta-net 8x8"]))
        self.assertEqual(["q8, cpu (amx, 2 threads)"], list(tables["step 8x8, 2,048 tokens"]))

    def test_draws_a_curve_over_its_first_point(self):
        svg = ElementTree.fromstring(draw(read_curves([line(1, 2), line(5, 4)])))
        curves = svg.findall("{http://www.w3.org/2000/svg}polyline")
        self.assertEqual(["60.0,185.0 500.0,20.0"], [curve.get("points") for curve in curves])

    def test_names_what_is_missing(self):
        with self.assertRaisesRegex(SystemExit, "Usage"):
            main([])
        with self.assertRaisesRegex(SystemExit, "found no line"):
            main(["/dev/null"])


if __name__ == "__main__":
    unittest.main()
