"""Times one operation by rows as `slipstream bench` times ours, for the peers that are called from Python.

Every run takes another buffer, together a gibibyte; numbers of rows take turns; each round begins with a pass over
another gibibyte and an unmeasured run.
"""
import argparse
import json
import statistics
import time
from dataclasses import dataclass
from typing import Any, Callable

ROTATED_BYTES = 1 << 30
ROUNDS_MIN = 3


@dataclass
class Operation:
    """What a peer can run: `run(buffer, input)`, where an input stands for a number of rows."""
    format: str
    buffers: list
    inputs: dict[int, Any]
    run: Callable


def n_rotated(n_bytes):
    """Buffers of that size to go round."""
    return min(max(ROTATED_BYTES // n_bytes, 2), 64)


def measure(operation, seconds, read_other_data, clock=time.perf_counter):
    """{rows: [milliseconds]}."""
    turn = 0

    def run(rows):
        nonlocal turn
        buffer, turn = operation.buffers[turn % len(operation.buffers)], turn + 1
        begin = clock()
        operation.run(buffer, operation.inputs[rows])
        return 1e3 * (clock() - begin)

    order = list(operation.inputs)
    samples = {rows: [] for rows in order}
    for rows in order:
        run(rows)  # pages and code are there before the first sample
    begin, n_rounds = clock(), 0
    while n_rounds < ROUNDS_MIN or clock() - begin < seconds:
        read_other_data()
        run(order[0])
        order = order[1:] + order[:1]
        for rows in order:
            samples[rows].append(run(rows))
        n_rounds += 1
    return samples


def print_lines(samples, about):
    """A JSON object for each number of rows."""
    for rows, ms in samples.items():
        print(json.dumps({**about, "rows": rows, "runs": len(ms), "ms_median": statistics.median(ms), "ms_min": min(ms)}))


def numbers(text, separator):
    return [int(part) for part in text.split(separator)]


def parse_options(arguments, doc, kernels):
    """Options common to the peers; `kernels` are {operation: {name: ...}}."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("operation", choices=kernels)
    parser.add_argument("--kernel", required=True, choices=[name for named in kernels.values() for name in named])
    parser.add_argument("--shape", type=lambda text: numbers(text, "x"), help="query heads x KV heads x head dim, or outputs x inputs")
    parser.add_argument("--context", type=int, default=0, help="tokens, those of the rows included")
    parser.add_argument("--rows", type=lambda text: numbers(text, ","), required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--seconds", type=float, default=4)
    options = parser.parse_args(arguments)
    if options.kernel not in kernels[options.operation]:
        parser.error(f"{options.operation} has the kernels {', '.join(kernels[options.operation])}")
    return options


def run_peer(options, kernels, engine, version):
    """Measures the kernel that the options name, in this process, with PyTorch's threads."""
    import torch
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    other_data = torch.ones(ROTATED_BYTES // 8, dtype=torch.int64)
    with torch.inference_mode():
        operation = kernels[options.operation][options.kernel](options)
        samples = measure(operation, options.seconds, other_data.sum)
    print_lines(samples, {
        "bench": options.operation, "engine": engine, "engine_version": version,
        "shape": "x".join(map(str, options.shape)), "context": options.context, "format": operation.format,
        "kernel": options.kernel, "threads": options.threads})
