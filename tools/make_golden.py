#!/usr/bin/env python3
"""Writes tests/golden: what Hugging Face transformers computes, for tests/parity_test.cc to compare the engine with.

Two kinds of folder. A random one holds a small qwen3_5 checkpoint as published (bf16, zero-centred norms) and its
golden file; tests/golden/tiny-coder holds only the golden file of the embedded model. All is evaluated in float32.

Needs torch, transformers, safetensors and tokenizers; the tests need none of them.
    python tools/make_golden.py
"""

import json
import sys
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import tokenizers
import torch
import transformers
from safetensors.torch import load_file, save_file
from torch import nn
from transformers import DynamicCache, Qwen3_5ForCausalLM, Qwen3_5TextConfig

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests" / "golden"
TINY_CODER = ROOT / "models" / "tiny-coder"

# The tolerance of the parity test, a share of the row's largest logit. Two logits that are more than twice that apart
# keep their order in any engine that passes, so rows where that holds may be compared by argmax.
TOLERANCE = 1e-4
MARGIN_MIN = 2 * TOLERANCE

# Whole sequence at once against one token at a time: transformers' chunked and recurrent delta net, both float32.
SELF_TOLERANCE = 2e-5

# Last rows of the chunks that the parity test feeds: their logits are stored wherever the sequence is that long.
CHUNK_END_ROWS = [6, 63, 127, 191, 199]

CHAIN_DEPTH = 3
GREEDY_TOKENS = 64
FOLDER_BYTES_MAX = 300 * 1000
TINY_CODER_BYTES_MAX = 500 * 1000
TOTAL_BYTES_MAX = 3 * 1000 * 1000


@dataclass(frozen=True)
class Case:
    """One random checkpoint: the shapes that a kernel can get wrong, and how the file is laid out."""

    name: str
    n_tokens: int
    n_logit_rows: int  # rows whose logits are stored, chunk ends apart; the last one always is
    hidden_size: int
    intermediate_size: int
    vocab_size: int
    heads: tuple  # attention and KV heads
    rope: tuple  # rotated share of the 32 dims of a head, theta
    delta_heads: tuple  # key and value heads
    delta_dims: tuple  # key and value dims of one head
    tied: bool
    nested: bool  # text_config and the prefix model.language_model., or a flat config and model.
    f32_gates: bool = False  # A_log, dt_bias and the gated norm stay float32, as some releases have them
    has_mtp: bool = False

    @property
    def prefix(self):
        return "model.language_model." if self.nested else "model."


CASES = [
    #     name          tokens rows hidden ffn vocab  heads   rope         delta   dims
    Case("kv1_ratio1",   65,   65,  64,    48,  96,  (2, 1), (0.25, 1e7), (2, 2), (32, 32), tied=False, nested=True),
    Case("kv2_ratio2",  203,   20,  32,    96, 128,  (6, 2), (0.50, 1e4), (2, 4), (64, 32), tied=True, nested=True),
    Case("kv4_ratio3",    7,    7,  32,    64, 160,  (8, 4), (0.25, 1e5), (2, 6), (32, 32), tied=True, nested=False,
         f32_gates=True),
    Case("one_token",     1,    1,  64,    64, 112,  (2, 2), (0.50, 1e7), (1, 2), (32, 32), tied=False, nested=False),
    Case("mtp",          65,   17,  32,    64, 128,  (4, 2), (0.25, 1e4), (2, 4), (32, 32), tied=False, nested=True,
         has_mtp=True),
]


def text_config(case):
    """The text part of config.json, as published."""
    return {
        "model_type": "qwen3_5_text",
        "vocab_size": case.vocab_size,
        "hidden_size": case.hidden_size,
        "intermediate_size": case.intermediate_size,
        "num_hidden_layers": 4,
        "num_attention_heads": case.heads[0],
        "num_key_value_heads": case.heads[1],
        "head_dim": 32,
        "hidden_act": "silu",
        "max_position_embeddings": 4096,
        "rms_norm_eps": 1e-6,
        "tie_word_embeddings": case.tied,
        "attention_bias": False,
        "attn_output_gate": True,
        "rope_parameters": {
            "rope_type": "default",
            "rope_theta": case.rope[1],
            "partial_rotary_factor": case.rope[0],
            "mrope_section": [2, 1, 1],
            "mrope_interleaved": True,
        },
        "layer_types": ["linear_attention"] * 3 + ["full_attention"],
        "full_attention_interval": 4,
        "linear_conv_kernel_dim": 4,
        "linear_key_head_dim": case.delta_dims[0],
        "linear_value_head_dim": case.delta_dims[1],
        "linear_num_key_heads": case.delta_heads[0],
        "linear_num_value_heads": case.delta_heads[1],
        "mamba_ssm_dtype": "float32",
        "mtp_num_hidden_layers": int(case.has_mtp),
        "mtp_use_dedicated_embeddings": False,
        "dtype": "bfloat16",
        "eos_token_id": 0,
    }


def published_config(case):
    text = text_config(case)
    if not case.nested:
        return {"architectures": ["Qwen3_5ForCausalLM"], **text}
    return {
        "architectures": ["Qwen3_5ForConditionalGeneration"],
        "model_type": "qwen3_5",
        "tie_word_embeddings": case.tied,
        "text_config": text,
    }


class DraftHead(nn.Module):
    """The multi-token-prediction head, which transformers does not have: one attention layer behind a fusion.

    Entry i consumes the embedding of token i + 1 and the hidden state of position i, sits at position i, and predicts
    token i + 2. Parameter names are those of the checkpoint, without `mtp.`.
    """

    def __init__(self, model):
        super().__init__()
        config = model.config
        norm, layer = type(model.model.norm), type(model.model.layers[0])  # the trunk's own kinds
        for name in ("pre_fc_norm_embedding", "pre_fc_norm_hidden", "norm"):
            self.add_module(name, norm(config.hidden_size, eps=config.rms_norm_eps))
        self.fc = nn.Linear(2 * config.hidden_size, config.hidden_size, bias=False)
        attention = config.layer_types.index("full_attention")
        self.layers = nn.ModuleList([layer(config, attention)])

    def forward(self, model, next_tokens, hidden):
        """next_tokens [n], hidden [n, hidden_size] -> the head's hidden states [n, hidden_size], logits [n, vocab]."""
        n = len(next_tokens)
        embedding = self.pre_fc_norm_embedding(model.model.embed_tokens(next_tokens))
        x = self.fc(torch.cat([embedding, self.pre_fc_norm_hidden(hidden)], dim=-1))[None]
        position_embeddings = model.model.rotary_emb(x, torch.arange(n)[None])
        mask = torch.full((n, n), float("-inf"), dtype=x.dtype).triu(1)[None, None]
        x = self.layers[0](x, position_embeddings=position_embeddings, attention_mask=mask)
        x = self.norm(x)[0]
        return x, model.lm_head(x)

    def chain(self, model, tokens, hidden, pending, depth):
        """A greedy chain after `tokens`: logits [depth, vocab] of the drafts that follow `pending`."""
        next_tokens, logits = torch.cat([tokens[1:], pending]), []
        for _ in range(depth):
            own, step = self(model, next_tokens, hidden)
            logits.append(step[-1])
            next_tokens = torch.cat([next_tokens, step[-1:].argmax(-1)])
            hidden = torch.cat([hidden, own[-1:]])
        return torch.stack(logits)


def new_model(config_fields):
    config = Qwen3_5TextConfig(**config_fields)
    model = Qwen3_5ForCausalLM._from_config(config, attn_implementation="eager", dtype=torch.float32)
    model.eval()
    return model, DraftHead(model).eval()


def random_tensor(name, shape, generator):
    """Values in the range of trained ones, so that no gate, norm or decay is near a trivial value."""

    def normal(scale):
        return torch.randn(shape, generator=generator) * scale

    def uniform(low, high):
        return torch.rand(shape, generator=generator) * (high - low) + low

    if name.endswith("A_log"):
        return uniform(0.5, 16).log()
    if name.endswith("dt_bias"):
        step = (uniform(-6.9, -0.7)).exp()  # log-uniform in [0.001, 0.5]
        return step.expm1().log()  # the inverse of softplus
    if name.endswith("linear_attn.norm.weight"):
        return 1 + normal(0.2)
    if "norm" in name:
        return normal(0.2)
    if name.endswith("conv1d.weight"):
        return normal(0.5)
    if name.endswith("embed_tokens.weight"):
        return normal(0.1)
    if name.startswith("lm_head"):
        return normal(0.5)
    return normal(1.2 / shape[-1] ** 0.5)


def random_weights(case, model, head, seed):
    """Fills both modules with values that the stored types hold exactly; returns the tensors of the checkpoint."""
    generator = torch.Generator().manual_seed(seed)
    modules = {"": model, "mtp.": head} if case.has_mtp else {"": model}
    stored = {}
    for prefix, module in modules.items():
        for name, parameter in sorted(module.named_parameters()):
            keeps_f32 = case.f32_gates and name.endswith(("A_log", "dt_bias", "linear_attn.norm.weight"))
            value = random_tensor(name, parameter.shape, generator)
            if name.endswith("conv1d.weight"):
                # Queries and keys so short that a wrong epsilon in their normalisation shows.
                value[: 2 * case.delta_heads[0] * case.delta_dims[0]] *= 0.05
            value = value.to(torch.float32 if keeps_f32 else torch.bfloat16)
            parameter.data.copy_(value)
            public = name.replace("model.", case.prefix, 1) if name.startswith("model.") else name
            stored[prefix + public] = value
    return stored


def dequantised(tensors):
    """MLX affine, 8 bits: value = scale * code + bias. Other tensors as they are, in float32."""
    out = {}
    for name, tensor in tensors.items():
        path = name.removesuffix(".weight")
        if name.endswith((".scales", ".biases")):
            continue
        if path + ".scales" in tensors:
            scales, biases = (tensors[path + end].float() for end in (".scales", ".biases"))
            codes = tensor.view(torch.uint8).float().unflatten(-1, (scales.shape[-1], -1))
            out[name] = (scales[..., None] * codes + biases[..., None]).flatten(-2)
        else:
            out[name] = tensor.float()
    return out


def is_zero_centred(name):
    return name.endswith(("norm.weight", "layernorm.weight", "norm_embedding.weight", "norm_hidden.weight")) and (
        "linear_attn" not in name)


def unfolded(tensors):
    """Zero-centred norms as transformers wants them. Whether one was added is decided for each group by its mean."""
    groups = {}
    for name in filter(is_zero_centred, tensors):
        groups.setdefault(name.startswith("mtp."), {}).setdefault(name.split(".")[-2], []).append(name)
    out = dict(tensors)
    for is_mtp, kinds in groups.items():
        for kind, names in sorted(kinds.items()):
            mean = torch.cat([tensors[name] for name in names]).mean().item()
            folded = mean > 0.5
            print(f"  {'mtp' if is_mtp else 'trunk':5} {kind:26} x{len(names):<2} mean {mean:+.3f}: "
                  f"{'one added, taken back' if folded else 'raw'}")
            for name in names if folded else []:
                out[name] = tensors[name] - 1
    return out


def load_tiny_coder():
    tensors = {}
    for shard in sorted(TINY_CODER.glob("model-*.safetensors")):
        tensors |= load_file(shard)
    tensors = {name.removeprefix("language_model."): t for name, t in dequantised(tensors).items()}
    tensors = {n: t.transpose(1, 2) if n.endswith("conv1d.weight") else t for n, t in unfolded(tensors).items()}
    config = json.loads((TINY_CODER / "config.json").read_text())["text_config"]
    model, head = new_model(config)
    mtp = {n.removeprefix("mtp."): t for n, t in tensors.items() if n.startswith("mtp.")}
    trunk = {n: t for n, t in tensors.items() if not n.startswith("mtp.")}
    model.load_state_dict(trunk | {"lm_head.weight": trunk["model.embed_tokens.weight"]})
    head.load_state_dict(mtp)
    return model, head


def share_of_row(error, logits):
    """The largest error of each row divided by the row's largest logit, both absolute; the worst row."""
    return (error.abs().amax(-1) / logits.abs().amax(-1)).max().item()


def margins(logits):
    """How far the two largest logits are apart, as a share of the row's largest absolute one. [n]"""
    best = logits.topk(2).values
    return (best[:, 0] - best[:, 1]) / logits.abs().amax(-1)


def is_clear(report):
    return min(report["margin"], report.get("mtp margin", 1)) > MARGIN_MIN


def cached_logits(model, tokens, n_greedy=0):
    """Logits one token at a time through the cache, first over `tokens`, then over a greedy continuation."""
    cache, rows, ids = DynamicCache(config=model.config), [], tokens.tolist()
    for i in range(len(tokens) + n_greedy):
        rows.append(model(torch.tensor([[ids[i]]]), cache=cache, use_cache=True).logits[0, -1])
        if i + 1 == len(ids):
            ids.append(int(rows[-1].argmax()))
    return torch.stack(rows), torch.tensor(ids[len(tokens):len(tokens) + n_greedy])


def rows_of(n, n_rows):
    """Row numbers below n in order: `n_rows` spread evenly that end with the last one, and the ends of chunks."""
    spread = torch.linspace(n - 1, 0, n_rows).round().long().tolist()
    return torch.tensor(sorted({*spread, *(row for row in CHUNK_END_ROWS if row < n)}))


def evaluate_trunk(model, tokens, n_rows, n_greedy=0):
    """Golden tensors of the trunk, its hidden states, and a report line."""
    hidden = model.model(tokens[None]).last_hidden_state[0]
    logits = model.lm_head(hidden)
    stepwise, greedy = cached_logits(model, tokens, n_greedy)
    self_error = share_of_row(stepwise[:len(tokens)] - logits, logits)
    if self_error > SELF_TOLERANCE:
        sys.exit(f"transformers disagrees with itself: {self_error:.1e} of the row's largest logit")
    rows = rows_of(len(tokens), n_rows)
    golden = {"tokens": tokens, "logit_rows": rows, "logits": logits[rows], "argmax": logits.argmax(-1)}
    if n_greedy:
        golden["greedy"] = greedy
    return golden, hidden, {"self error": self_error, "margin": margins(stepwise).min().item()}


def evaluate_head(model, head, trunk, hidden, pending, n_rows, chain_rows):
    """Golden tensors of the draft head, teacher-forced entries, then a greedy chain; and a report line."""
    tokens = trunk["tokens"]
    _, logits = head(model, tokens[1:], hidden[:-1])
    chain = head.chain(model, tokens, hidden, pending, CHAIN_DEPTH)
    rows = rows_of(len(tokens) - 1, n_rows)
    golden = {
        "mtp_logit_rows": rows,
        "mtp_logits": logits[rows],
        "mtp_argmax": logits.argmax(-1),
        "chain_pending": pending,
        "mtp_chain_tokens": chain.argmax(-1),
        "mtp_chain_rows": torch.tensor(chain_rows),
        "mtp_chain_logits": chain[chain_rows],
    }
    return golden, {"mtp margin": margins(torch.cat([logits, chain])).min().item()}


def write_golden(folder, tensors, seed):
    folder.mkdir(parents=True, exist_ok=True)
    stored = {name: (t if t.is_floating_point() else t.int()).contiguous() for name, t in tensors.items()}
    # One entry, because safetensors writes several in any order and the same run should give the same bytes.
    made_by = (f"tools/make_golden.py, seed {seed}, torch {torch.__version__}, "
               f"transformers {transformers.__version__}")
    save_file(stored, folder / "golden.safetensors", {"made_by": made_by})


def make_random(case, base_seed):
    """The first seed from `base_seed` on whose every row has a clear maximum."""
    for seed in count(base_seed):
        model, head = new_model(text_config(case))
        weights = random_weights(case, model, head, seed)
        generator = torch.Generator().manual_seed(seed)
        tokens = torch.randint(case.vocab_size, (case.n_tokens + 1,), generator=generator)
        tokens, pending = tokens[:-1], tokens[-1:]
        golden, hidden, report = evaluate_trunk(model, tokens, case.n_logit_rows)
        if case.has_mtp:
            all_depths = list(range(CHAIN_DEPTH))
            mtp, mtp_report = evaluate_head(model, head, golden, hidden, pending, case.n_logit_rows, all_depths)
            golden |= mtp
            report |= mtp_report
        if is_clear(report):
            break
    folder = GOLDEN / case.name
    write_golden(folder, golden, seed)
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    (folder / "config.json").write_text(json.dumps(published_config(case), indent=2) + "\n")
    return report | {"seed": seed, "logit std": golden["logits"].std().item()}


SOURCE = '''def mean(values):
    """Arithmetic mean, or zero for an empty list."""
    if not values:
        return 0.0
    return sum(values) / len(values)


def spread(values):
    # Distance of the farthest one from the mean.
    centre = mean(values)
    return max((abs(v - centre) for v in values), default=0.0)


def smooth(values, width=3):
    """Moving average of the last few readings."""
    return [mean(values[max(0, i - width + 1):i + 1]) for i in range(len(values))]


def report(readings):
    lines = []
    for name, values in sorted(readings.items()):
        lines.append(f"{name}: {mean(values):.2f} +/- {spread(values):.2f}")
    return "\\n".join(lines)
'''


def tiny_coder_prompt():
    request = f"Rename `values` to `samples` in this file.\n\n```python\n{SOURCE}```"
    text = f"<|im_start|>user\n{request}<|im_end|>\n<|im_start|>assistant\n"
    tokenizer = tokenizers.Tokenizer.from_file(str(TINY_CODER / "tokenizer.json"))
    return torch.tensor(tokenizer.encode(text, add_special_tokens=False).ids), tokenizer


def acceptance_rate(model, head, tokens):
    """How often the head's draft for token i + 2 is the trunk's own choice there."""
    hidden = model.model(tokens[None]).last_hidden_state[0]
    _, drafts = head(model, tokens[1:], hidden[:-1])
    return (drafts.argmax(-1) == model.lm_head(hidden)[1:].argmax(-1)).float().mean().item()


def make_tiny_coder():
    print("tiny-coder norms:")
    model, head = load_tiny_coder()
    tokens, tokenizer = tiny_coder_prompt()
    golden, hidden, report = evaluate_trunk(model, tokens, n_rows=1, n_greedy=GREEDY_TOKENS)
    pending = golden["greedy"][:1]
    mtp, mtp_report = evaluate_head(model, head, golden, hidden, pending, n_rows=1, chain_rows=[CHAIN_DEPTH - 1])
    report |= mtp_report
    if not is_clear(report):
        sys.exit("tiny-coder: a row of this prompt has no clear maximum, change SOURCE a little: "
                 f"{report}")
    write_golden(GOLDEN / "tiny-coder", golden | mtp, seed="none")
    everything = torch.cat([tokens, golden["greedy"]])
    print(f"  prompt of {len(tokens)} tokens, continued: {tokenizer.decode(golden['greedy'].tolist())!r}")
    print(f"  draft head, depth 1: {acceptance_rate(model, head, tokens):.1%} of the prompt's positions accepted, "
          f"{acceptance_rate(model, head, everything):.1%} with the continuation")
    return report | {"seed": "none", "logit std": golden["logits"].std().item()}


def folder_bytes(folder):
    return sum(file.stat().st_size for file in folder.iterdir())


def print_table(reports):
    columns = ["seed", "logit std", "self error", "margin", "mtp margin"]

    def show(value):
        return f"{value:.2e}" if isinstance(value, float) else str(value)

    print(f"{'folder':12} {'bytes':>8} " + " ".join(f"{c:>10}" for c in columns))
    for name, report in reports.items():
        cells = " ".join(f"{show(report.get(c, '-')):>10}" for c in columns)
        print(f"{name:12} {folder_bytes(GOLDEN / name):8} {cells}")


def check_sizes(names):
    sizes = {name: folder_bytes(GOLDEN / name) for name in names}
    print(f"total {sum(sizes.values())} bytes of at most {TOTAL_BYTES_MAX}")
    limits = {name: TINY_CODER_BYTES_MAX if name == "tiny-coder" else FOLDER_BYTES_MAX for name in names}
    too_large = [name for name in names if sizes[name] > limits[name]]
    if too_large or sum(sizes.values()) > TOTAL_BYTES_MAX:
        sys.exit(f"too large: {too_large or 'the sum'}")


@torch.no_grad()
def main():
    torch.set_num_threads(1)
    reports = {case.name: make_random(case, base_seed=100 * i) for i, case in enumerate(CASES, start=1)}
    reports["tiny-coder"] = make_tiny_coder()
    print_table(reports)
    check_sizes(list(reports))


if __name__ == "__main__":
    main()
