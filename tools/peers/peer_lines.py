#!/usr/bin/env python3
"""Lines about engines that were measured in turns, and Markdown tables of them.

Usage: peer_lines.py LINES.ndjson...

A line is one operation of one engine and one number of rows. `ms_of_rounds` has the median of every round: engines ran side
by side in a round, so how many times ours a peer takes is the median of the rounds' ratios.
"""
import json
import statistics
import sys

OURS = "slipstream"
# Formats that are compared with each other.
CLASSES = {"q4": "4 bits", "q4_0": "4 bits", "q4_K": "4 bits", "int4": "4 bits",
           "q8": "8 bits", "q8_0": "8 bits", "int8": "8 bits", "bf16": "BF16", "f16": "FP16", "f32": "FP32"}
SAME_IN_ALL_ROUNDS = ("bench", "engine", "engine_version", "processor", "threads", "kernel", "format", "shape", "context")


def parse_output(text):
    """The lines that one run of an engine printed, in the fields that all have."""
    found = []
    for line in filter(str.strip, text.splitlines()):
        record = json.loads(line)
        if "engine" not in record:  # one of our own bench
            record |= {"engine": OURS, "engine_version": record.get("commit") or "unknown",
                       "format": record.get("format") or record.get("kv_type"), "context": record.get("context", 0)}
        found.append(record)
    return found


def summarise(rounds, about):
    """Lines out of what an engine printed in each round (lists as of parse_output), and `about`, which holds for all."""
    by_rows = {}
    for records in rounds:
        for record in records:
            by_rows.setdefault(record["rows"], []).append({**record, **about})
    return [{
        **{field: records[0][field] for field in SAME_IN_ALL_ROUNDS}, "rows": rows,
        "runs": sum(record["runs"] for record in records),
        "ms_median": statistics.median(record["ms_median"] for record in records),
        "ms_min": min(record["ms_min"] for record in records),
        "ms_of_rounds": [round(record["ms_median"], 4) for record in records],
        **{field: value for field, value in about.items() if field not in SAME_IN_ALL_ROUNDS},
    } for rows, records in sorted(by_rows.items())]


def title_of(line):
    """What a table is about."""
    if line["bench"] == "attention":
        return f"Attention {line['shape']}, {line['context']:,} tokens"
    return f"Product {line['shape']}, {CLASSES[line['format']]}"


def label_of(line):
    """What a row is among those of its table."""
    return f"{line['engine']} {line['format']}, {line['kernel']}"


def times_ours(line, ours):
    """How many times ours this takes; None where no round has both."""
    pairs = list(zip(line["ms_of_rounds"], ours["ms_of_rounds"])) if ours else []
    return statistics.median(theirs / our for theirs, our in pairs) if pairs else None


def cell(line, ours):
    if line is None:
        return ""
    ratio = None if line["engine"] == OURS else times_ours(line, ours)
    return f"{line['ms_median']:.2f}" + (f" ({ratio:.1f} x)" if ratio else "")


def table(lines):
    """Ours first, then the peers as they come: milliseconds and how many times ours."""
    counts = sorted({line["rows"] for line in lines})
    by_label = {}
    for line in sorted(lines, key=lambda line: line["engine"] != OURS):
        by_label.setdefault(label_of(line), {})[line["rows"]] = line
    ours = next((cells for cells in by_label.values() if next(iter(cells.values()))["engine"] == OURS), {})
    rows = ["| | " + " | ".join(f"{n} row{'s' if n > 1 else ''}" for n in counts) + " |", "|---" * (len(counts) + 1) + "|"]
    for label, cells in by_label.items():
        rows.append(f"| {label} | " + " | ".join(cell(cells.get(n), ours.get(n)) for n in counts) + " |")
    return rows


def conditions(lines):
    """In a sentence: what the machine did during the runs of a table."""
    rates = [line["read_gb_per_second"] for line in lines if line.get("read_gb_per_second")]
    rate = f"{statistics.median(rates):.1f} GB/s" if rates else "an unknown rate"
    others = max(line.get("others_share_max", 0) for line in lines)
    return (f"{lines[0]['threads']} threads; memory was read at {rate}; in the worst turn other programs took "
            f"{100 * others:.0f} % of the cores.")


def report(lines):
    """All tables as Markdown."""
    by_title = {}
    for line in lines:
        by_title.setdefault(title_of(line), []).append(line)
    versions = sorted({f"{line['engine']} {line['engine_version']}" for line in lines})
    parts = ["Versions: " + ", ".join(versions) + "."]
    for title, of_title in by_title.items():
        parts.append(f"{title}, milliseconds (times ours):\n\n" + "\n".join(table(of_title)) + f"\n\n{conditions(of_title)}")
    return "\n\n".join(parts) + "\n"


def main(paths):
    if not paths:
        sys.exit(__doc__)
    lines = []
    for path in paths:
        try:
            with open(path, encoding="utf-8") as file:
                lines += [json.loads(line) for line in file if line.strip()]
        except OSError as error:
            sys.exit(f"{path}: {error.strerror}")
    if not lines:
        sys.exit("found no line")
    sys.stdout.write(report(lines))


if __name__ == "__main__":
    main(sys.argv[1:])
