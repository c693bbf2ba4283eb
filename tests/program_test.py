#!/usr/bin/env python3
"""The program as a process: exit status, one sentence on stderr, Ctrl-C, a closed stdout.

Usage: program_test.py PATH_OF_SLIPSTREAM MODEL_FOLDER
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM, MODEL = sys.argv[1:3]
LONG = ["generate", "--model", MODEL, "--prompt", "def f(", "--max-tokens", "20000"]


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=120)


class Program(unittest.TestCase):
    def test_answers_with_status_0_and_nothing_but_the_answer_on_stdout(self):
        done = run("generate", "--model", MODEL, "--prompt", "import ", "--max-tokens", "8", "--json")
        self.assertEqual(done.returncode, 0)
        self.assertEqual(json.loads(done.stdout)["completion_tokens"], 8)
        self.assertEqual(done.stderr, "")

    def test_a_mistake_of_the_user_gives_status_2_and_one_line(self):
        done = run("generate", "--model", MODEL, "--prompt", "x", "--draft", "magic")
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stdout, "")
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertTrue(done.stderr.startswith("slipstream: "), done.stderr)

    def test_a_damaged_model_gives_status_1(self):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "config.json").write_text("{")
            Path(folder, "model.safetensors").write_text("")
            self.assertEqual(run("generate", "--model", folder, "--prompt", "x").returncode, 1)

    def test_interrupt_ends_the_answer_and_still_reports(self):
        process = subprocess.Popen([PROGRAM, *LONG], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdout.read(1)  # the answer has begun
        process.send_signal(signal.SIGINT)
        _, report = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        self.assertIn(b"[cancelled]", report)

    def test_a_closed_stdout_ends_the_answer_with_a_sentence(self):
        process = subprocess.Popen([PROGRAM, *LONG], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        process.stdout.read(1)
        process.stdout.close()
        self.assertEqual(process.wait(timeout=60), 1)
        self.assertIn("stdout: cannot be written: Broken pipe", process.stderr.read())
        process.stderr.close()

    def test_a_full_device_is_reported_by_every_command_that_prints(self):
        short = ["--model", MODEL, "--prompt", "x", "--max-tokens", "2"]
        for arguments in (["--help"], ["generate", *short], ["generate", *short, "--json"], ["compare", *short, "--runs", "1"]):
            with open("/dev/full", "w") as full:
                done = subprocess.run([PROGRAM, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, timeout=120)
            self.assertEqual(done.returncode, 1, arguments)
            self.assertIn("stdout: cannot be written", done.stderr, arguments)

    def test_a_model_shortened_while_in_use_ends_with_a_sentence(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(MODEL, folder, dirs_exist_ok=True)
            process = subprocess.Popen([PROGRAM, "generate", "--model", folder, *LONG[3:]], stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, text=True)
            process.stdout.read(1)
            os.truncate(Path(folder, "model-00001-of-00002.safetensors"), 4096)
            _, errors = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 1)
            self.assertIn("shortened while it was in use", errors)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
