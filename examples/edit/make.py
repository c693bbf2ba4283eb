#!/usr/bin/env python3
"""Writes prompt.md and expected.md beside this script: an edit of source.py asked in words, and the edit made by rule."""
import re
from pathlib import Path

OLD, NEW = "bad_pairs", "rival_pairs"


def main():
    folder = Path(__file__).resolve().parent
    source = (folder / "source.py").read_text(encoding="utf-8").rstrip("\n")
    renamed = re.sub(rf"\b{OLD}\b", NEW, source)
    # No newline at either end: the prompt is the content of one chat message, the reference the whole answer.
    prompt = f"Rename `{OLD}` to `{NEW}` in this file.\n\n```python\n{source}\n```"
    (folder / "prompt.md").write_text(prompt, encoding="utf-8")
    (folder / "expected.md").write_text(f"```python\n{renamed}\n```", encoding="utf-8")


if __name__ == "__main__":
    main()
