"""Checkpoints made by rule: every published tensor's bytes follow from its name, so that none has to be stored.

tests/rule_model.cc makes the same bytes from the list that Checkpoint.listing gives. What a tensor is called and how a
matrix is packed is written here from the formats' own descriptions, apart from the reader under test.

The rule. h(i) = mix(fnv1a("SEED/NAME") + (i + 1) * GOLDEN), 64 bits, mix as in splitmix64; top byte: sign s, 7 bits m.
  float types  mean + s * amplitude * (128 + m) / 256, rounded to the type
  U32          the upper half of h
  F8_E4M3      the top byte; the two codes that are no number lose their lowest bit
Biases of affine codes are hashed by the name of their scales: as in real files they centre the codes, nearly.
"""

from dataclasses import dataclass, field
from math import log2

import numpy as np
import torch

GOLDEN = 0x9E3779B97F4A7C15
MASK = (1 << 64) - 1
RULE_DEVIATION = 0.76  # of the rule's values, amplitude 1
E4M3_DEVIATION = 100   # of all codes, equally often

TRUNK_FILE = "model.safetensors"
SIDE_CAR = "mtp.safetensors"

FLOAT_TYPES = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}


def fnv1a(text):
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 & MASK
    return value


def hashes(seed, name, n):
    index = np.arange(1, n + 1, dtype=np.uint64)
    with np.errstate(over="ignore"):
        z = np.uint64(fnv1a(f"{seed}/{name}")) + index * np.uint64(GOLDEN)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def power_of_two(x):
    """The nearest: products of the rule are then exact, and nearly every value is exact in every type."""
    return 2.0 ** round(log2(x))


@dataclass(frozen=True)
class Affine:
    """MLX affine codes, scales and biases of type `scales`."""
    bits: int
    group: int
    scales: str = "BF16"

    def entry(self):
        return {"group_size": self.group, "bits": self.bits}


@dataclass(frozen=True)
class Fp8:
    """E4M3 codes with a scale for each 128 x 128 block."""
    scales: str = "BF16"


@dataclass(frozen=True)
class Format:
    """One way to publish a checkpoint."""
    name: str
    dtype: str = "BF16"           # of everything that is not quantised
    quant: object = None          # Affine, Fp8 or None
    layout: str = "hf"            # or "mlx": stacked experts, convolution [C, 4, 1], norms with the one added
    experts: str = "each"         # or "fused", "turned", "stacked"
    mtp_experts: str = "each"
    mtp: str = "none"             # or "embedded", "side-car"
    gates: str = "BF16"           # type of A_log, dt_bias and the gated norm
    flat: bool = False            # a flat configuration, where the family has a nested one too
    overrides: dict = field(default_factory=dict)  # end of a module's name -> Affine, or None: not quantised


@dataclass(frozen=True)
class Names:
    """Where a family and layout put the tensors."""
    trunk: str      # instead of "model."
    head: str = ""  # before "lm_head" and, where it is embedded, "mtp."
    is_zero_centred: bool = False


class Checkpoint:
    """Makes tensors one by one and remembers what was made."""

    def __init__(self, seed, form, names, unquantised=lambda module: False):
        self.seed, self.form, self.names, self.is_unquantised = seed, form, names, unquantised
        self.rows = {}       # file -> (dtype, shape, mean, amplitude) -> names
        self.overrides = {}  # module -> entry of MLX's "quantization"
        self.left_alone = []  # modules that an FP8 configuration lists

    def tensor(self, name, dtype, shape, mean=0.0, amplitude=0.0):
        """One stored tensor; returns its values in float32, or its code words."""
        file = SIDE_CAR if self.is_beside(name) else TRUNK_FILE
        key = (dtype, tuple(shape), mean, amplitude)
        self.rows.setdefault(file, {}).setdefault(key, []).append(name)
        hashed = name.removesuffix(".biases") + ".scales" if name.endswith(".biases") else name
        h = hashes(self.seed, hashed, int(np.prod(shape))).reshape(shape)
        if dtype == "U32":
            return (h >> np.uint64(32)).astype("<u4")
        byte = (h >> np.uint64(56)).astype(np.uint8)
        if dtype == "F8_E4M3":
            byte = np.where(byte & 0x7F == 0x7F, byte & 0xFE, byte).astype(np.uint8)
            return torch.from_numpy(byte).view(torch.float8_e4m3fn).float()
        sign = np.where(byte & 0x80, -1.0, 1.0)
        value = mean + sign * (amplitude * (128 + (byte & 0x7F)) / 256)
        return torch.from_numpy(value.astype(np.float32)).to(FLOAT_TYPES[dtype]).float()

    def quant_of(self, module):
        """How `module` is stored, noting what the configuration has to say about it."""
        quant = self.form.quant
        if self.is_beside(module):
            return None
        for end, override in self.form.overrides.items():
            if module.endswith(end):
                self.overrides[module] = override.entry() if override else False
                return override
        if isinstance(quant, Fp8) and self.is_unquantised(module):
            self.left_alone.append(module)
            return None
        return quant

    def matrix(self, module, n_out, n_in, deviation, lead=()):
        """The matrix [*lead, n_out, n_in] of a module, values in float32."""
        quant = self.quant_of(module)
        shape = (*lead, n_out, n_in)
        if isinstance(quant, Affine):
            return self.affine_matrix(module, quant, shape, deviation)
        if isinstance(quant, Fp8):
            return self.fp8_matrix(module, quant, shape, deviation)
        amplitude = power_of_two(deviation / RULE_DEVIATION)
        return self.tensor(module + ".weight", self.form.dtype, shape, 0.0, amplitude)

    def affine_matrix(self, module, quant, shape, deviation):
        *lead, n_in = shape
        bits, group = quant.bits, quant.group
        assert n_in % group == 0, (module, shape, quant)
        words = self.tensor(module + ".weight", "U32", (*lead, n_in * bits // 32))
        reach = power_of_two(2 * deviation)  # of values to either side
        groups = (*lead, n_in // group)
        scales = self.tensor(module + ".scales", quant.scales, groups, 0.0, reach / 2 ** (bits - 1))
        biases = self.tensor(module + ".biases", quant.scales, groups, reach / 8, -reach)
        # A row is one stream of bits, lowest first.
        stream = np.unpackbits(words.view(np.uint8), axis=-1, bitorder="little")
        codes = stream.reshape(*lead, n_in // group, group, bits) @ (1.0 * (1 << np.arange(bits)))
        value = scales.double()[..., None] * torch.from_numpy(codes) + biases.double()[..., None]
        return value.flatten(-2).float()

    def fp8_matrix(self, module, quant, shape, deviation):
        n_out, n_in = shape
        blocks = (-(-n_out // 128), -(-n_in // 128))
        amplitude = power_of_two(deviation / E4M3_DEVIATION / RULE_DEVIATION)
        codes = self.tensor(module + ".weight", "F8_E4M3", shape)
        scales = self.tensor(module + ".weight_scale_inv", quant.scales, blocks, 0.0, amplitude)
        spread = scales.repeat_interleave(128, 0).repeat_interleave(128, 1)
        return codes * spread[:n_out, :n_in]

    def parameter(self, name, shape):
        """A parameter of the module that computes, from what the checkpoint has for it."""
        public, leaf = self.public(name), name.rsplit(".", 2)[-2:]
        if name.endswith(".mlp.experts.gate_up_proj"):
            return self.gate_up(public.removesuffix("experts.gate_up_proj"), shape)
        if name.endswith(".mlp.experts.down_proj"):
            return self.down(public.removesuffix("experts.down_proj"), shape)
        if leaf[0] == "conv1d":
            stored = (shape[0], shape[2], 1) if self.form.layout == "mlx" else shape
            return self.tensor(public, self.form.dtype, stored, 0.0, 0.5).reshape(shape)
        if len(shape) == 1:
            return self.vector(name, public, shape)
        return self.matrix(public.removesuffix(".weight"), *shape, deviation_of(name, shape[-1]))

    def public(self, name):
        if name.startswith("model."):
            return self.names.trunk + name.removeprefix("model.")
        return name if self.is_beside(name) else self.names.head + name

    def vector(self, name, public, shape):
        if name.endswith(".A_log"):
            return self.tensor(public, self.form.gates, shape, -1.0, 2.0)
        if name.endswith(".dt_bias"):
            return self.tensor(public, self.form.gates, shape, -0.5, 1.0)
        if name.endswith(".linear_attn.norm.weight"):
            return self.tensor(public, self.form.gates, shape, 1.0, 0.25)
        if name.endswith(".bias"):
            return self.tensor(public, self.form.dtype, shape, 0.0, 0.5)
        is_raw = self.names.is_zero_centred and (self.form.layout == "hf" or self.is_beside(public))
        value = self.tensor(public, self.form.dtype, shape, 0.0 if is_raw else 1.0, 0.25)
        return value - 1 if self.names.is_zero_centred and not is_raw else value

    def is_beside(self, public):
        return self.form.mtp == "side-car" and public.startswith("mtp.")

    def experts_form(self, prefix):
        return self.form.mtp_experts if "mtp." in prefix else self.form.experts

    def gate_up(self, prefix, shape):
        """[experts, gate rows then up rows, width], however they are stored."""
        n, rows, width = shape
        deviation, form = deviation_of(prefix, width), self.experts_form(prefix)
        if form in ("fused", "turned"):
            return self.stack(prefix + "experts.gate_up_proj", shape, form, deviation)
        parts = [self.experts(prefix, part, form, (n, rows // 2, width), deviation)
                 for part in ("gate_proj", "up_proj")]
        return torch.cat(parts, 1)

    def down(self, prefix, shape):
        deviation, form = deviation_of(prefix, shape[-1]), self.experts_form(prefix)
        if form in ("fused", "turned"):
            return self.stack(prefix + "experts.down_proj", shape, form, deviation)
        return self.experts(prefix, "down_proj", form, shape, deviation)

    def stack(self, name, shape, form, deviation):
        n, n_out, n_in = shape
        amplitude = power_of_two(deviation / RULE_DEVIATION)
        if form == "fused":
            return self.tensor(name, self.form.dtype, shape, 0.0, amplitude)
        # Inputs first, as some files that were saved again have them.
        return self.tensor(name, self.form.dtype, (n, n_in, n_out), 0.0, amplitude).transpose(1, 2).contiguous()

    def experts(self, prefix, part, form, shape, deviation):
        n, n_out, n_in = shape
        if form == "stacked":
            return self.matrix(f"{prefix}switch_mlp.{part}", n_out, n_in, deviation, lead=(n,))
        return torch.stack([self.matrix(f"{prefix}experts.{e}.{part}", n_out, n_in, deviation) for e in range(n)])

    def quantization(self):
        """What config.json says about it; its keys stand at the top."""
        quant = self.form.quant
        if isinstance(quant, Affine):
            mlx = {**quant.entry(), "mode": "affine", **self.overrides}
            return {"quantization": mlx, "quantization_config": mlx}
        if isinstance(quant, Fp8):
            return {"quantization_config": {
                "quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic", "weight_block_size": [128, 128],
                "modules_to_not_convert": sorted(self.left_alone)}}
        return {}

    def listing(self):
        """file -> [name patterns, dtype, shape, mean, amplitude]; {a,b} in a pattern stands for either."""
        return {file: [[merged(names), dtype, list(shape), mean, amplitude]
                       for (dtype, shape, mean, amplitude), names in rows.items()]
                for file, rows in self.rows.items()}


def deviation_of(name, n_in):
    if name.endswith("embed_tokens.weight") or name.startswith("lm_head"):
        return 3 / n_in ** 0.5  # logits of about 3; the norm behind an embedding takes any
    if name.endswith(".gate.weight"):
        return 2 / n_in ** 0.5  # routers that choose
    return 1 / n_in ** 0.5


def merged(names):
    """Names that differ in one dotted component become one pattern, component after component."""
    rows = [tuple(name.split(".")) for name in names]
    for at in range(max(map(len, rows))):
        groups = {}
        for row in rows:
            key = (row[:at], row[at + 1:]) if at < len(row) and "{" not in row[at] else (row,)
            groups.setdefault(key, []).append(row)
        rows = []
        for group in groups.values():
            first = group[0]
            joined = "{" + ",".join(row[at] for row in group) + "}" if len(group) > 1 else None
            rows.append((*first[:at], joined, *first[at + 1:]) if joined else first)
    return [".".join(row) for row in rows]
