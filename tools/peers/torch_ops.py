#!/usr/bin/env python3
"""Times attention and products of PyTorch on a CPU by rows; prints JSON lines. Runs under a Python that has torch.

Usage: torch_ops.py attention --kernel sdpa --shape 24x4x256 --context 20480 --rows 1,8 --threads 2 [--seconds 4]
       torch_ops.py product --kernel int4pack --shape 17408x5120 --rows 1,8 --threads 2 [--seconds 4]
"""
import sys

import torch
from torch.nn import functional

from rounds import Operation, n_rotated, parse_options, run_peer

GROUP = 64  # columns that share a scale, as in our formats


def causal_mask(n_rows, n_tokens):
    """Of rows that are the last tokens: 0 up to a row's own token, then minus infinity."""
    later = torch.arange(n_tokens)[None, :] > torch.arange(n_tokens - n_rows, n_tokens)[:, None]
    return torch.zeros(n_rows, n_tokens, dtype=torch.bfloat16).masked_fill(later, float("-inf"))


def make_caches(options):
    _, n_kv_heads, head_dim = options.shape
    first = torch.randn(2, 1, n_kv_heads, options.context, head_dim).bfloat16()
    return [first, *(first.clone() for _ in range(n_rotated(first.nbytes) - 1))]


def sdpa(options):
    """scaled_dot_product_attention with grouped queries."""
    n_heads, _, head_dim = options.shape
    inputs = {rows: (torch.randn(1, n_heads, rows, head_dim).bfloat16(),
                     causal_mask(rows, options.context) if rows > 1 else None) for rows in options.rows}

    def run(cache, of_rows):
        query, mask = of_rows
        functional.scaled_dot_product_attention(query, cache[0], cache[1], attn_mask=mask, enable_gqa=True)
    return Operation("bf16", make_caches(options), inputs, run)


def sdpa_packed(options):
    """The same where the caller packs the query heads of a KV head into the rows of one head."""
    n_heads, n_kv_heads, head_dim = options.shape
    group = n_heads // n_kv_heads
    inputs = {rows: (torch.randn(1, n_kv_heads, group * rows, head_dim).bfloat16(),
                     causal_mask(rows, options.context).repeat(group, 1)) for rows in options.rows}

    def run(cache, of_rows):
        query, mask = of_rows
        functional.scaled_dot_product_attention(query, cache[0], cache[1], attn_mask=mask)
    return Operation("bf16", make_caches(options), inputs, run)


def product(options, format_name, make_weight, multiply, make_input=None):
    """An operation that multiplies rows by weights, which are copies of one."""
    n_in = options.shape[1]
    first = make_weight(*options.shape)
    copies = [first]
    while len(copies) < n_rotated(first[0].nbytes):
        copies.append(tuple(part.clone() for part in first))
    make_input = make_input or (lambda rows: torch.randn(rows, n_in).bfloat16())
    return Operation(format_name, copies, {rows: make_input(rows) for rows in options.rows}, lambda weight, x: multiply(x, *weight))


def random_codes(n_out, n_in, low, high, dtype):
    return torch.randint(low, high, (n_out, n_in), dtype=dtype)


def linear(options):
    """BF16 weights as they lie."""
    return product(options, "bf16", lambda n_out, n_in: (torch.randn(n_out, n_in).bfloat16(),), functional.linear)


def linear_packed(options):
    """BF16 weights in the layout that oneDNN chooses for 16 rows."""
    n_out, n_in = options.shape
    weights = [torch.ops.mkldnn._reorder_linear_weight(torch.randn(n_out, n_in).bfloat16(), 16)
               for _ in range(n_rotated(2 * n_out * n_in))]
    inputs = {rows: torch.randn(rows, n_in).bfloat16() for rows in options.rows}
    return Operation("bf16", weights, inputs,
                     lambda weight, x: torch.ops.mkldnn._linear_pointwise(x, weight, None, "none", [], ""))


def int4pack(options):
    """4-bit codes in groups, BF16 inputs."""
    def pack(n_out, n_in):
        codes = random_codes(n_out, n_in, 0, 16, torch.int32)
        return (torch.ops.aten._convert_weight_to_int4pack_for_cpu(codes, 1), torch.rand(n_in // GROUP, n_out, 2).bfloat16())

    def multiply(x, codes, scales_and_zeros):
        return torch.ops.aten._weight_int4pack_mm_for_cpu(x, codes, GROUP, scales_and_zeros)
    return product(options, "int4", pack, multiply)


def int8pack(options):
    """8-bit codes, a scale for each output, BF16 inputs."""
    def pack(n_out, n_in):
        return (random_codes(n_out, n_in, -128, 128, torch.int8), torch.rand(n_out).bfloat16())
    return product(options, "int8", pack, torch.ops.aten._weight_int8pack_mm)


def random_rows_of_codes(options, dtype, low, high):
    return lambda rows: random_codes(rows, options.shape[1], low, high, dtype)


def int_mm(options):
    """8-bit codes by 8-bit inputs, neither rounding of inputs nor scales."""
    def pack(n_out, n_in):
        return (random_codes(n_out, n_in, -128, 128, torch.int8),)
    return product(options, "int8", pack, lambda x, codes: torch._int_mm(x, codes.t()),
                   random_rows_of_codes(options, torch.int8, -128, 128))


def qlinear(options):
    """oneDNN's packed 8-bit codes, a scale for each output, by 8-bit inputs; no rounding of inputs."""
    n_out, n_in = options.shape
    scales, zeros = torch.rand(n_out) + 0.1, torch.zeros(n_out, dtype=torch.int64)

    def multiply(x, codes):
        return torch.ops.onednn.qlinear_pointwise(
            x, 0.1, 128, codes, scales, zeros, None, 1.0, 0, torch.bfloat16, "none", [], "")
    weights = [torch.ops.onednn.qlinear_prepack(random_codes(n_out, n_in, -128, 128, torch.int8), [16, n_in])
               for _ in range(n_rotated(n_out * n_in))]
    make_input = random_rows_of_codes(options, torch.uint8, 0, 256)
    return Operation("int8", weights, {rows: make_input(rows) for rows in options.rows}, lambda weight, x: multiply(x, weight))


KERNELS = {
    "attention": {"sdpa": sdpa, "sdpa_packed": sdpa_packed},
    "product": {"int4pack": int4pack, "int8pack": int8pack, "int_mm": int_mm, "qlinear": qlinear, "linear": linear,
                "linear_packed": linear_packed},
}


if __name__ == "__main__":
    run_peer(parse_options(sys.argv[1:], __doc__, KERNELS), KERNELS, "torch", torch.__version__)
