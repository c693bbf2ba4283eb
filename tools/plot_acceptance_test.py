#!/usr/bin/env python3
"""Tests of tools/plot_acceptance.py on made-up lines."""
import json
import unittest
from xml.etree import ElementTree

from plot_acceptance import draw, read_shares

SVG = "{http://www.w3.org/2000/svg}"


def line(source, drafted, accepted, depth=0):
    return json.dumps({"bench": "decode", "source": source, "depth": depth, "drafted": sum(drafted),
                       "drafted_by_position": drafted, "accepted_by_position": accepted})


class PlotAcceptanceTest(unittest.TestCase):
    def test_adds_up_the_lines_of_a_source(self):
        shares = read_shares([line("copy", [40, 30], [30, 15]), line("copy", [60, 30], [60, 15]), "\n"])
        self.assertEqual({"copy": [(1, 0.9), (2, 0.5)]}, shares)

    def test_tells_depths_apart(self):
        shares = read_shares([line("mtp", [100], [80], depth=1), line("mtp", [100, 80], [80, 60], depth=2)])
        self.assertEqual(["mtp 1", "mtp 2"], list(shares))

    def test_leaves_out_places_with_few_drafts_and_sources_without_any(self):
        self.assertEqual({"copy": [(1, 1.0)]}, read_shares([line("copy", [20, 19], [20, 19]), line("none", [0], [0])]))

    def test_draws_one_curve_a_source_with_a_point_for_each_place(self):
        root = ElementTree.fromstring(draw({"a<b": [(1, 1.0), (2, 0.5)], "c": [(1, 0.0)]}))
        curves = [curve.get("points").split() for curve in root.iter(SVG + "polyline")]
        self.assertEqual([2, 1], [len(points) for points in curves])
        self.assertIn("a<b", [text.text for text in root.iter(SVG + "text")])

    def test_draws_greater_shares_higher(self):
        root = ElementTree.fromstring(draw({"a": [(1, 1.0), (2, 0.5), (3, 0.0)]}))
        heights = [float(circle.get("cy")) for circle in root.iter(SVG + "circle")]
        self.assertEqual(sorted(heights), heights)
        self.assertEqual([20.0, 350.0], [heights[0], heights[2]])


if __name__ == "__main__":
    unittest.main()
