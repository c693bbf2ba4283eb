#!/usr/bin/env python3
"""Draws the share of drafts that are accepted, by their place in the draft, as an SVG.

Usage: plot_acceptance.py LINES.ndjson... > acceptance.svg

Reads the lines of `slipstream bench decode`. One curve for each source and depth; runs of all workloads and
temperatures are added up. A place with fewer than DRAFTS_MIN verified drafts is left out: its share says little.
"""
import sys
from collections import defaultdict
from html import escape

from bench_lines import read_lines, records_of

DRAFTS_MIN = 20
WIDTH, HEIGHT = 720, 400
LEFT, RIGHT, TOP, BOTTOM = 60, 140, 20, 50
COLORS = ["#1f6fb2", "#d1582a", "#3a8f4d", "#8a52a1", "#b58a1b", "#4f5b66"]


def read_shares(lines):
    """{label: [(place from 1, share)]} of JSON lines."""
    drafted, accepted = defaultdict(list), defaultdict(list)
    for record in records_of(lines):
        if record["drafted"] == 0:
            continue
        label = record["source"] + (f" {record['depth']}" if record["depth"] else "")
        for sums, key in ((drafted, "drafted_by_position"), (accepted, "accepted_by_position")):
            values = record[key]
            sums[label] += [0] * (len(values) - len(sums[label]))
            for place, value in enumerate(values):
                sums[label][place] += value
    return {label: [(place + 1, accepted[label][place] / n) for place, n in enumerate(counts) if n >= DRAFTS_MIN]
            for label, counts in sorted(drafted.items())}


def draw(shares):
    """The SVG of {label: [(place, share)]}."""
    last = max((place for curve in shares.values() for place, _ in curve), default=1)
    x = lambda place: LEFT + (WIDTH - LEFT - RIGHT) * (place - 1) / max(last - 1, 1)
    y = lambda share: TOP + (HEIGHT - TOP - BOTTOM) * (1 - share)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
             f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>']
    for percent in range(0, 101, 20):
        height = f"{y(percent / 100):.1f}"
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{height}" y2="{height}" stroke="#ddd"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{height}" text-anchor="end" dominant-baseline="middle">{percent} %</text>')
    for place in sorted({1, *range(5, last + 1, 5), last}):
        parts.append(f'<text x="{x(place):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{place}</text>')
    parts.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 10}" text-anchor="middle">place in the draft</text>')
    for i, (label, curve) in enumerate(shares.items()):
        color = COLORS[i % len(COLORS)]
        points = " ".join(f"{x(place):.1f},{y(share):.1f}" for place, share in curve)
        parts.append(f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="2"/>')
        parts += [f'<circle cx="{x(place):.1f}" cy="{y(share):.1f}" r="2.5" fill="{color}"/>' for place, share in curve]
        parts.append(f'<text x="{WIDTH - RIGHT + 12}" y="{TOP + 12 + 18 * i}" fill="{color}">{escape(label)}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def main(paths):
    if not paths:
        sys.exit(__doc__)
    shares = read_shares(read_lines(paths))
    if not shares:
        sys.exit("found no line of bench decode with drafts")
    sys.stdout.write(draw(shares))


if __name__ == "__main__":
    main(sys.argv[1:])
