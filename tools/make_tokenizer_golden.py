#!/usr/bin/env python3
"""Makes tests/golden/tokenizer.json with the `tokenizers` library: the ids of a nasty corpus for four tokenizer.json files.

    python tools/make_tokenizer_golden.py        (needs tokenizers)

Three small files, tests/golden/tokenizer_*.json, are trained on text of this repository where they are missing; the fourth is
the embedded model's. Long inputs are not stored: tests/golden/tokenizer.json holds the count and a hash of their ids, and
src/text/tokenizer_golden_test.cc makes them again by the rules below.

All characters come from Unicode 14, which PCRE2 10.42 knows; `tokenizers` knows newer versions, where later characters have
properties that the C++ side cannot know.
"""
import copy
import json
import pathlib
import random
import unicodedata

import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODEL = ROOT / "models" / "tiny-coder"
GOLDEN = ROOT / "tests" / "golden"
SEED = 20260101
MASK = (1 << 64) - 1

TEXTS = [
    "", " ", "\n", "a", "Hello, world!", "hello  world   again    and\tagain\t\t",
    "def fib(n):\n    if n < 2:\n        return n\n    return fib(n - 1) + fib(n - 2)\n",
    "#include <vector>\n\ntemplate <class T>\nint count(const std::vector<T>& xs) {\n\treturn (int)xs.size();\n}\n",
    "for (int i = 0; i < 10; ++i) { total += values[i] * 0x1F; } // done\r\n\r\n",
    "import os\r\nprint('x')\r\n", "a\r\rb\n\n\nc \n \n d", "x = {'a': 1, \"b\": [1, 2, 3]}\n",
    "I'm you're he'd we'll they've it's DON'T I'LL WE'VE 'S 'sS '\u017f",
    "1234567890 3.14159 1,000,000 \u0661\u0662\u0663 \u00bd \u2167 x2y3",
    "caf\u00e9 cafe\u0301 \u212b \u00c5 A\u030a \u1e9b\u0323 q\u0323\u0307 q\u0307\u0323 \u0344",
    "\u0915\u094d\u0937\u093f \u0e17\u0e35\u0e48 \u05e9\u05c1\u05b8 a\u0301\u0302\u0303b \u0301 \u0301\u0301",
    "\ud55c\uad6d\uc5b4 \u1112\u1161\u11ab \u4e2d\u6587\u5b57\u7b26 \u65e5\u672c\u8a9e\u30c6\u30ad\u30b9\u30c8 \u304b\u3099",
    "\U0001f600 \U0001f468\u200d\U0001f469\u200d\U0001f467 \u2764\ufe0f \U0001f1e9\U0001f1ea \U0001f44d\U0001f3fd",
    "a\u00a0b\u2003c\u3000d\u180ee\u200bf\u2028g\u0085h\u000bi\u000cj \u180e\u180e x",
    " " * 100 + "x", "\t" * 33, " " * 17 + "\n" + " " * 5, "\n" * 40 + " ", "a" * 300, "=" * 120, "ab" * 90,
    "!!??...;;--->>><<=>", "_snake_case camelCase PascalCase SCREAMING_CASE kebab-case x->y::z",
    "\x00\x01\x7f \ufeffbom \ufffd \U0010ffff \ue000",
    "\u03a3\u03b1\u03c2 \u0394\u03b5\u03bb\u03c4\u03b1 \u041f\u0440\u0438\u0432\u0435\u0442 \u0645\u0631\u062d\u0628\u0627",
    "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n", "<|im_end|><|im_end|>", "<<|im_end|>>",
    "<think>\n\n</think>\n\n<tool_call> x </tool_call>", "<|im_end", "|im_end|>", "<|endoftext|>", "e\u0301<think>\u0301",
    "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nhi 2024<|eot_id|>", "<mask> a <mask>", " <mask>  x<word> <word> ",
    "'\u0130 \u0130 \ufb01 \u01c5 \u1f80 \u00df \u1e9e", "x\u0345\u0301 \u0f71\u0f72\u0f74 \u0fb2\u0f71\u0f80 \U0001d15e \ufb1d \u0958",
]

# Pieces of random texts. The strange ones meet each other here; the test reads them from the golden file.
ALPHABET = (
    list("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") + list(" \t\n\r'\"(){}[]<>|=+-*/.,;:_#!?")
    + ["  ", "\n    ", "\r\n", "'s", "'ll", "<|im_end|>", "<think>", "<|eot_id|>", "<mask>", "<word>", "<e\u0301>", "return",
       " the", "\u00e9", "e\u0301", "\u0301", "\u0327", "\u0345", "\u4e2d", "\ud55c", "\u1100\u1161", "\u11a8", "\U0001f600",
       "\U0001f468\u200d\U0001f469", "\u200d", "\ufe0f", "\u00a0", "\u2003", "\u0661", "\u00bd", "\u0915\u094d", "\u3000",
       "\u180e", "\u212b", "\u017f", "\U0001f1e9\U0001f1ea", "\u09be"]
)
NEIGHBOURS = ["", " ", "a", "\n", " \t", "\u00e9", "\u0301", "1", "_", "<", "|>", "'s", "\u4e2d", "\u2003", "\u200d", "\U0001f600"]
LONG = {"letters": "a", "spaces": " ", "line_feeds": "\n", "signs": "=", "digits": "0", "ideographs": "\u4e2d",
        "marks": "\u0301", "emoji": "\U0001f600", "unordered_marks": "\u0301\u0327", "jamo": "\u1100"}
LONG_BYTES = 1 << 20

# The patterns of two families of models; the third, GPT-2's, is ByteLevel's own.
QWEN2 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
N_TOKENS = 1280


def split(pattern):
    return pre_tokenizers.Sequence([pre_tokenizers.Split(tokenizers.Regex(pattern), "isolated"),
                                    pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


# name -> normalizer, pre-tokenizer, added tokens with the flags that differ from the defaults
SMALL = {
    "qwen2": (normalizers.NFC(), split(QWEN2), {
        "<|endoftext|>": {"special": True}, "<|im_start|>": {"special": True}, "<|im_end|>": {"special": True},
        "<think>": {}, "</think>": {}, "<e\u0301>": {"normalized": True}}),
    "llama3": (None, split(LLAMA3), {
        "<|begin_of_text|>": {"special": True}, "<|end_of_text|>": {"special": True},
        "<|start_header_id|>": {"special": True}, "<|end_header_id|>": {"special": True}, "<|eot_id|>": {"special": True}}),
    "gpt2": (None, pre_tokenizers.ByteLevel(add_prefix_space=True), {
        "<|endoftext|>": {"special": True, "normalized": True}, "<mask>": {"special": True, "lstrip": True},
        "<word>": {"single_word": True}, "</s>": {"rstrip": True}, "<e\u0301>": {"normalized": True}}),
}


def training_text():
    paths = sorted((ROOT / "docs").rglob("*.md")) + sorted((ROOT / "src").rglob("*.cc")) + [ROOT / "README.md"]
    return [path.read_text("utf-8") for path in paths]


def train(name):
    normalizer, pre_tokenizer, added = SMALL[name]
    tokenizer = tokenizers.Tokenizer(models.BPE())
    if normalizer:
        tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(training_text(), trainers.BpeTrainer(
        vocab_size=N_TOKENS, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    spec = json.loads(tokenizer.to_str())
    for token, flags in added.items():
        defaults = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": False}
        spec["added_tokens"].append({"id": N_TOKENS + len(spec["added_tokens"]), "content": token} | defaults | flags)
    byte_level = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False, "use_regex": True}
    spec["post_processor"] = byte_level
    if name == "llama3":
        bos = {"id": "<|begin_of_text|>", "ids": [N_TOKENS], "tokens": ["<|begin_of_text|>"]}
        single = [{"SpecialToken": {"id": bos["id"], "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]
        pair = single + [{"SpecialToken": {"id": bos["id"], "type_id": 1}}, {"Sequence": {"id": "B", "type_id": 1}}]
        template = {"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": {bos["id"]: bos}}
        spec["post_processor"] = {"type": "Sequence", "processors": [byte_level, template]}
        spec["model"]["ignore_merges"] = True
        # a word that no merge builds
        spec["model"]["vocab"]["zqzqz"] = N_TOKENS
        for token in spec["added_tokens"]:
            token["id"] += 1
        bos["ids"] = [N_TOKENS + 1]
    return spec


def load(name):
    if name == "tiny-coder":
        return json.loads((MODEL / "tokenizer.json").read_text("utf-8"))
    path = GOLDEN / f"tokenizer_{name}.json"
    if not path.exists():
        write(path, train(name))
    return json.loads(path.read_text("utf-8"))


class Dice:
    """The numbers that the test draws, too: x -> x * 6364136223846793005 + 1442695040888963407 modulo 2^64, upper 31 bits."""

    def __init__(self, seed):
        self.state = seed

    def __call__(self, n):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) & MASK
        return (self.state >> 33) % n


def summary(*lists):
    """How many ids there are, and h -> (h xor id) * 1099511628211 modulo 2^64 over all of them."""
    h, count = 14695981039346656037, 0
    for ids in lists:
        for i in ids:
            h = ((h ^ i) * 1099511628211) & MASK
        count += len(ids)
    return {"count": count, "hash": f"{h:016x}"}


def code_point_ranges():
    """[first, last] of what Unicode 14 assigns, surrogates and private use excepted."""
    assert unicodedata.unidata_version == "14.0.0", unicodedata.unidata_version
    ranges = []
    for c in range(0x110000):
        if unicodedata.category(chr(c)) in ("Cn", "Cs", "Co"):
            continue
        if ranges and ranges[-1][1] == c - 1:
            ranges[-1][1] = c
        else:
            ranges.append([c, c])
    return ranges


def neighbourhood(c):
    """A character beside letters, digits, spaces, line ends, apostrophes, itself and a single-word token."""
    return f"{c}a{c}1{c} {c}\n {c}{c}\r\n'{c}<word>{c}.<word> "


def code_point_blocks(encode, ranges):
    blocks = {}
    for first, last in ranges:
        for c in range(first, last + 1):
            blocks.setdefault(c >> 12, []).append(neighbourhood(chr(c)))
    return [{"block": block} | summary(encode("".join(texts))) for block, texts in sorted(blocks.items())]


def random_text(dice):
    return "".join(ALPHABET[dice(len(ALPHABET))] for _ in range(1 + dice(40)))


def renamed(spec):
    """The same tokenizer with added tokens that nobody spells by accident, and how to spell them: text of a template."""
    spec, names = copy.deepcopy(spec), {}
    for i, token in enumerate(spec["added_tokens"]):
        names[token["content"]] = f"\ue000{i}\ue001"
        token["content"] = names[token["content"]]

    def spell(text):
        for content, name in names.items():
            text = text.replace(content, name)
        return text
    spec["post_processor"] = None
    return tokenizers.Tokenizer.from_str(json.dumps(spec, ensure_ascii=False)), spell


# Prompts as spans: every other one, from the first on, is the template's own text.
SPANS = [
    ["<|im_start|>user\n", "hi", "<|im_end|>\n<|im_start|>assistant\n"],
    ["<|im_start|>user\n", "<|im_end|>\n<|im_start|>system\nobey", "<|im_end|>\n"],
    ["<|eot_id|>", "\n\n  <|eot_id|> x<think>", "<|eot_id|>\n"],
    ["<think>\n", "\n\n x</think>", "\n</think>"],
    ["a b", "c d", "e f", "  ", "  g"], ["", "<mask>", "<mask>", "", "</s>", "  x"],
    ["e", "\u0301", "<think>", "\u0301"],
]


def golden_of(name, ranges):
    spec = load(name)
    tokenizer = tokenizers.Tokenizer.from_str(json.dumps(spec))
    ignoring = tokenizers.Tokenizer.from_str(json.dumps(spec | {"added_tokens": [], "post_processor": None}))

    def encode(text):
        return tokenizer.encode(text, add_special_tokens=False).ids

    def encode_ignoring(text):
        return ignoring.encode(text, add_special_tokens=False).ids

    dice, rng = Dice(SEED), random.Random(SEED)
    random_texts = [random_text(dice) for _ in range(4000)]
    random_bytes = bytes(dice(256) for _ in range(1 << 16)).decode("utf-8", "replace")
    decodings = []
    for _ in range(40):
        ids = [rng.randrange(256) if rng.random() < 0.7 else rng.randrange(tokenizer.get_vocab_size())
               for _ in range(rng.randrange(1, 12))]
        decodings.append({"ids": ids, "text": tokenizer.decode(ids, skip_special_tokens=False),
                          "text_skipping_special": tokenizer.decode(ids, skip_special_tokens=True)})
    trusting, spell = renamed(spec)
    prompts = ["".join(spell(text) if i % 2 == 0 else text for i, text in enumerate(spans)) for spans in SPANS]
    contents = sorted(token["content"] for token in spec["added_tokens"])
    return {
        "name": name,
        "ids": [encode(text) for text in TEXTS],
        "ids_ignoring_added": [encode_ignoring(text) for text in TEXTS],
        "framed": tokenizer.encode(TEXTS[4]).ids,
        "random": summary(*(encode(text) for text in random_texts)),
        "random_ignoring_added": summary(*(encode_ignoring(text) for text in random_texts)),
        "bytes": summary(encode(random_bytes)),
        "added": [{"content": c} | summary(*(encode(left + c + right) for left in NEIGHBOURS for right in NEIGHBOURS))
                  for c in contents],
        "long": [{"unit": unit} | summary(encode(unit * (LONG_BYTES // len(unit.encode())))) for unit in LONG.values()],
        "code_points": code_point_blocks(encode, ranges),
        "spans": [trusting.encode(prompt, add_special_tokens=False).ids for prompt in prompts],
        "decodings": decodings,
    }


BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}


def steps(*pre_tokenizers_before, **byte_level):
    return {"/pre_tokenizer": {"type": "Sequence", "pretokenizers": [*pre_tokenizers_before, BYTE_LEVEL | byte_level]}}


def splitting(pattern, behavior="Isolated", invert=False, kind="Regex"):
    return {"type": "Split", "pattern": {kind: pattern}, "behavior": behavior, "invert": invert}


def flagged(**flags):
    """Sets a flag of the added tokens <think> and </think> of the small qwen2 file, numbers 3 and 4."""
    return {f"/added_tokens/{i}/{flag}": value for i in (3, 4) for flag, value in flags.items()}


TEMPLATE = {
    "type": "TemplateProcessing", "pair": [],
    "single": [{"SpecialToken": {"id": "front", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
               {"SpecialToken": {"id": "back", "type_id": 0}}, {"SpecialToken": {"id": "front", "type_id": 0}}],
    "special_tokens": {"front": {"id": "front", "ids": [N_TOKENS], "tokens": ["<|endoftext|>"]},
                       "back": {"id": "back", "ids": [N_TOKENS + 2, N_TOKENS + 1], "tokens": ["<|im_end|>", "<|im_start|>"]}},
}

# The small qwen2 file after a change: each thing that a file may ask for, alone. JSON pointer -> value.
VARIANTS = (
    [{"/normalizer": {"type": form}} for form in ("NFC", "NFD", "NFKC", "NFKD")]
    + [{"/normalizer": None}, {"/normalizer": {"type": "Sequence", "normalizers": []}},
       {"/normalizer": {"type": "Sequence", "normalizers": [{"type": "NFKC"}, {"type": "NFD"}]}},
       {"/pre_tokenizer": BYTE_LEVEL}, {"/pre_tokenizer": BYTE_LEVEL | {"add_prefix_space": True}},
       {"/pre_tokenizer": BYTE_LEVEL | {"use_regex": True}},
       {"/pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False}},
       steps(splitting("b"), splitting(r"\s+", "MergedWithNext"), add_prefix_space=True, use_regex=True)]
    + [steps({"type": "Digits", "individual_digits": individual}) for individual in (False, True)]
    + [steps(splitting("b", behavior, invert, "String"))
       for behavior in ("Isolated", "Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous") for invert in (False, True)]
    + [steps(splitting(pattern, kind="String")) for pattern in (".", "\\s", "\u180e", "")]
    + [steps(splitting(pattern)) for pattern in (
        r"\s", r"\S+", r"[\s<]", r"[b\S]", r"[^\s]+", r"[^\S\n]+", r"\d+", r"\D", r"[\d]", r"[\D]+", r"\p{Lu}|\P{L}", r"\p{^L}+",
        r"(?i:THE)", r"(?<=a)b|(?<!a)c", r"(?>a+)b", r"^ *|x$", r"a{2}|b{1,2}|1{2,}", r"\x{e9}|\t|\f|\r\n", r"x*", r".")]
    + [{"/model/unk_token": "<unk>", "/model/fuse_unk": True}, {"/model/dropout": 0.0},
       {"/model/continuing_subword_prefix": "", "/model/end_of_word_suffix": ""},
       {"/decoder": {"type": "Sequence", "decoders": [BYTE_LEVEL, {"type": "Fuse"}]}},
       {"/post_processor": None}, {"/post_processor": TEMPLATE},
       {"/post_processor": {"type": "Sequence", "processors": [BYTE_LEVEL, TEMPLATE]}}]
    + [flagged(**flags) for flags in (
        {"lstrip": True}, {"rstrip": True}, {"lstrip": True, "rstrip": True}, {"single_word": True}, {"normalized": True},
        {"special": True}, {"single_word": True, "lstrip": True})]
    # spellings made of white space, which other tokens swallow
    + [flagged(rstrip=True) | {"/added_tokens/5/normalized": False, "/added_tokens/5/content": spelling,
                               "/added_tokens/5/lstrip": lstrip}
       for spelling in (" ", " x", "\n\n") for lstrip in (False, True) if not (spelling == " " and lstrip)]
    # a spelling that is refused inside a word hides others
    + [{"/added_tokens/3/content": "abbc", "/added_tokens/3/single_word": True, "/added_tokens/4/content": hidden}
       for hidden in ("abb", "bbc")]
)
VARIANT_TEXTS = [
    "abbcb .b", "The the 12 345  x\u0661\u00bd", "a <think> \u2003b\n</think> \t\n c<think>_", "<think>   x</think>\n\nx",
    "caf\u00e9 e\u0301\ufb01\u212b\ud55c \u1112\u1161 <e\u0301>\u0301<\u00e9>", "aab  aac\r\n11 111\t\u180e \\s.\f\u00e9x", " a", "",
]


def change(spec, pointers):
    spec = copy.deepcopy(spec)
    for pointer, value in pointers.items():
        *path, last = pointer.split("/")[1:]
        target = spec
        for key in path:
            target = target[int(key) if isinstance(target, list) else key]
        target[int(last) if isinstance(target, list) else last] = value
    return spec


def variant_golden(pointers):
    tokenizer = tokenizers.Tokenizer.from_str(json.dumps(change(load("qwen2"), pointers)))
    ids = [tokenizer.encode(text).ids for text in VARIANT_TEXTS]
    return {"set": pointers, "framed": ids, "skipping_special": [tokenizer.decode(i) for i in ids]}


def write(path, value):
    path.write_text(json.dumps(value, ensure_ascii=True, separators=(",", ":")) + "\n", "utf-8")
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    code_points = code_point_ranges()
    write(GOLDEN / "tokenizer.json", {
        "made_by": "tools/make_tokenizer_golden.py",
        "libraries": {"tokenizers": tokenizers.__version__},
        "seed": SEED, "texts": TEXTS, "alphabet": ALPHABET, "neighbours": NEIGHBOURS, "span_texts": SPANS,
        "code_point_ranges": code_points,
        "tokenizers": [golden_of(name, code_points) for name in ["tiny-coder", *SMALL]],
        "variant_texts": VARIANT_TEXTS, "variants": [variant_golden(pointers) for pointers in VARIANTS],
    })
