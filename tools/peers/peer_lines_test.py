#!/usr/bin/env python3
"""Tests of tools/peers/peer_lines.py on made-up lines."""
import json
import unittest

from peer_lines import main, parse_output, report, summarise, table


def printed(rows, ms, runs=4):
    """A line as a peer prints it."""
    return {"bench": "product", "engine": "ggml", "engine_version": "1", "kernel": "AMX", "format": "q4_0", "shape": "8x4",
            "context": 0, "threads": 2, "rows": rows, "runs": runs, "ms_median": ms, "ms_min": ms / 2}


def line(rows, ms_of_rounds, engine="ggml", kernel="AMX", **more):
    """A line as summarise gives it."""
    return {**printed(rows, sorted(ms_of_rounds)[len(ms_of_rounds) // 2]), "engine": engine, "kernel": kernel,
            "ms_of_rounds": ms_of_rounds, **more}


class PeerLinesTest(unittest.TestCase):
    def test_gives_our_lines_the_fields_of_all(self):
        ours = {"bench": "attention", "kv_type": "bf16", "context": 2048, "commit": "", "rows": 1}
        [found] = parse_output("\n" + json.dumps(ours) + "\n")
        self.assertEqual(("slipstream", "unknown", "bf16", 2048),
                         (found["engine"], found["engine_version"], found["format"], found["context"]))

    def test_takes_the_lines_of_a_peer_as_they_are(self):
        self.assertEqual([printed(1, 2.0), printed(8, 3.0)],
                         parse_output(json.dumps(printed(1, 2.0)) + "\n" + json.dumps(printed(8, 3.0))))

    def test_takes_the_median_of_the_rounds_and_the_least_of_all(self):
        rounds = [[printed(8, 9.0), printed(1, ms)] for ms in (3.0, 1.0, 2.0)]
        one, eight = summarise(rounds, {"processor": "P", "read_gb_per_second": 20})
        self.assertEqual((1, 2.0, 0.5, 12, [3.0, 1.0, 2.0]),
                         (one["rows"], one["ms_median"], one["ms_min"], one["runs"], one["ms_of_rounds"]))
        self.assertEqual((8, "P", 20), (eight["rows"], eight["processor"], eight["read_gb_per_second"]))

    def test_says_how_many_times_ours_by_the_ratios_of_rounds(self):
        # The second round was slow for all: medians of times would say 4 x.
        rows = table([line(1, [4.0, 40.0, 6.0]), line(1, [2.0, 20.0, 1.0], "slipstream", "amx")])
        self.assertEqual("| slipstream q4_0, amx | 2.00 |", rows[2])
        self.assertEqual("| ggml q4_0, AMX | 6.00 (2.0 x) |", rows[3])

    def test_leaves_cells_empty_that_were_not_measured(self):
        rows = table([line(1, [2.0], "slipstream", "amx"), line(8, [3.0])])
        self.assertEqual(["| | 1 row | 8 rows |", "|---|---|---|", "| slipstream q4_0, amx | 2.00 |  |",
                          "| ggml q4_0, AMX |  | 3.00 |"], rows)

    def test_compares_formats_of_the_same_width(self):
        text = report([line(1, [2.0], "slipstream", "amx", format="q4"), line(1, [4.0], format="q4_K", others_share_max=0.07),
                       line(1, [5.0], format="bf16", read_gb_per_second=21.0)])
        self.assertIn("| ggml q4_K, AMX | 4.00 (2.0 x) |", text)
        self.assertIn("Product 8x4, BF16, milliseconds", text)
        self.assertIn("read at 21.0 GB/s", text)
        self.assertIn("other programs took 7 % of the cores", text)
        self.assertTrue(text.startswith("Versions: ggml 1, slipstream 1."))

    def test_names_what_is_missing(self):
        with self.assertRaisesRegex(SystemExit, "Usage"):
            main([])
        with self.assertRaisesRegex(SystemExit, "found no line"):
            main(["/dev/null"])
        with self.assertRaisesRegex(SystemExit, "No such file"):
            main(["missing.ndjson"])


if __name__ == "__main__":
    unittest.main()
