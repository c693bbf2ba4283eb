#!/usr/bin/env python3
"""Makes tests/golden/tokenizer.json and tests/golden/chat_template.json with the Python libraries that define them.

    python tools/make_text_golden.py        (needs tokenizers, transformers, jinja2)

The files are committed, so that the tests need none of these libraries.
"""
import copy
import json
import pathlib
import random

import jinja2
import jinja2.sandbox
import tokenizers
import transformers

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODEL = ROOT / "models" / "tiny-coder"
GOLDEN = ROOT / "tests" / "golden"
SEED = 20260101

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
    "'\u0130 \u0130 \ufb01 \u01c5 \u1f80 \u00df \u1e9e", "x\u0345\u0301 \u0f71\u0f72\u0f74 \u0fb2\u0f71\u0f80 \U0001d15e \ufb1d \u0958",
]

ALPHABET = (
    list("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") + list(" \t\n\r'\"(){}[]<>|=+-*/.,;:_#!?")
    + ["  ", "\n    ", "'s", "'ll", "<|im_end|>", "<think>", "return", " the", "\u00e9", "e\u0301", "\u0301", "\u0327",
       "\u4e2d", "\ud55c", "\u1100\u1161", "\U0001f600", "\u200d", "\u00a0", "\u2003", "\u0661", "\u00bd", "\u0915\u094d", "\u3000"]
)


def random_texts(count):
    rng = random.Random(SEED)
    return ["".join(rng.choice(ALPHABET) for _ in range(rng.randrange(1, 40))) for _ in range(count)]


def variant(spec, **changes):
    """The embedded tokenizer with some added tokens changed: [content] -> fields."""
    spec = copy.deepcopy(spec)
    for token in spec["added_tokens"]:
        token.update(changes.get(token["content"], {}))
    return tokenizers.Tokenizer.from_str(json.dumps(spec))


def tokenizer_golden():
    spec = json.loads((MODEL / "tokenizer.json").read_text("utf-8"))
    matching = tokenizers.Tokenizer.from_str(json.dumps(spec))
    ignoring = tokenizers.Tokenizer.from_str(json.dumps(spec | {"added_tokens": []}))
    cases = []
    for text in TEXTS + random_texts(250):
        case = {"text": text, "ids": matching.encode(text, add_special_tokens=False).ids}
        plain = ignoring.encode(text, add_special_tokens=False).ids
        if plain != case["ids"]:
            case["ids_ignoring_added"] = plain
        cases.append(case)

    rng = random.Random(SEED + 1)
    decodings = []
    for _ in range(60):
        ids = [rng.randrange(256) if rng.random() < 0.7 else rng.randrange(matching.get_vocab_size())
               for _ in range(rng.randrange(1, 12))]
        decodings.append({"ids": ids, "text": matching.decode(ids, skip_special_tokens=False),
                          "text_skipping_special": matching.decode(ids, skip_special_tokens=True)})

    flags = {"<think>": {"lstrip": True}, "</think>": {"rstrip": True}, "<tool_call>": {"normalized": True},
             "<|im_end|>": {"lstrip": True, "rstrip": True}}
    stripping = variant(spec, **flags)
    texts = ["a <think> b", "a \u2003\n<think>\n b", "a </think> \t\n b", "x  <|im_end|>  <|im_end|>  y",
             "</think>  <think>", "  <tool_call>  ", "e\u0301<tool_call>\u0301", " </think><think> "]
    return {
        "libraries": {"tokenizers": tokenizers.__version__},
        "cases": cases,
        "decodings": decodings,
        "flags": flags,
        "flag_cases": [{"text": t, "ids": stripping.encode(t, add_special_tokens=False).ids} for t in texts],
    }


CONVERSATIONS = [
    [("user", "hello")],
    [("system", "Be brief."), ("user", "hi"), ("assistant", "Hello!"), ("user", "write\n\n  code\n")],
    [("user", "  spaces kept \n"), ("assistant", "")],
    [("user", "{{ not a template }} {% if %} <|im_end|> \u4e2d\u6587 \U0001f600")],
]

# [template, variables]; rendered as Hugging Face does. `messages` is always there.
SNIPPETS = [
    "plain text", "a\n", "a\n\n", "a\r\nb\rc\n", "{{ 'x' }}\n{{ 'y' }}\n", "{# gone #}\nx{# y #}z\n",
    "  {% if true %}\n  a\n  {% endif %}\nb", "x {% if true %} a {% endif %} b", "  {%+ if true %}a{% endif %}",
    "{% if true +%}\na{% endif %}", "a  {%- if true -%}  b  {%- endif -%}  c", "a \n {{- 'b' -}} \n c", "a {#- c -#} b",
    "  {# c #}\n  b", "{{ 1 }}  {% if true %}\nx\n{% endif %}\n", "\n  {% if false %}a{% elif none %}b{% else %}c{% endif %}\n",
    "{% for m in messages %}{{ loop.index }}{{ loop.index0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }};{% endfor %}",
    "{% for m in messages %}\n{{ m.role }}: {{ m['content'] }}\n{% endfor %}\n",
    "{% for a in [1, 2] %}{% for b in ['x', 'y'] %}{{ a }}{{ b }}{{ loop.index }} {% endfor %}{{ loop.index }}{% endfor %}",
    "{% for a in [] %}x{% endfor %}|", "{% for a in missing %}x{% endfor %}|",
    "{% set x = 1 %}{% for a in [1, 2] %}{{ x }}{% set x = x + a %}{{ x }} {% endfor %}{{ x }}",
    "{% set x = 1 %}{% if true %}{% set x = 2 %}{% endif %}{{ x }}",
    "{{ messages[0]['role'] }}{{ messages[-1].content }}{{ messages[9] }}{{ messages[0].nothing }}{{ 'abc'[1] }}{{ '\u00e9\u4e2d'[-1] }}",
    "{{ 'a\\nb\\t\\'\\\"\\\\ \\x41 \\u00e9 \\U0001f600 \\101 \\q' }}", "{{ \"a'b\" 'c' }}", "{{ 'two\nlines' }}",
    "{{ true }}{{ True }}{{ false }}{{ none }}{{ None }}{{ missing }}{{ 7 }}{{ 42 }}{{ -5 }}",
    "{{ [1, 'a', none, true, [\"it's\", 'say \"x\"', 'both\\'\"']] }}{{ [] }}{{ ['\\n\\t\\\\\\x00\u00e9\u200b\u3000'] }}", "{{ messages[0] }}",
    "{{ 1 + 2 - 4 }}{{ 'a' + 'b' }}{{ [1] + [2] }}{{ 1 ~ 'a' ~ none ~ true ~ [1] }}{{ true + 1 }}",
    "{{ 'a' ~ 1 ~ 2 + 'b' }}",
    "{{ 1 == 1 }}{{ 1 == true }}{{ 'a' == 'a' }}{{ [1, 'a'] == [1, 'a'] }}{{ none == false }}{{ missing == missing2 }}{{ 1 != '1' }}",
    "{{ 1 < 2 }}{{ 2 <= 2 }}{{ 3 > 4 }}{{ 4 >= 5 }}{{ 'a' < 'b' }}{{ 'Z' > 'a' }}{{ [1, 2] < [1, 3] }}{{ 1 < 2 < 3 }}{{ 1 < 3 < 2 }}{{ 1 == 1 != 2 }}",
    "{{ 'b' in 'abc' }}{{ 'x' in 'abc' }}{{ 1 in [1, 2] }}{{ 3 not in [1] }}{{ 'role' in messages[0] }}{{ 'x' in missing }}{{ '' in '' }}",
    "{{ true and false }}{{ 1 and 2 }}{{ 0 or 'x' }}{{ '' or none }}{{ not 0 }}{{ not true and false }}{{ not 1 == 2 }}{{ 1 or 2 and 0 }}",
    "{{ x is defined }}{{ messages is defined }}{{ x is undefined }}{{ none is none }}{{ 1 is not none }}{{ 'a' is string }}{{ 1 is string }}",
    "{{ true is boolean }}{{ 1 is boolean }}{{ 1 is integer }}{{ true is integer }}{{ true is number }}{{ messages[0] is mapping }}{{ [] is mapping }}{{ true is true }}{{ 1 is true }}{{ false is false }}",
    "{{ not x is defined }}{{ 'a' ~ 1 is none }}",
    "{{ ' \\n a b \\x1c\u2003' | trim }}|{{ 'xxaxx' | trim('x') }}|{{ missing | trim }}|{{ 5 | trim }}|{{ ' a ' | trim | upper }}",
    "{{ 'abc' | length }}{{ '\u4e2d\u6587' | length }}{{ [1, 2] | length }}{{ messages | length }}{{ messages[0] | length }}{{ '' | count }}{{ missing | length }}",
    "{{ 'aBc \u00e9' | upper }}{{ 'AbC \u00c9' | lower }}{{ true | upper }}{{ none | lower }}",
    "{{ missing | default('d') }}{{ none | default('d') }}{{ '' | default('d') }}{{ '' | default('d', true) }}{{ 1 | d('x') }}{{ missing | default }}",
    "{{ '  a '.strip() }}|{{ 'xyaxy'.strip('yx') }}|{{ ' a '.lstrip() }}|{{ ' a '.rstrip() }}|{{ '\u00e9a\u00e9'.strip('\u00e9') }}",
    "{{ 'abc'.startswith('ab') }}{{ 'abc'.endswith('bc') }}{{ 'abc'.startswith('') }}{{ 'a'.endswith('abc') }}{{ messages[0].content.startswith('he') }}",
    "{{ -1 }}{{ - 2 + 3 }}{{ --3 }}{{ +4 }}", "{{ (1 + 2) ~ (3) }}", "{{ [1, 2,] }}", "{{ [1, 2][0] }}{{ [[1], [2]][1][0] }}",
    "{%- set a = 'x' -%}\n{%- set b = a ~ a -%}\n{{ b }}", "{% if messages and messages[0].role == 'user' %}u{% else %}n{% endif %}",
    "{{ '}}' }}{{ '%}' }}{{ \"{{\" }}", "{{ 'a' }}{% set not_a = 1 %}{{ not_a }}",
    "{{''}}{%if true%}x{%endif%}", "a\n  \n  {%- if true %}\n\n x{% endif %}", "{{ 'x' -}}\n   {% if true %}y{% endif %}",
    "   {{ 'a' }}\n   {{- 'b' }}\n", "{% if true %}\n\n\na{% endif %}\n\n", "{{ tools is none }}{{ documents is none }}{{ add_generation_prompt }}",
]

# Templates that stop with an error while rendering.
FAILING = [
    "{{ raise_exception('no ' ~ 'way') }}", "{{ missing.field }}", "{{ missing + 1 }}", "{{ 'a' + 1 }}", "{{ none < 1 }}",
    "{{ 1 in 2 }}", "{{ 1 | length }}", "{% for x in 5 %}{% endfor %}", "{{ (1).strip() }}",
    "{{ 'a' < 1 }}", "{{ 1 in 'a' }}", "{{ 'a'.strip(1) }}", "{{ -'a' }}", "{{ [1] + 'a' }}", "{{ missing[0] }}",
]


def environment():
    env = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)

    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    env.globals["raise_exception"] = raise_exception
    return env


def as_messages(pairs):
    return [{"role": role, "content": content} for role, content in pairs]


def chat_template_golden():
    tokenizer = transformers.AutoTokenizer.from_pretrained(MODEL)
    renderings = []
    for pairs in CONVERSATIONS:
        for prompt in (False, True):
            text = tokenizer.apply_chat_template(as_messages(pairs), tokenize=False, add_generation_prompt=prompt)
            renderings.append({"messages": pairs, "add_generation_prompt": prompt, "text": text})

    env = environment()
    messages = as_messages(CONVERSATIONS[1])
    variables = {"messages": messages, "add_generation_prompt": True, "tools": None, "documents": None}
    snippets = [{"template": s, "text": env.from_string(s).render(**variables)} for s in SNIPPETS]
    failing = []
    for source in FAILING:
        try:
            env.from_string(source).render(**variables)
        except (jinja2.exceptions.TemplateError, TypeError):
            failing.append(source)
        else:
            raise SystemExit(f"renders in Python: {source}")
    return {
        "libraries": {"jinja2": jinja2.__version__, "transformers": transformers.__version__},
        "renderings": renderings,
        "snippet_messages": CONVERSATIONS[1],
        "snippets": snippets,
        "failing": failing,
    }


def write(name, value):
    path = GOLDEN / name
    path.write_text(json.dumps(value, ensure_ascii=True, separators=(",", ":")) + "\n", "utf-8")
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    GOLDEN.mkdir(parents=True, exist_ok=True)
    write("tokenizer.json", tokenizer_golden())
    write("chat_template.json", chat_template_golden())
