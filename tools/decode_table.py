#!/usr/bin/env python3
"""Compares `auto` with plain decoding and with the best fixed source, as Markdown tables.

Usage: decode_table.py LINES.ndjson...

Reads the lines of `slipstream bench decode`. A ratio of two sources is the median over runs of the ratio of their
times: runs of one number stood side by side, so a change of the machine's speed hits both.
"""
import sys
from statistics import median

from bench_lines import read_lines, records_of

FIXED = ("none", "mtp", "copy")


def read_cases(lines):
    """{temperature: {workload: {(source, depth): record}}} of JSON lines."""
    cases = {}
    for record in records_of(lines):
        arms = cases.setdefault(record["temperature"], {}).setdefault(record["workload"], {})
        arms[record["source"], record["depth"]] = record
    return cases


def check(cases):
    """Ends the program where something is missing."""
    if not cases:
        sys.exit("found no line of bench decode")
    for temperature, workloads in cases.items():
        for workload, arms in workloads.items():
            for source in ("none", "auto"):
                if (source, 0) not in arms:
                    sys.exit(f"{workload} at temperature {temperature:g}: found no line of {source}, wanted one")


def times_as_fast(record, other):
    """How many times as fast as `other` a source was, run by run."""
    return median(b / a for a, b in zip(record["decode_ms_of_runs"], other["decode_ms_of_runs"], strict=True))


def compare(arms):
    """What a row of the table says: auto beside the plain and the best fixed source of one case."""
    auto, none = arms["auto", 0], arms["none", 0]
    fixed = [arm for (source, _), arm in arms.items() if source in FIXED]
    best = max(fixed, key=lambda arm: times_as_fast(arm, none))
    return {"none": none, "best": best, "auto": auto,
            "by_none": times_as_fast(auto, none), "by_best": times_as_fast(auto, best)}


def label(record):
    return record["source"] + (f" {record['depth']}" if record["depth"] else "")


def speed(record):
    return f"{record['decode_tokens_per_second']:.0f}"


def table(workloads):
    """One row for each workload."""
    rows = ["| workload | none | best fixed source | auto | auto / none | auto / best | tokens per step, auto |",
            "|---|---|---|---|---|---|---|"]
    for workload, arms in sorted(workloads.items()):
        case = compare(arms)
        rows.append(f"| {workload} | {speed(case['none'])} | {speed(case['best'])} ({label(case['best'])}) | "
                    f"{speed(case['auto'])} | {case['by_none']:.2f} | {case['by_best']:.2f} | "
                    f"{case['auto']['tokens_per_step']:.1f} |")
    return rows


def summary(cases):
    """One row for each temperature."""
    rows = ["| temperature | auto / none: least, median | auto / best fixed source: least, median | at least 0.97 of it |",
            "|---|---|---|---|"]
    for temperature, workloads in sorted(cases.items()):
        compared = [compare(arms) for arms in workloads.values()]
        by_none, by_best = ([case[key] for case in compared] for key in ("by_none", "by_best"))
        n_reached = sum(ratio >= 0.97 for ratio in by_best)
        rows.append(f"| {temperature:g} | {min(by_none):.2f}, {median(by_none):.2f} | "
                    f"{min(by_best):.2f}, {median(by_best):.2f} | {n_reached} of {len(by_best)} |")
    return rows


def main(paths):
    if not paths:
        sys.exit(__doc__)
    cases = read_cases(read_lines(paths))
    check(cases)
    for temperature, workloads in sorted(cases.items()):
        print(f"Temperature {temperature:g}, tokens per second:\n")
        print("\n".join(table(workloads)) + "\n")
    print("\n".join(summary(cases)))


if __name__ == "__main__":
    main(sys.argv[1:])
