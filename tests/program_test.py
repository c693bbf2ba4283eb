#!/usr/bin/env python3
"""The program as a process: exit status, one sentence on stderr, Ctrl-C, a closed stdout.

Usage: program_test.py PATH_OF_SLIPSTREAM MODEL_FOLDER
"""
import json
import math
import os
import random
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

PROGRAM, MODEL = sys.argv[1:3]
LONG = ["generate", "--model", MODEL, "--prompt", "def f(", "--max-tokens", "20000"]


def run(*arguments, **options):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=120, **options)


def wait_for_handler(process):
    """Until the program catches SIGINT; before, a signal would end it like any program."""
    caught = 0
    while not caught >> (signal.SIGINT - 1) & 1:
        status = Path("/proc", str(process.pid), "status").read_text()
        caught = int(status.split("SigCgt:")[1].split()[0], 16)
        time.sleep(0.01)


def bf16(value):
    """The two bytes of a bfloat16 near `value`."""
    return struct.pack("<f", value)[2:]


def write_source(folder):
    """A small llama in BF16 with the embedded model's tokenizer: something to convert."""
    hidden, heads, head_dim, wide, vocab = 256, 4, 64, 512, 8192
    layer = {"input_layernorm": [hidden], "post_attention_layernorm": [hidden], "mlp.gate_proj": [wide, hidden],
             "mlp.up_proj": [wide, hidden], "mlp.down_proj": [hidden, wide]}
    layer |= {f"self_attn.{name}_proj": [hidden, heads * head_dim] for name in "qkvo"}
    shapes = {"model.embed_tokens": [vocab, hidden], "lm_head": [vocab, hidden], "model.norm": [hidden]}
    shapes |= {f"model.layers.{i}.{name}": shape for i in range(2) for name, shape in layer.items()}
    header, data, random_bits = {}, b"", random.Random(1)
    for name, shape in shapes.items():
        size = math.prod(shape)
        values = b"".join(bf16(random_bits.uniform(-0.2, 0.2)) for _ in range(997))  # repeated: fast, and odd enough
        values = bf16(1.0) * size if len(shape) == 1 else (values * (size // 997 + 1))[:2 * size]
        header[name + ".weight"] = {"dtype": "BF16", "shape": shape, "data_offsets": [len(data), len(data) + len(values)]}
        data += values
    text = json.dumps(header).encode()
    Path(folder, "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)
    Path(folder, "config.json").write_text(json.dumps({
        "model_type": "llama", "vocab_size": vocab, "hidden_size": hidden, "intermediate_size": wide,
        "num_hidden_layers": 2, "num_attention_heads": heads, "num_key_value_heads": heads, "head_dim": head_dim,
        "max_position_embeddings": 4096, "rms_norm_eps": 1e-6, "hidden_act": "silu"}))
    shutil.copy(Path(MODEL, "tokenizer.json"), folder)


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

    def test_chat_answers_each_line_and_saves_the_conversation(self):
        with tempfile.TemporaryDirectory() as folder:
            saved = Path(folder, "chat.json")
            arguments = ["chat", "--model", MODEL, "--max-tokens", "4", "--save", str(saved)]
            done = run(*arguments, input="one\ntwo\\\nthree\n/exit\nfour\n")
            self.assertEqual(done.returncode, 0, done.stderr)
            messages = json.loads(saved.read_text())["messages"]
            self.assertEqual([m["content"] for m in messages if m["role"] == "user"], ["one", "two\nthree"])
            self.assertEqual(done.stdout, "".join(m["content"] + "\n" for m in messages if m["role"] == "assistant"))
            self.assertIn("kept from before", done.stderr)
            done = run(*arguments, "--load", str(saved), input="four")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(json.loads(saved.read_text())["messages"][:4], messages)
            self.assertEqual(len(json.loads(saved.read_text())["messages"]), 6)

    def test_chat_refuses_a_place_to_save_before_the_first_answer(self):
        with tempfile.TemporaryDirectory() as folder:
            pipe = os.path.join(folder, "pipe")
            os.mkfifo(pipe)
            for place in (pipe, folder, os.path.join(folder, "no", "file")):
                done = run("chat", "--model", MODEL, "--save", place, input="hi\n")
                self.assertEqual((done.returncode, done.stdout), (2, ""), place)
                self.assertIn(place, done.stderr)
            self.assertEqual(os.listdir(folder), ["pipe"])

    def test_a_damaged_conversation_is_refused_in_one_sentence_that_names_it(self):
        with tempfile.TemporaryDirectory() as folder:
            damaged = Path(folder, "chat.json")
            damaged.write_text('{"messages": [')
            done = run("chat", "--model", MODEL, "--load", str(damaged), input="")
            self.assertEqual(done.returncode, 1)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
            self.assertIn("chat.json", done.stderr)

    def test_chat_goes_on_behind_a_message_that_fails_and_says_so_by_its_status(self):
        done = run("chat", "--model", MODEL, "--context", "64", "--max-tokens", "2",
                   input="word " * 100 + "\n/nonsense\none\n")
        self.assertEqual(done.returncode, 1)
        self.assertIn("--context is 64", done.stderr)
        self.assertIn('found "/nonsense"', done.stderr)
        self.assertIn("[length] 2 tokens", done.stderr)

    def test_an_interrupt_stops_an_answer_of_chat_and_at_the_prompt_chat_itself(self):
        process = subprocess.Popen([PROGRAM, "chat", "--model", MODEL, "--temperature", "1.5", "--seed", "1"],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdin.write(b"Write a long file.\n")
        process.stdin.flush()
        process.stdout.read(1)  # the answer has begun
        process.send_signal(signal.SIGINT)
        self.assertIn(b"[cancelled]", process.stderr.readline())
        time.sleep(0.2)  # until it waits for the next line
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)

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

    def test_standard_streams_that_the_caller_closed_are_not_taken_for_others(self):
        short = ["--model", MODEL, "--max-tokens", "2"]
        chat = run("chat", *short, preexec_fn=lambda: os.close(0), stdin=None)
        self.assertEqual((chat.returncode, chat.stdout), (0, ""))
        done = subprocess.run([PROGRAM, "generate", *short, "--prompt", "x"], stderr=subprocess.PIPE, text=True, timeout=120,
                              preexec_fn=lambda: (os.close(0), os.close(1)))
        self.assertEqual(done.returncode, 1)
        self.assertIn("stdout: cannot be written", done.stderr)

    def test_brackets_in_a_stop_string_mean_themselves(self):
        ask = ["generate", "--model", MODEL, "--prompt", "def f(a, b):", "--max-tokens", "24", "--json"]
        text = json.loads(run(*ask).stdout)["text"]
        part = text[4:8]
        self.assertNotEqual(text, json.loads(run(*ask, "--stop", part).stdout)["text"])
        self.assertEqual(text, json.loads(run(*ask, "--stop", f"[{part}]").stdout)["text"])

    def test_names_that_are_not_utf8_are_shown_as_well_as_may_be(self):
        with tempfile.TemporaryDirectory() as folder:
            prompt = os.path.join(os.fsencode(folder), b"a\xff.txt")
            Path(os.fsdecode(prompt)).write_text("x")
            done = subprocess.run([PROGRAM, "bench", "decode", "--model", MODEL, "--prompts", prompt, "--draft", "none",
                                   "--runs", "1", "--temperature", "0", "--max-tokens", "2"], capture_output=True, timeout=120)
            self.assertEqual(done.returncode, 0, done.stderr)  # the table shows the name as it is
            self.assertEqual(json.loads(done.stdout)["workload"], "a\ufffd")

    def test_tune_ends_at_an_interrupt_and_keeps_nothing(self):
        with tempfile.TemporaryDirectory() as home:
            process = subprocess.Popen([PROGRAM, "tune", "--model", MODEL], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                       env=os.environ | {"XDG_CACHE_HOME": home})
            wait_for_handler(process)
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)
            self.assertEqual(process.returncode, 130)
            self.assertEqual(os.listdir(home), [])

    def test_tune_shows_what_it_measured_where_it_cannot_be_kept(self):
        done = run("tune", "--model", MODEL, env=os.environ | {"XDG_CACHE_HOME": os.path.abspath(PROGRAM)})
        self.assertEqual(done.returncode, 2)
        self.assertIn("ms a step", done.stdout)
        self.assertIn("cannot be created: Not a directory", done.stderr)

    def test_compare_refuses_rules_that_change_the_answer(self):
        done = run("compare", "--model", MODEL, "--prompt", "x", "--accept", "typical")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--accept: found typical", done.stderr)

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

    def test_a_model_of_the_hugging_face_cache_is_found_by_its_name(self):
        with tempfile.TemporaryDirectory() as home:
            entry = Path(home, "hub/models--org--name")
            Path(entry, "refs").mkdir(parents=True)
            Path(entry, "refs/main").write_text("abc123")
            Path(entry, "snapshots").mkdir()
            Path(entry, "snapshots/abc123").symlink_to(Path(MODEL).resolve())
            clean = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "XDG_"))}
            for variables in ({"HF_HUB_CACHE": f"{home}/hub"}, {"HF_HOME": home}):
                done = run("generate", "--model", "org/name", "--prompt", "x", "--max-tokens", "1", env=clean | variables)
                self.assertEqual(done.returncode, 0, done.stderr)
            done = run("inspect", "org/other", env=clean | {"HF_HOME": home})
            self.assertEqual(done.returncode, 2)
            self.assertIn(f"{home}/hub/models--org--other/refs/main", done.stderr)

    def test_inspect_describes_a_model_that_cannot_run_and_says_so_by_its_status(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(MODEL, folder, dirs_exist_ok=True)
            config = json.loads(Path(folder, "config.json").read_text())
            config["model_type"] = "unheard_of"
            Path(folder, "config.json").write_text(json.dumps(config))
            done = run("inspect", folder, "--json")
            self.assertEqual(done.returncode, 1)
            self.assertIn("unheard_of", json.loads(done.stdout)["unsupported"][0])

    def test_a_converted_model_answers(self):
        with tempfile.TemporaryDirectory() as home:
            os.mkdir(source := f"{home}/source")
            write_source(source)
            done = run("convert", "--model", source, "--out", f"{home}/out", "--bits", "8", "--force")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("KL divergence", done.stdout)
            self.assertLess(Path(home, "out/model.safetensors").stat().st_size * 1.8,
                            Path(source, "model.safetensors").stat().st_size)
            self.assertEqual(run("generate", "--model", f"{home}/out", "--prompt", "x", "--max-tokens", "2").returncode, 0)

    def test_an_interrupted_conversion_leaves_nothing(self):
        with tempfile.TemporaryDirectory() as home:
            os.mkdir(source := f"{home}/source")
            write_source(source)
            process = subprocess.Popen([PROGRAM, "convert", "--model", source, "--out", f"{home}/out", "--bits", "4",
                                        "--force"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            while len(os.listdir(home)) < 2 and process.poll() is None:  # until it writes
                time.sleep(0.001)
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)
            self.assertEqual(process.returncode, 130)
            self.assertEqual(os.listdir(home), ["source"])

    def test_a_conversion_onto_a_full_disk_leaves_one_sentence_and_nothing_else(self):
        with tempfile.TemporaryDirectory() as home:
            os.mkdir(source := f"{home}/source")
            write_source(source)
            limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
            done = run("convert", "--model", source, "--out", f"{home}/out", "--bits", "4", preexec_fn=limit)
            self.assertNotEqual(done.returncode, 0)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
            self.assertIn("cannot be written to its end", done.stderr)
            self.assertEqual(os.listdir(home), ["source"])

    def test_reports_onto_a_full_device_are_errors(self):
        for arguments in (["inspect", MODEL], ["inspect", MODEL, "--json"],
                          ["eval", "--model", MODEL, "--file", f"{MODEL}/chat_template.jinja"]):
            with open("/dev/full", "w") as full:
                done = subprocess.run([PROGRAM, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, timeout=120)
            self.assertEqual(done.returncode, 1, arguments)
            self.assertIn("stdout: cannot be written", done.stderr, arguments)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
