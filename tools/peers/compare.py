#!/usr/bin/env python3
"""Measures operations of ours and of other engines on this machine's CPU in turns.

Prints Markdown tables; --lines FILE takes a JSON line for each engine, operation and number of rows. What is missing is
fetched and built into build/peers, or named in a line and left out. docs/benchmarking.md says what is compared.
"""
import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import install
from install import say
from peer_lines import OURS, parse_output, report, summarise

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
UNSUPPORTED = 3    # exit status of a peer that lacks this kernel
QUIET_SHARE = 0.1  # of the cores that other programs may take in a good turn
TURN_SECONDS_MAX = 120


@dataclass
class Contender:
    """One engine's way to do the operation of a table."""
    name: str
    command: list
    rounds: list = field(default_factory=list)  # what parse_output gave
    others: list = field(default_factory=list)  # share of the cores that other programs took in each


def find_slipstream():
    """The program that ./run would use."""
    path = ROOT / "build/release/src/app/slipstream"
    if not path.exists():
        sys.exit(f"{path} is missing: cmake --preset release && cmake --build --preset release, or --slipstream PATH")
    return path


def common(options, rows):
    return ["--rows", rows, "--threads", options.threads, "--seconds", options.seconds]


def attention_table(options, programs):
    """Those that take part in the table of attention."""
    what = ["attention", "--shape", options.shape, "--context", options.context]
    tail = common(options, options.attention_rows)
    found = [Contender(OURS, [programs[OURS], "bench", *what, *tail, "--json"])]
    for layout in ["tokens", "heads"] if programs["ggml"] else []:
        found.append(Contender(f"ggml over {layout}", [programs["ggml"], *what, "--layout", layout, *tail]))
    for engine, kernel in (("torch", "sdpa"), ("torch", "sdpa_packed"), ("vllm", "attn")):
        if programs[engine]:
            found.append(Contender(f"{engine} {kernel}", [*programs[engine], *what, "--kernel", kernel, *tail]))
    return found


# Our format, ggml's formats, kernels of torch and of vLLM.
PRODUCTS = {
    "q4": (["q4_0", "q4_K"], ["int4pack"], ["int4_scaled_mm", "gemm_wna16"]),
    "q8": (["q8_0"], ["int8pack", "int_mm", "qlinear"], ["onednn_scaled_mm"]),
    "bf16": (["bf16"], ["linear", "linear_packed"], ["onednn_mm"]),
}
GGML_BUFFERS = ["CPU", "AMX", "CPU_REPACK"]


def product_table(options, programs, our_format):
    """Those that take part in the table of a product."""
    ggml_formats, *kernels = PRODUCTS[our_format]
    tail = common(options, options.product_rows)
    what = ["product", "--matrix", options.matrix]
    found = [Contender(OURS, [programs[OURS], "bench", *what, "--format", our_format, *tail, "--json"])]
    for name in ggml_formats if programs["ggml"] else []:
        for buffer in GGML_BUFFERS:
            found.append(Contender(f"ggml {name} {buffer}", [programs["ggml"], *what, "--format", name, "--buffer", buffer, *tail]))
    for engine, of_engine in zip(("torch", "vllm"), kernels):
        for kernel in of_engine if programs[engine] else []:
            found.append(Contender(f"{engine} {kernel}", [*programs[engine], "product", "--shape", options.matrix, "--kernel", kernel, *tail]))
    return found


def busy_seconds(stat):
    """Seconds that all cores were busy since the start of the system, from the text of /proc/stat."""
    user, nice, system, _idle, _wait, *rest = map(int, stat.splitlines()[0].split()[1:9])
    return (user + nice + system + sum(rest)) / os.sysconf("SC_CLK_TCK")


def others_busy():
    """The same, without this program and what it ran."""
    own = sum(usage.ru_utime + usage.ru_stime for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))
    return busy_seconds(Path("/proc/stat").read_text(encoding="ascii")) - own


def share_of_others(work):
    """(what `work` gives, the share of the cores that other programs took meanwhile)."""
    busy, begin = others_busy(), time.monotonic()
    result = work()
    return result, max(0.0, (others_busy() - busy) / (time.monotonic() - begin) / (os.cpu_count() or 1))


def wait_until_quiet(seconds):
    """Until other programs leave the cores alone for a second, `seconds` at most."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and share_of_others(lambda: time.sleep(1))[1] > QUIET_SHARE:
        pass


def run_command(command):
    """(exit status, what it printed, its last line of complaint)."""
    try:
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, timeout=TURN_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        return 1, "", f"took more than {TURN_SECONDS_MAX} s"
    except OSError as error:
        return 1, "", str(error)
    complaint = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
    return done.returncode, done.stdout, complaint


def take_turn(contender, options):
    """Runs it, again where other programs disturbed it; keeps the least disturbed. False where it cannot run."""
    best = None
    for _ in range(options.tries):
        wait_until_quiet(options.wait)
        (status, output, complaint), others = share_of_others(lambda: run_command(contender.command))
        if status != 0:
            say(f"{contender.name}: not measured: {complaint}" + ("" if status == UNSUPPORTED else f" (exit status {status})"))
            return False
        if best is None or others < best[1]:
            best = output, others
        if others <= QUIET_SHARE:
            break
    contender.rounds.append(parse_output(best[0]))
    contender.others.append(best[1])
    return True


def measure(contenders, options):
    """All rounds of one table; every round begins with another one. Gives its lines."""
    for number in range(options.rounds):
        time.sleep(options.pause if number > 0 else 0)
        say(f"  round {number + 1} of {options.rounds}")
        for contender in [*contenders[number % len(contenders):], *contenders[:number % len(contenders)]]:
            if not take_turn(contender, options):
                contenders = [other for other in contenders if other is not contender]
        if not any(contender.name == OURS for contender in contenders):
            sys.exit("ours cannot be measured")
    ours = next(contender for contender in contenders if contender.name == OURS)
    about = {"processor": ours.rounds[0][0]["processor"], "threads": options.threads,
             "read_gb_per_second": statistics.median(record["read_gb_per_second"] for records in ours.rounds for record in records)}
    lines = []
    for contender in contenders:
        version = {"engine_version": options.commit} if contender is ours and options.commit else {}
        lines += summarise(contender.rounds, {**about, **version, "others_share_max": round(max(contender.others), 3)})
    return lines


def find_programs(options):
    """{engine: what to run, or None}."""
    folder = Path(options.folder)
    wanted = [name for name in options.peers.split(",") if name]

    def python_of(name, install_it, given):
        python = given or (install.or_say(name, install_it, folder) if name in wanted else None)
        return [python, HERE / f"{name}_ops.py"] if python else None
    return {
        OURS: options.slipstream or find_slipstream(),
        "ggml": options.ggml_ops or (install.or_say("ggml", install.build_ggml, folder) if "ggml" in wanted else None),
        "torch": python_of("torch", install.install_torch, options.torch_python),
        "vllm": python_of("vllm", install.install_vllm, options.vllm_python),
    }


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--lines", help="file for the JSON lines")
    add("--tables", default="attention,q4,q8,bf16", help="of these (default: %(default)s)")
    add("--peers", default="ggml,torch", help="what to fetch where it is missing, of ggml, torch and vllm (default: %(default)s)")
    add("--folder", default=ROOT / "build/peers", help="where peers are built")
    add("--slipstream", help="our program, already built")
    add("--ggml-ops", help="tools/peers/ggml_ops.cc, already built")
    add("--torch-python", help="a Python that has torch")
    add("--vllm-python", help="a Python that has torch and vLLM's CPU build")
    add("--commit", default="", help="of our program, for the lines")
    add("--threads", type=int, default=len(os.sched_getaffinity(0)))
    add("--rounds", type=int, default=5)
    add("--seconds", type=float, default=3, help="of a turn (default: %(default)s)")
    add("--tries", type=int, default=3, help="of a turn that other programs disturb (default: %(default)s)")
    add("--wait", type=float, default=30, help="seconds at most to wait for a quiet machine before a try (default: %(default)s)")
    add("--pause", type=float, default=0, help="seconds between rounds, for others who measure here")
    add("--shape", default="24x4x256", help="of attention (default: %(default)s)")
    add("--context", type=int, default=20480)
    add("--attention-rows", default="1,8,9,13,16,32")
    add("--matrix", default="17408x5120", help="of products (default: %(default)s)")
    add("--product-rows", default="1,4,8,16,32")
    options = parser.parse_args(arguments)
    unknown = set(options.tables.split(",")) - {"attention", *PRODUCTS}
    if unknown:
        parser.error(f"--tables: found {', '.join(sorted(unknown))}, wanted attention, {', '.join(PRODUCTS)}")
    return options


def main(arguments):
    options = parse(arguments)
    programs = find_programs(options)
    lines = []
    for name in options.tables.split(","):
        say(f"{name}:")
        lines += measure(attention_table(options, programs) if name == "attention" else product_table(options, programs, name), options)
        if options.lines:  # after each table, so that a stopped run leaves something
            Path(options.lines).write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    sys.stdout.write(report(lines))


if __name__ == "__main__":
    main(sys.argv[1:])
