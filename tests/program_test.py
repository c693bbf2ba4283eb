#!/usr/bin/env python3
"""The program as a process: exit status, one sentence on stderr, Ctrl-C, a closed stdout.

Usage: program_test.py PATH_OF_SLIPSTREAM MODEL_FOLDER
"""
import json
import signal
import subprocess
import sys
import unittest

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

    def test_a_failure_of_the_world_gives_status_1(self):
        self.assertEqual(run("generate", "--model", MODEL, "--prompt", "x", "--context", "100", "--max-tokens", "999").returncode, 1)

    def test_interrupt_ends_the_answer_and_still_reports(self):
        process = subprocess.Popen([PROGRAM, *LONG], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdout.read(1)  # the answer has begun
        process.send_signal(signal.SIGINT)
        _, report = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        self.assertIn(b"[cancelled]", report)

    def test_a_closed_stdout_ends_the_answer(self):
        process = subprocess.Popen([PROGRAM, *LONG], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdout.read(1)
        process.stdout.close()
        self.assertEqual(process.wait(timeout=60), 130)
        process.stderr.close()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
