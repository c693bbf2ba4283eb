#!/usr/bin/env python3
"""Makes the golden files of the chat templates with the Python libraries that define them.

    python tools/make_template_golden.py        (needs transformers, jinja2)

    tests/golden/chat_template.json            the embedded model's template; snippets of Jinja; what must fail
    tests/golden/chat_template_families.json   tests/golden/templates/*.jinja x CONVERSATIONS
    tests/golden/jinja_builtins.json           at least one rendering for every filter, test, method, ...

The files are committed, so that the tests need none of these libraries.
"""
import datetime
import json
import pathlib

import jinja2
import transformers
from transformers.utils.chat_template_utils import _compile_jinja_template

from template_golden_snippets import BUILTINS, CONVERSATIONS, FAILING, SNIPPETS, TEXT_CONVERSATIONS, VARIABLES

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODEL = ROOT / "models" / "tiny-coder"
GOLDEN = ROOT / "tests" / "golden"
TEMPLATES = GOLDEN / "templates"
NOW = datetime.datetime(2026, 7, 5, 9, 3, 7)
LIBRARIES = {"jinja2": jinja2.__version__, "transformers": transformers.__version__}

# What Python raises where a template cannot go on.
ERRORS = (jinja2.exceptions.TemplateError, TypeError, ValueError, OverflowError, ZeroDivisionError, KeyError,
          IndexError, AttributeError, RecursionError)


def render(source, variables):
    """The text of the template in the environment of transformers, at the time NOW."""
    template = _compile_jinja_template(source)
    return template.render(**variables, strftime_now=NOW.strftime)


def as_messages(pairs):
    return [{"role": role, "content": content} for role, content in pairs]


def variables_of(conversation):
    return {"messages": conversation["messages"], "tools": conversation.get("tools"),
            "documents": conversation.get("documents"),
            "add_generation_prompt": conversation.get("add_generation_prompt", True),
            **conversation.get("variables", {})}


def chat_template_golden():
    tokenizer = transformers.AutoTokenizer.from_pretrained(MODEL)
    renderings = []
    for pairs in TEXT_CONVERSATIONS:
        for prompt in (False, True):
            text = tokenizer.apply_chat_template(as_messages(pairs), tokenize=False, add_generation_prompt=prompt)
            renderings.append({"messages": pairs, "add_generation_prompt": prompt, "text": text})

    conversation = {"messages": as_messages(TEXT_CONVERSATIONS[1]), "variables": VARIABLES}
    variables = variables_of(conversation)
    for source in FAILING:
        try:
            text = render(source, variables)
        except ERRORS:
            continue
        raise SystemExit(f"renders in Python: {source} -> {text}")
    return {
        "libraries": LIBRARIES,
        "renderings": renderings,
        "snippet_conversation": conversation,
        "snippets": [{"template": source, "text": render(source, variables)} for source in SNIPPETS],
        "failing": FAILING,
    }


def families_golden():
    renderings = []
    for path in sorted(TEMPLATES.glob("*.jinja")):
        source = path.read_text("utf-8")
        texts = []
        for conversation in CONVERSATIONS:
            try:
                texts.append(render(source, variables_of(conversation)))
            except ERRORS:
                texts.append(None)
        renderings.append({"template": path.name, "texts": texts})
        print(f"{path.name}: {sum(text is not None for text in texts)} of {len(texts)} render")
    return {"libraries": LIBRARIES, "conversations": CONVERSATIONS, "renderings": renderings}


def builtins_golden():
    variables = variables_of({"messages": as_messages(TEXT_CONVERSATIONS[1]), "variables": VARIABLES})
    return {
        "libraries": LIBRARIES,
        "variables": VARIABLES,
        "kinds": {kind: {name: [{"template": source, "text": render(source, variables)} for source in sources]
                         for name, sources in names.items()}
                  for kind, names in BUILTINS.items()},
    }


def write(name, value):
    path = GOLDEN / name
    path.write_text(json.dumps(value, ensure_ascii=True, separators=(",", ":")) + "\n", "utf-8")
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    write("chat_template.json", chat_template_golden())
    write("chat_template_families.json", families_golden())
    write("jinja_builtins.json", builtins_golden())
