#!/usr/bin/env python3
"""Writes tests/golden/families: what Hugging Face transformers computes for small models of every family and format.

A golden file holds config.json, the list of the checkpoint's tensors (their bytes follow by rule, see
rule_checkpoint.py) and logits in float32 on the dequantised weights, for tests/family_parity_test.cc.

Needs torch and transformers; the tests need neither.
    python tools/make_family_golden.py [FAMILY ...]
"""

import base64
import json
import sys
from copy import deepcopy
from itertools import count
from pathlib import Path

import torch
import transformers
from transformers import AutoConfig, AutoModelForCausalLM

from family_cases import FAMILIES, SHAPES, VOCAB_SIZE, names_of, published, stays_in_bf16
from make_golden import MARGIN_MIN, SELF_TOLERANCE, DraftHead, margins, share_of_row
from rule_checkpoint import Checkpoint, hashes

FOLDER = Path(__file__).resolve().parent.parent / "tests" / "golden" / "families"
TOTAL_BYTES_MAX = 700 * 1000

N_TOKENS = 23
LOGIT_ROWS = [0, 6, 13, 20, 22]  # ends of chunks of 1, 7 and all
MTP_ROWS = [0, 6, 13, 20, 21]    # likewise; the last token has no successor to draft behind

# Experts of which one is chosen and the other not have to be further apart than rounding can move them.
ROUTER_MARGIN_MIN = 1e-3


class RouterMargins:
    """The smallest gap, over all rows that ran, between the last chosen and the first unchosen expert's logit."""

    def __init__(self, *modules):
        self.smallest = float("inf")
        for module in modules:
            for router in module.modules():
                if type(router).__name__.endswith("TopKRouter"):
                    router.register_forward_hook(self.see)

    def see(self, router, inputs, outputs):
        logits = outputs[0].sort(dim=-1, descending=True).values
        if router.top_k < logits.shape[-1]:
            gap = (logits[..., router.top_k - 1] - logits[..., router.top_k]).min().item()
            self.smallest = min(self.smallest, gap)


def new_model(text):
    config = AutoConfig.for_model(**deepcopy(text))  # it changes what it is given
    model = AutoModelForCausalLM.from_config(config, attn_implementation="eager", experts_implementation="eager",
                                             dtype=torch.float32)
    return model.eval()


def fill(model, head, checkpoint):
    """Gives both the checkpoint's values."""
    parts = {"": model} | ({"mtp.": head} if head else {})
    for prefix, module in parts.items():
        for name, parameter in module.named_parameters():
            value = checkpoint.parameter(prefix + name, tuple(parameter.shape))
            assert value.shape == parameter.shape, name
            parameter.data.copy_(value)


def evaluate(model, head, tokens):
    """Logits of every row, and those of the head for every entry; the head's are None where there is none."""
    hidden = model.model(tokens[None]).last_hidden_state[0]
    drafts = head(model, tokens[1:], hidden[:-1])[1] if head else None
    return model.lm_head(hidden), drafts


def is_clear(report):
    return report["margin"] > MARGIN_MIN and report["router"] > ROUTER_MARGIN_MIN


def make_case(family, shape, form, base_seed):
    """The golden file and its report, for the first seed whose every choice is clear."""
    text = family.config(shape)
    for seed in count(base_seed):
        model = new_model(text)
        head = DraftHead(model).eval() if form.mtp != "none" else None
        checkpoint = Checkpoint(seed, form, names_of(family, form), stays_in_bf16)
        fill(model, head, checkpoint)
        router = RouterMargins(model, *([head] if head else []))
        tokens = torch.from_numpy((hashes(seed, "tokens", N_TOKENS) % VOCAB_SIZE).astype("int64"))
        logits, drafts = evaluate(model, head, tokens)
        everything = logits if drafts is None else torch.cat([logits, drafts])
        report = {"seed": seed, "margin": margins(everything).min().item(), "router": router.smallest,
                  "std": everything.std().item()}
        if is_clear(report):
            break
    exact, exact_drafts = evaluate(model.double(), head.double() if head else None, tokens)
    report["error"] = share_of_row(logits - exact, exact)
    if drafts is not None:
        report["error"] = max(report["error"], share_of_row(drafts - exact_drafts, exact_drafts))
    if report["error"] > SELF_TOLERANCE:
        sys.exit(f"{family.name} {form.name}: float32 is {report['error']:.1e} from float64")
    golden = {"config": published(family, form, text, checkpoint.quantization()), "seed": seed,
              "tensors": checkpoint.listing(), "tokens": tokens.tolist(),
              "trunk": stored(logits, LOGIT_ROWS)}
    if drafts is not None:
        golden["mtp"] = stored(drafts, MTP_ROWS)
    return golden, report


def stored(logits, rows):
    packed = base64.b64encode(logits[rows].numpy().astype("<f4").tobytes()).decode()
    return {"argmax": logits.argmax(-1).tolist(), "rows": rows, "logits": packed}


def text_of(golden):
    """JSON with a line for each tensor, so that a change shows as one."""
    lines = []
    for key, value in golden.items():
        if key == "tensors":
            files = [f'  {json.dumps(file)}: [\n' + ",\n".join(f"   {json.dumps(row)}" for row in rows) + "]"
                     for file, rows in value.items()]
            lines.append('"tensors": {\n' + ",\n".join(files) + "}")
        else:
            lines.append(f"{json.dumps(key)}: {json.dumps(value)}")
    return "{" + ",\n".join(lines) + "}\n"


def write_case(family, form, golden):
    made_by = f"tools/make_family_golden.py, torch {torch.__version__}, transformers {transformers.__version__}"
    folder = FOLDER / family.name
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{form.name}.json"
    path.write_text(text_of({"made_by": made_by} | golden))
    return path.stat().st_size


def check_total():
    n_bytes = sum(path.stat().st_size for path in FOLDER.glob("*/*.json"))
    print(f"total {n_bytes} bytes of at most {TOTAL_BYTES_MAX}")
    if n_bytes > TOTAL_BYTES_MAX:
        sys.exit("too large")


@torch.no_grad()
def main():
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    wanted = sys.argv[1:] or [family.name for family in FAMILIES]
    for index, family in enumerate(FAMILIES):
        if family.name not in wanted:
            continue
        for shape, form in family.cases:
            golden, report = make_case(family, SHAPES[shape], form, base_seed=1000 * (index + 1))
            n_bytes = write_case(family, form, golden)
            print(f"{family.name:12} {form.name:12} {shape:9} {n_bytes:6} bytes  seed {report['seed']}  "
                  f"logit std {report['std']:.2f}  error {report['error']:.1e}  margin {report['margin']:.1e}  "
                  f"router {report['router']:.1e}", flush=True)
    check_total()


if __name__ == "__main__":
    main()
