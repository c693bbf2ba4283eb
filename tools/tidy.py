#!/usr/bin/env python3
"""What neither compiler nor formatter checks: include directions, sizes, banned calls, tests beside the code, links.

Run as the ctest test `tidy`. Every rule is a table below; every failure is one line, `path:line: what, limit`.
"""
import os
import re
import sys
from pathlib import Path

# Folder of src/ -> folders that it may include besides itself. The longest matching name counts, so a folder that is
# not named follows its parent. Arrows of the architecture, written out in full.
MAY_INCLUDE = {
    "base": [],
    "tensor": ["base"],
    "text": ["base"],
    "sample": ["base"],
    "io": ["tensor", "base"],
    "backend": ["tensor", "io", "sample", "base"],
    "backend/testing": ["backend", "tensor", "io", "sample", "base"],
    "draft": ["backend", "sample", "base"],
    "model": ["backend", "tensor", "io", "base"],
    "backend/cpu": ["backend/cpu/kernels", "model", "backend", "sample", "tensor", "io", "base"],
    "backend/cpu/kernels": ["tensor", "base"],
    "backend/cuda": ["backend/cuda/device", "backend/cuda/kernels", "model", "backend", "sample", "tensor", "io", "base"],
    "backend/cuda/contract": ["backend/cuda", "backend/cuda/device", "backend", "tensor", "io", "base"],
    "backend/cuda/device": ["base"],
    "backend/cuda/emulation": ["backend/cuda/device", "backend/cuda/kernels", "backend/cuda/testing", "base"],
    "backend/cuda/kernels": ["backend/cuda/tile", "backend/cuda/device", "tensor", "base"],
    "backend/cuda/testing": ["backend/cuda/tile", "backend/cuda/device"],
    "backend/cuda/tile": ["backend/cuda/device", "backend/cuda/emulation", "tensor", "base"],
    "engine": ["backend", "draft", "sample", "text", "base"],
    "engine/testing": ["engine", "backend/testing", "backend", "draft", "sample", "text", "base"],
    "app": ["base", "tensor", "text", "sample", "io", "backend", "draft", "model", "backend/cpu", "backend/cuda", "engine"],
}
# What the tests of a folder may include on top: scripted runners, contract suites, fixtures.
TESTS_MAY_ALSO_INCLUDE = {
    "backend": ["backend/testing"],
    "draft": ["backend/testing"],
    "model": ["backend/testing"],
    "backend/cpu": ["backend/testing"],
    "backend/cuda": ["backend/cuda/testing", "backend/testing", "backend/cpu"],
    "backend/cuda/contract": ["backend/testing"],
    "engine": ["engine/testing", "backend/testing"],
    "app": ["engine/testing", "backend/testing"],
}

# Pattern in C++ code, comments and literals excepted -> (folders or files where it is fine, what to do instead); "tests"
# stands for the tests beside the code, too.
BANNED_CODE = {
    r"\b(?:secure_)?getenv\s*\(": (["src/app", "tests/test_device.h"], "read the environment in app/"),
    r"\b(?:v?f?printf|puts)\s*\(|\bstd::c(?:out|err|log)\b":
        (["src/app", "src/base", "tests", "bench", "tools"], "use base/log.h"),
    r"\bcatch\s*\(\s*\.\.\.\s*\)": ([], "name the exception, thread roots catch slip::Error and std::exception"),
}
# Pattern in any text file of ours -> what to do instead.
BANNED_TEXT = {
    r"\b(?:TODO|FIXME|XXX)\b": "finish it or open an issue",
    r"(?<![\w.~-])/(?:work|root|home)/": "no path of one machine",
}
SPELLS_BANNED_TEXT = ["tools/tidy.py", "tools/tidy_test.py"]

LINES_MAX = 600
TEST_LINES_MAX = 1000
FUNCTION_LINES_MAX = 70

# Tests that cover more than the source of their name: inner parts are tested through the face that others use.
TESTED_THROUGH = {
    "tests/program_test.py": ["src/app/chat.cc", "src/app/environment.cc", "src/app/main.cc"],
    "src/app/command_line_test.cc": [
        "src/app/backends.cc", "src/app/command_options.cc", "src/app/drafting.cc",
        "src/app/option_checks.cc", "src/app/sampling_options.cc"],
    "src/app/commands_test.cc": [
        "src/app/answer.cc", "src/app/compare.cc", "src/app/generate.cc", "src/app/logits.cc"],
    "src/app/bench_attention_test.cc": ["src/app/bench_kernels.cc"],
    "src/app/bench_product_test.cc": ["src/app/bench_format.cc"],
    "src/app/bench_decode_test.cc": ["src/app/read_ceiling.cc"],
    "src/app/tuned_cost_test.cc": ["src/app/tune.cc"],
    "src/app/evaluation_test.cc": ["src/app/eval_text.cc", "src/app/token_reader.cc"],
    "src/app/model_tools_test.cc": [
        "src/app/builtin_text.cc", "src/app/convert.cc", "src/app/draft_probe.cc", "src/app/eval.cc",
        "src/app/inspect.cc", "src/app/inspection.cc", "src/app/lanes_json.cc"],
    "src/backend/cpu/cpu_contract_test.cc": [
        "src/backend/cpu/cpu_runner.cc", "src/backend/cpu/sequence_state.cc", "src/model/draft_history.cc",
        "src/model/model_runner.cc", "src/model/stored_state.cc"],
    "src/backend/cpu/kernel_bench_test.cc": ["src/backend/cpu/bench_setup.cc"],
    "src/backend/cpu/kernels_test.cc": [
        "src/backend/cpu/kernels/amx.cc", "src/backend/cpu/kernels/avx2.cc", "src/backend/cpu/kernels/avx512.cc", "src/backend/cpu/kernels/baseline.cc", "src/backend/cpu/kernels/table.cc"],
    "src/backend/cpu/lanes_test.cc": ["src/backend/cpu/attention_check.cc", "src/backend/lane.cc"],
    "src/backend/cpu/ops_attention_test.cc": ["src/backend/cpu/cpu_ops_attention.cc", "src/backend/cpu/rotary.cc"],
    "src/backend/cpu/ops_delta_net_test.cc": ["src/backend/cpu/cpu_ops_delta_net.cc"],
    "src/backend/cpu/ops_experts_test.cc": ["src/backend/cpu/cpu_ops_experts.cc"],
    "src/backend/cpu/ops_project_test.cc": [
        "src/backend/cpu/cpu_ops.cc", "src/backend/cpu/cpu_products.cc", "src/backend/cpu/ops_storage.cc", "src/backend/cpu/reference_ops.cc"],
    "src/backend/cuda/attention_test.cc": [
        "src/backend/cuda/kernels/attention/append.cu", "src/backend/cuda/kernels/attention/plain.cu"],
    "src/backend/cuda/copy_test.cc": ["src/backend/cuda/kernels/copy/copy.cu"],
    "src/backend/cuda/cuda_runner_test.cc": [
        "src/backend/cuda/cuda_ops.cc", "src/backend/cuda/device_states.cc"],
    "src/backend/cuda/delta_net_test.cc": ["src/backend/cuda/kernels/delta_net/delta_net.cu"],
    "src/backend/cuda/device_test.cc": [
        "src/backend/cuda/device/cuda_device.cc", "src/backend/cuda/emulation/emulated_device.cc"],
    "src/backend/cuda/experts_test.cc": [
        "src/backend/cuda/kernels/experts/plain.cu", "src/backend/cuda/kernels/experts/route.cu"],
    "src/backend/cuda/norm_test.cc": ["src/backend/cuda/kernels/norm/norm.cu"],
    "src/backend/cuda/product_test.cc": [
        "src/backend/cuda/kernels/embed/embed.cu", "src/backend/cuda/kernels/product/plain.cu"],
    "src/backend/cuda/tile_test.cc": ["src/backend/cuda/emulation/kernels.cc"],
    "src/draft/copy_source_test.cc": ["src/draft/copy_cursor.cc"],
    "src/engine/engine_test.cc": ["src/engine/chunk_list.cc", "src/engine/request.cc", "src/engine/scheduler.cc"],
    "src/io/mapped_file_test.cc": ["src/io/regular_file.cc"],
    "src/model/families/qwen3_5_test.cc": ["src/model/families/config_parts.cc"],
    "src/model/load_model_test.cc": [
        "src/model/config.cc", "src/model/families/families.cc", "src/model/families/weight_finder.cc"],
    "src/text/chat_template_test.cc": [
        "src/text/jinja_access.cc", "src/text/jinja_ast.cc", "src/text/jinja_evaluator.cc",
        "src/text/jinja_expression_parser.cc",
        "src/text/jinja_expressions.cc", "src/text/jinja_json.cc", "src/text/jinja_json_value.cc",
        "src/text/jinja_lexer.cc", "src/text/jinja_operators.cc", "src/text/jinja_parser.cc",
        "src/text/jinja_show.cc", "src/text/jinja_strings.cc", "src/text/jinja_token_reader.cc",
        "src/text/jinja_value.cc"],
    "src/text/jinja_builtins_test.cc": [
        "src/text/jinja_arithmetic.cc", "src/text/jinja_case.cc", "src/text/jinja_collection_methods.cc",
        "src/text/jinja_format.cc", "src/text/jinja_functions.cc", "src/text/jinja_list_filters.cc",
        "src/text/jinja_loop.cc", "src/text/jinja_operations.cc", "src/text/jinja_search.cc",
        "src/text/jinja_string_filters.cc", "src/text/jinja_string_methods.cc", "src/text/jinja_tests.cc"],
    "src/text/jinja_limits_test.cc": ["src/text/jinja_run.cc"],
    "src/text/tokenizer_test.cc": [
        "src/text/added_tokens.cc", "src/text/bpe.cc", "src/text/byte_symbols.cc", "src/text/json_section.cc",
        "src/text/tokenizer_json.cc", "src/text/tokenizer_steps_json.cc"],
    "tests/parity_test.cc": ["src/model/ops.cc", "src/model/transformer.cc"],
}
TESTED_BY = {source: test for test, sources in TESTED_THROUGH.items() for source in sources}

CPP = {".cc", ".cu", ".h"}
SOURCES = {".cc", ".cu"}
SIZED = CPP | {".py", ".sh", ".cmake"}
TEXT = SIZED | {".md", ".txt", ".json", ".jsonl", ".yml", ".yaml", ""}
TEXT_BYTES_MAX = 1 << 20  # larger files are data
SKIPPED_FOLDERS = {".git", "build", "__pycache__"}
SKIPPED_NAMES = {"LICENSE"}


def files_of(root):
    """Paths of the project relative to `root`, as posix strings, sorted."""
    found = []
    for folder, subfolders, names in os.walk(root):
        subfolders[:] = [name for name in subfolders if name not in SKIPPED_FOLDERS]
        found += [Path(folder, name).relative_to(root).as_posix() for name in names if name not in SKIPPED_NAMES]
    return sorted(found)


def is_test(path):
    return Path(path).stem.endswith("_test") or path.startswith("tests/")


def is_under(path, folders):
    return any(path == folder or path.startswith(folder + "/") for folder in folders)


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


LITERALS = re.compile(
    r'R"(?P<tag>[^\s()\\]{0,16})\(.*?\)(?P=tag)"'   # raw string
    r'|"(?:[^"\\\n]|\\.)*"'                         # string
    r"|(?<![0-9a-fA-F])'(?:[^'\\\n]|\\.)+'"         # character; not the separator of 1'000
    r"|//[^\n]*|/\*.*?\*/", re.DOTALL)


def code_of(text):
    """The C++ code of `text`: comments and literals become blanks, lines and offsets stay."""
    return LITERALS.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def layer_of(path):
    """The name in MAY_INCLUDE that a path below src/ belongs to, or None."""
    return max((layer for layer in MAY_INCLUDE if path.startswith(layer + "/")), key=len, default=None)


def check_includes(root, path, text):
    layer = layer_of(path.removeprefix("src/")) if path.startswith("src/") else None
    if path.startswith("src/") and layer is None:
        yield f"{path}:1: a folder that has no row in MAY_INCLUDE, add one to tools/tidy.py"
    for match in re.finditer(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)"', text, re.MULTILINE):
        target, place = match[1], f"{path}:{line_of(text, match.start(1))}"
        homes = ["src"] if layer else ["src", Path(path).parent]
        if not any((root / home / target).is_file() for home in homes):
            yield f"{place}: \"{target}\" does not exist, paths are relative to src/"
            continue
        if layer is None:
            continue  # bench/ and tests/ cross layers by purpose
        allowed = [layer, *MAY_INCLUDE[layer], *(TESTS_MAY_ALSO_INCLUDE.get(layer, []) if is_test(path) else [])]
        if layer_of(target) not in allowed:
            yield f"{place}: {layer} includes {target}, may include only {', '.join(allowed)}"


def check_size(path, text):
    limit = TEST_LINES_MAX if is_test(path) else LINES_MAX
    n_lines = text.count("\n")
    if n_lines > limit:
        yield f"{path}:{limit + 1}: {n_lines} lines, at most {limit}"


def check_banned(path, text, code):
    if code is not None:
        for pattern, (folders, remedy) in BANNED_CODE.items():
            if is_under(path, folders) or ("tests" in folders and is_test(path)):
                continue
            for match in re.finditer(pattern, code):
                yield f"{path}:{line_of(code, match.start())}: {match[0]}, {remedy}"
    if path in SPELLS_BANNED_TEXT:
        return
    for pattern, remedy in BANNED_TEXT.items():
        for match in re.finditer(pattern, text):
            yield f"{path}:{line_of(text, match.start())}: {match[0]}, {remedy}"


CONTAINER = re.compile(r"\b(?:namespace|class|struct|union|enum|extern)\b[^()]*$")


def functions_of(code):
    """(first line, line count) of each function body outside of other functions, found by counting braces."""
    kinds = []  # of the open braces
    head = 0    # where the text begins that says what the next brace is
    for match in re.finditer(r"[{};#]", code):
        char, at = match[0], match.start()
        if char == "#":  # a directive does not belong to the declaration below it
            head = code.find("\n", at) if all(kind == "container" for kind, _ in kinds) else head
        elif char == "{":
            if all(kind == "container" for kind, _ in kinds):
                said = code[head:at]
                is_initializer = at > 0 and (code[at - 1].isalnum() or code[at - 1] in "_>")  # a_{1}, Type{}
                kind = ("initializer" if is_initializer else "container" if CONTAINER.search(said)
                        else "function" if "(" in said and not said.rstrip().endswith("=") else "table")
                start = head + len(said) - len(said.lstrip())
            else:
                kind, start = "inner", at
            kinds.append((kind, start))
            head = head if kind in ("initializer", "inner") else at + 1
        elif char == "}" and kinds:
            kind, start = kinds.pop()
            if kind == "function":
                yield line_of(code, start), code.count("\n", start, at) + 1
            head = head if kind in ("initializer", "inner") else at + 1
        elif char == ";" and all(kind == "container" for kind, _ in kinds):
            head = at + 1


def check_functions(path, code):
    for line, n_lines in functions_of(code):
        if n_lines > FUNCTION_LINES_MAX:
            yield f"{path}:{line}: function of {n_lines} lines, at most {FUNCTION_LINES_MAX}"


def check_tests(files):
    present = set(files)
    for path in files:
        if not path.startswith("src/") or Path(path).suffix not in SOURCES or path.endswith(("_test.cc", "_fuzz.cc")):
            continue
        if "/testing/" in path:
            continue  # part of the tests
        own = path.removesuffix(Path(path).suffix) + "_test.cc"
        test = TESTED_BY.get(path, own)
        if test not in present:
            yield f"{path}:1: no {test}, every source has a test beside it or a row in TESTED_THROUGH of tools/tidy.py"
        elif path in TESTED_BY and own in present:
            yield f"{path}:1: has its own test, remove its row in TESTED_THROUGH of tools/tidy.py"
    for path in sorted(set(TESTED_BY) - present):
        yield f"{path}:1: does not exist, remove its row in TESTED_THROUGH of tools/tidy.py"


def check_links(root, path, text):
    """Relative links of a Markdown file lead somewhere."""
    prose = re.sub(r"^```.*?^```", lambda match: "\n" * match[0].count("\n"), text, flags=re.DOTALL | re.MULTILINE)
    for match in re.finditer(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", prose):
        if "://" not in match[1] and not (root / path).parent.joinpath(match[1]).exists():
            yield f"{path}:{line_of(prose, match.start())}: link to {match[1]}, which does not exist"


def check_docs_index(root, files):
    pages = [path for path in files if path.startswith("docs/") and path.endswith(".md")]
    if not pages:
        return
    index = root / "docs/README.md"
    links = set(re.findall(r"\]\(([^)#\s]+)", index.read_text(encoding="utf-8"))) if index.is_file() else set()
    for page in pages:
        if page != "docs/README.md" and page.removeprefix("docs/") not in links:
            yield f"{page}:1: not linked from docs/README.md, every page is"


def check_file(root, path):
    text = (root / path).read_text(encoding="utf-8", errors="replace")
    suffix = Path(path).suffix
    code = code_of(text) if suffix in CPP else None
    yield from check_banned(path, text, code)
    if suffix in SIZED:
        yield from check_size(path, text)
    if suffix in CPP:
        yield from check_includes(root, path, text)
    if suffix in SOURCES:
        yield from check_functions(path, code)
    if suffix == ".md" and not path.startswith("examples/prompts/"):  # prompts are data
        yield from check_links(root, path, text)


def check(root):
    """All failures of the project at `root`, one line each."""
    root = Path(root)
    files = files_of(root)
    failures = []
    for path in files:
        file = root / path
        if Path(path).suffix in TEXT and file.is_file() and file.stat().st_size <= TEXT_BYTES_MAX:
            failures += check_file(root, path)
    return [*failures, *check_tests(files), *check_docs_index(root, files)]


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    failures = check(root)
    for failure in failures:
        print(failure)
    print(f"tidy: {len(failures)} failures" if failures else "tidy: all in order")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
