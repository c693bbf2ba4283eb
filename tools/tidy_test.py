#!/usr/bin/env python3
"""Tests of tools/tidy.py: each builds a small project that breaks one rule, or keeps it, and reads the failures."""
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import tidy

SOURCE = "namespace slip {\n\nint twice(int x) { return 2 * x; }\n\n}  // namespace slip\n"


class TidyTest(unittest.TestCase):
    def failures(self, files, tested_by=None):
        """Failures of a project made of `files`, a mapping of paths to texts."""
        with tempfile.TemporaryDirectory(prefix="a name with spaces ") as root:
            for path, text in files.items():
                file = Path(root, path)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, encoding="utf-8")
            with mock.patch.object(tidy, "TESTED_BY", tested_by or {}):
                return tidy.check(root)

    def test_accepts_a_project_that_keeps_the_rules(self):
        self.assertEqual([], self.failures({
            "src/base/ids.h": "#pragma once\n",
            "src/tensor/view.h": '#include "base/ids.h"\n',
            "src/tensor/view.cc": SOURCE,
            "src/tensor/view_test.cc": '#include "tensor/view.h"\n',
            "docs/README.md": "[words](glossary.md)\n",
            "docs/glossary.md": "# Words\n",
        }))

    def test_refuses_an_include_against_the_arrows(self):
        self.assertEqual(
            ['src/base/log.h:2: base includes tensor/view.h, may include only base'],
            self.failures({"src/base/log.h": '#pragma once\n#include "tensor/view.h"\n', "src/tensor/view.h": ""}))

    def test_keeps_kernels_away_from_the_folder_around_them(self):
        failures = self.failures({
            "src/backend/cpu/kernels/product.h": '#include "backend/cpu/ops.h"\n',
            "src/backend/cpu/ops.h": '#include "backend/cpu/kernels/product.h"\n',
        })
        self.assertEqual(
            ["src/backend/cpu/kernels/product.h:1: backend/cpu/kernels includes backend/cpu/ops.h, "
             "may include only backend/cpu/kernels, tensor, base"], failures)

    def test_lets_only_tests_use_the_scripted_runner(self):
        files = {"src/backend/testing/scripted_runner.h": ""}
        include = '#include "backend/testing/scripted_runner.h"\n'
        self.assertEqual([], self.failures({**files, "src/engine/engine_test.cc": include}))
        self.assertEqual(1, len(self.failures({**files, "src/engine/engine.h": include})))

    def test_refuses_an_include_of_nothing(self):
        self.assertEqual(['src/base/log.h:1: "base/gone.h" does not exist, paths are relative to src/'],
                         self.failures({"src/base/log.h": '#include "base/gone.h"\n'}))

    def test_refuses_a_folder_without_a_row(self):
        self.assertEqual(
            ["src/extra/x.h:1: a folder that has no row in MAY_INCLUDE, add one to tools/tidy.py"],
            self.failures({"src/extra/x.h": ""}))

    def test_lets_tests_that_cross_layers_include_anything(self):
        self.assertEqual([], self.failures({"tests/parity_test.cc": '#include "base/log.h"\n', "src/base/log.h": ""}))

    def test_limits_the_length_of_files(self):
        self.assertEqual([], self.failures({"src/base/long.h": "\n" * 600}))
        self.assertEqual(["src/base/long.h:601: 601 lines, at most 600"],
                         self.failures({"src/base/long.h": "\n" * 601}))

    def test_lets_tests_be_longer(self):
        self.assertEqual([], self.failures({"src/base/long_test.cc": "\n" * 1000}))
        self.assertEqual(["src/base/long_test.cc:1001: 1001 lines, at most 1000"],
                         self.failures({"src/base/long_test.cc": "\n" * 1001}))

    def test_refuses_banned_calls_outside_their_folders(self):
        calls = {
            "src/io/a.h": ('getenv("HOME")', "src/app/a.h"),
            "src/io/b.h": ("std::printf(x)", "src/base/b.h"),
            "src/io/c.h": ("std::cerr << x", "bench/c.h"),
            "src/io/d.h": ("puts(x)", "src/io/d_test.cc"),
        }
        for path, (call, fine) in calls.items():
            with self.subTest(call):
                self.assertIn(f"{path}:2: ", "".join(self.failures({path: f"\n{call};\n"})))
                self.assertEqual([], self.failures({fine: f"\n{call};\n"}))

    def test_lets_no_test_read_the_environment(self):
        self.assertEqual(1, len(self.failures({"src/io/a_test.cc": 'getenv("HOME");\n'})))

    def test_refuses_a_handler_of_everything(self):
        self.assertIn("src/app/a.h:1: catch (...), ", "".join(self.failures({"src/app/a.h": "catch (...) {}"})))

    def test_reads_code_and_not_comments_or_literals(self):
        text = '// printf(x)\nauto a = "getenv(";\n/* std::cout\n */\nauto b = R"(catch (...))";\nint c = 1\'000\'000;\n'
        self.assertEqual([], self.failures({"src/io/a.h": text}))

    def test_finds_code_behind_a_digit_separator(self):
        self.assertEqual(1, len(self.failures({"src/io/a.h": "int n = 1'000; puts(\"x\"); char c = 'c';\n"})))

    def test_does_not_take_formatting_into_memory_for_output(self):
        self.assertEqual([], self.failures({"src/io/a.h": "std::snprintf(a, b, c);\n"}))

    def test_refuses_unfinished_words_everywhere(self):
        self.assertEqual(1, len(self.failures({"src/base/a.h": "// TODO: later\n"})))
        self.assertEqual(1, len(self.failures({"CONTRIBUTING.md": "FIXME\n"})))

    def test_refuses_paths_of_one_machine(self):
        self.assertEqual(["run:2: /work/, no path of one machine"], self.failures({"run": "\ncd /work/main\n"}))
        self.assertEqual([], self.failures({"README.md": "https://example.org/home/page\n"}))

    def test_limits_the_length_of_functions(self):
        def source(n_lines):
            return "#include <x>\n\nnamespace slip {\n\nint f(int x) {\n" + "  ++x;\n" * (n_lines - 2) + "}\n\n}\n"
        test = {"src/base/a_test.cc": ""}
        self.assertEqual([], self.failures({**test, "src/base/a.cc": source(70)}))
        self.assertEqual(["src/base/a.cc:5: function of 71 lines, at most 70"],
                         self.failures({**test, "src/base/a.cc": source(71)}))

    def test_measures_members_and_constructors_but_not_tables(self):
        long_body = "  ++x;\n" * 80
        cases = {
            "struct S {\n  void f() {\n" + long_body + "  }\n};\n": [(2, 82)],
            "S::S(int x)\n    : a_{x}, b_(x) {\n" + long_body + "}\n": [(1, 83)],
            "constexpr Row kRows[] = {\n" + "  {f(1)},\n" * 80 + "};\n": [],
            "enum class E {\n" + "  kA,\n" * 80 + "};\nint g() { return 1; }\n": [(83, 1)],
        }
        for text, expected in cases.items():
            with self.subTest(text[:30]):
                self.assertEqual(expected, list(tidy.functions_of(text)))

    def test_wants_a_test_beside_each_source(self):
        self.assertIn("src/base/a.cc:1: no src/base/a_test.cc", "".join(self.failures({"src/base/a.cc": SOURCE})))
        self.assertEqual([], self.failures({"src/base/a_fuzz.cc": SOURCE, "src/backend/testing/a.cc": SOURCE}))

    def test_takes_the_word_of_the_table_only_while_it_is_true(self):
        rows = {"src/base/a.cc": "src/base/b_test.cc"}
        test = {"src/base/b_test.cc": ""}
        self.assertEqual([], self.failures({**test, "src/base/a.cc": SOURCE}, rows))
        self.assertEqual(1, len(self.failures({"src/base/a.cc": SOURCE}, rows)))
        self.assertEqual(1, len(self.failures({**test, "src/base/a.cc": SOURCE, "src/base/a_test.cc": ""}, rows)))
        self.assertEqual(1, len(self.failures(test, rows)))

    def test_wants_every_page_in_the_index(self):
        self.assertEqual(["docs/a.md:1: not linked from docs/README.md, every page is"],
                         self.failures({"docs/README.md": "# Index\n", "docs/a.md": ""}))
        self.assertEqual(1, len(self.failures({"docs/decisions/0001-x.md": ""})))

    def test_follows_relative_links(self):
        self.assertEqual(["README.md:3: link to docs/gone.md, which does not exist"],
                         self.failures({"README.md": "[web](https://x.org/y)\n\n[a](docs/gone.md#part)\n"}))


if __name__ == "__main__":
    unittest.main()
