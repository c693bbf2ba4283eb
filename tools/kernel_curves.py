#!/usr/bin/env python3
"""Shows what single operations cost by the rows of a step, as Markdown tables or as an SVG.

Usage: kernel_curves.py [--svg] LINES.ndjson...

Reads the lines of `slipstream bench attention`, `product`, `delta-net` and `step`. Lines that differ in their rows only are one
curve; curves of one operation and shape are one table. The SVG shows, for every curve, the time over that of its
fewest rows.
"""
import sys
from html import escape

from bench_lines import read_lines, records_of

# Bench -> what tells curves of one shape and device apart.
BENCHES = {
    "attention": lambda record: record["kv_type"],
    "product": lambda record: record["format"],
    "delta-net": lambda record: f"{record['folded']} folded",
    "step": lambda record: record["format"],
}
WIDTH, HEIGHT = 720, 400
LEFT, RIGHT, TOP, BOTTOM = 60, 220, 20, 50
COLORS = ["#1f6fb2", "#d1582a", "#3a8f4d", "#8a52a1", "#b58a1b", "#4f5b66", "#c2185b", "#00838f"]


def title_of(record):
    """What a table is about."""
    what = f"{record['bench']} {record['shape']}"
    return what + (f", {record['context']:,} tokens" if record["bench"] in ("attention", "step") else "")


def label_of(record):
    """What a curve is among those of its table."""
    return f"{BENCHES[record['bench']](record)}, {record['device']}"


def read_curves(lines):
    """{title: {label: [record, by rows]}}."""
    tables = {}
    for record in records_of(lines, BENCHES):
        tables.setdefault(title_of(record), {}).setdefault(label_of(record), []).append(record)
    for curves in tables.values():
        for curve in curves.values():
            curve.sort(key=lambda record: record["rows"])
    return tables


def table(curves):
    """A row for each curve: milliseconds and the share of the floor that they are, for each number of rows."""
    counts = sorted({record["rows"] for curve in curves.values() for record in curve})
    rows = ["| | " + " | ".join(f"{n} row{'s' if n > 1 else ''}" for n in counts) + " | read GB/s | unit GFLOP/s |",
            "|---" * (len(counts) + 3) + "|"]
    for label, curve in curves.items():
        cells = {record["rows"]: f"{record['ms_median']:.2f} ({100 * record['share_of_floor']:.0f} %)" for record in curve}
        middle = curve[len(curve) // 2]
        rows.append(f"| {label} | " + " | ".join(cells.get(n, "") for n in counts) +
                    f" | {middle['read_gb_per_second']:.1f} | {middle['matrix_gflops']:,.0f} |")
    return rows


def name_of(record):
    """A curve in a few words."""
    table_name = record["device"].split("(")[-1].split(",")[0]
    what = f"{record['context'] // 1024}K tokens" if record["bench"] == "attention" else BENCHES[record["bench"]](record)
    return f"{record['bench']} {what}, {table_name}"


def draw(tables):
    """The SVG of all curves."""
    curves = [(name_of(curve[0]), curve) for of_title in tables.values() for curve in of_title.values()]
    ratios = [[(record["rows"], record["ms_median"] / curve[0]["ms_median"]) for record in curve] for _, curve in curves]
    last = max(n for points in ratios for n, _ in points)
    highest = max(2, max(ratio for points in ratios for _, ratio in points))
    x = lambda n: LEFT + (WIDTH - LEFT - RIGHT) * (n - 1) / max(last - 1, 1)
    y = lambda ratio: TOP + (HEIGHT - TOP - BOTTOM) * (1 - ratio / highest)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
             f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>']
    for ratio in range(0, int(highest) + 1, max(1, int(highest) // 6)):
        height = f"{y(ratio):.1f}"
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{height}" y2="{height}" stroke="#ddd"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{height}" text-anchor="end" dominant-baseline="middle">{ratio} x</text>')
    for n in sorted({1, *range(4, last + 1, 4)}):
        parts.append(f'<text x="{x(n):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{n}</text>')
    parts.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 10}" text-anchor="middle">rows of the step</text>')
    for i, ((label, _), points) in enumerate(zip(curves, ratios, strict=True)):
        color = COLORS[i % len(COLORS)]
        line = " ".join(f"{x(n):.1f},{y(ratio):.1f}" for n, ratio in points)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{color}" stroke-width="2"/>')
        parts.append(f'<text x="{WIDTH - RIGHT + 12}" y="{TOP + 12 + 18 * i}" fill="{color}">{escape(label)}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def main(arguments):
    wants_svg = "--svg" in arguments
    paths = [argument for argument in arguments if argument != "--svg"]
    if not paths:
        sys.exit(__doc__)
    tables = read_curves(read_lines(paths))
    if not tables:
        sys.exit("found no line of bench attention, product, delta-net or step")
    if wants_svg:
        sys.stdout.write(draw(tables))
        return
    for title, curves in tables.items():
        print(f"{title[0].upper()}{title[1:]}, milliseconds and share of the floor:\n")
        print("\n".join(table(curves)) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
