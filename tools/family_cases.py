"""The checkpoints of tests/golden/families: every family in every format, shapes and spellings spread over them."""

from dataclasses import dataclass

from rule_checkpoint import Affine, Format, Fp8, Names

VOCAB_SIZE = 61  # no multiple of any tile


@dataclass(frozen=True)
class Shape:
    """Sizes in which every group of 32, 64 or 128 columns fits, or none does."""
    name: str
    hidden: int
    intermediate: int
    heads: tuple         # attention and KV heads, of 32 dims
    delta_heads: tuple   # key and value heads
    delta_dims: tuple    # key and value dims of one head
    experts: tuple       # how many, chosen, intermediate size, shared intermediate size
    tied: bool


SHAPES = {shape.name: shape for shape in [
    #      name       hidden ffn  heads   delta   dims        experts            tied
    Shape("g32",       96,  160, (3, 1), (1, 3), (32, 32),   (7, 2, 32, 64),    True),
    Shape("g64",       64,  192, (4, 2), (2, 4), (32, 32),   (6, 3, 64, 64),    False),
    Shape("g128",     128,  128, (4, 4), (4, 4), (16, 32),   (5, 2, 128, 128),  False),
    Shape("odd",      136,  200, (8, 2), (2, 6), (24, 32),   (4, 2, 136, 144),  False),
    Shape("heads128", 136,  144, (4, 2), (2, 4), (128, 128), (4, 2, 136, 136),  False),
]}


def affine(bits, group, scales="BF16", **more):
    return Format(f"affine{bits}_g{group}", dtype=scales, quant=Affine(bits, group, scales), layout="mlx",
                  experts="stacked", mtp_experts="stacked", **more)


def common(model_type, shape, n_layers):
    return {
        "model_type": model_type,
        "vocab_size": VOCAB_SIZE,
        "hidden_size": shape.hidden,
        "intermediate_size": shape.intermediate,
        "num_hidden_layers": n_layers,
        "num_attention_heads": shape.heads[0],
        "num_key_value_heads": shape.heads[1],
        "head_dim": 32,
        "hidden_act": "silu",
        "max_position_embeddings": 512,
        "rms_norm_eps": 1e-6,
        "tie_word_embeddings": shape.tied,
        "attention_bias": False,
    }


def experts(shape, shared):
    n, chosen, size, shared_size = shape.experts
    keys = {"num_experts": n, "num_experts_per_tok": chosen, "moe_intermediate_size": size}
    return keys | ({"shared_expert_intermediate_size": shared_size} if shared else {})


def delta_net(shape):
    return {
        "linear_conv_kernel_dim": 4,
        "linear_key_head_dim": shape.delta_dims[0],
        "linear_value_head_dim": shape.delta_dims[1],
        "linear_num_key_heads": shape.delta_heads[0],
        "linear_num_value_heads": shape.delta_heads[1],
    }


YARN = {"factor": 4.0, "original_max_position_embeddings": 32}
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 64}


def llama(shape):
    rope = {
        "g32": {"rope_theta": 10000.0, "rope_scaling": None},
        "g64": {"rope_theta": 500000.0, "rope_scaling": LLAMA3},
        "g128": {"rope_parameters": {"rope_type": "default", "rope_theta": 500000.0}},
        "odd": {"rope_parameters": {**LLAMA3, "rope_theta": 10000.0}},
    }[shape.name]
    config = common("llama", shape, 2) | {"mlp_bias": False} | rope
    if shape.hidden == 32 * shape.heads[0]:
        del config["head_dim"]  # older checkpoints leave it out
    return config


def qwen2(shape):
    rope = {
        "g128": {"rope_theta": 10000.0, "rope_scaling": {**YARN, "type": "yarn"}},
        "odd": {"rope_parameters": {"rope_type": "default", "rope_theta": 1e6}},
    }.get(shape.name, {"rope_theta": 1e4})
    config = common("qwen2", shape, 2) | rope
    del config["attention_bias"], config["head_dim"]
    # This family has no key for the dims of a head: hidden_size over the number of heads decides.
    config |= {"g128": {"num_attention_heads": 8},
               "odd": {"hidden_size": 144, "num_attention_heads": 3, "num_key_value_heads": 3}}.get(shape.name, {})
    return config | {"use_sliding_window": False, "sliding_window": 4096, "max_window_layers": 2}


def qwen3(shape):
    rope = {
        "g64": {"rope_theta": 10000.0, "rope_scaling": {**YARN, "rope_type": "yarn", "beta_fast": 2.0}},
        "odd": {"rope_parameters": {"rope_type": "default", "rope_theta": 1e6}},
    }.get(shape.name, {"rope_theta": 1e5, "rope_scaling": None})
    return common("qwen3", shape, 2) | rope | {"use_sliding_window": False, "max_window_layers": 2}


def qwen3_moe(shape):
    placed = {
        "g32": {"decoder_sparse_step": 1, "mlp_only_layers": [1], "norm_topk_prob": True},
        "g64": {"decoder_sparse_step": 2, "mlp_only_layers": [], "norm_topk_prob": False},
        "g128": {"decoder_sparse_step": 1, "mlp_only_layers": [], "norm_topk_prob": True},
        "odd": {"decoder_sparse_step": 1, "mlp_only_layers": [0, 2]},
    }[shape.name]
    rope = {"rope_theta": 1e6, "rope_scaling": {**YARN, "rope_type": "yarn", "attention_factor": 1.25}}
    rope = rope if shape.name == "g128" else {"rope_theta": 1e4, "rope_scaling": None}
    return common("qwen3_moe", shape, 3) | experts(shape, shared=False) | placed | rope


def layer_types(shape):
    """Attention last, in the middle or first; or not said, and then every so many layers."""
    kinds = {"a": "full_attention", "d": "linear_attention"}
    order = {"g64": "dad", "g128": "add", "odd": "dda", "heads128": "da"}.get(shape.name)
    return [kinds[kind] for kind in order] if order else None


def hybrid(model_type, shape):
    types = layer_types(shape)
    interval = {"full_attention_interval": 3}
    return common(model_type, shape, len(types) if types else 3) | delta_net(shape) | (
        {"layer_types": types} if types else interval)


def qwen3_5_rope(shape):
    rope = {"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.25,
            "mrope_section": [2, 1, 1], "mrope_interleaved": True}
    if shape.name == "g64":
        return {"rope_parameters": {**rope, "partial_rotary_factor": 0.5}}
    if shape.name == "odd":
        return {"rope_parameters": {**rope, **YARN, "rope_type": "yarn", "partial_rotary_factor": 0.5}}
    return {"rope_parameters": rope}


def qwen3_5(shape):
    return hybrid("qwen3_5_text", shape) | qwen3_5_rope(shape) | {
        "attn_output_gate": True, "mamba_ssm_dtype": "float32", "mtp_num_hidden_layers": 1,
        "mtp_use_dedicated_embeddings": False} | ({"output_gate_type": "swish"} if shape.name == "g64" else {})


def qwen3_5_moe(shape):
    config = qwen3_5(shape) | experts(shape, shared=True) | {"model_type": "qwen3_5_moe_text"}
    del config["intermediate_size"]
    return config


def qwen3_next(shape):
    placed = {
        "g32": {"decoder_sparse_step": 1, "mlp_only_layers": [0], "norm_topk_prob": True},
        "g64": {"decoder_sparse_step": 2, "mlp_only_layers": [], "norm_topk_prob": False},
    }.get(shape.name, {"decoder_sparse_step": 1, "mlp_only_layers": [], "norm_topk_prob": True})
    return hybrid("qwen3_next", shape) | experts(shape, shared=True) | placed | {
        "partial_rotary_factor": 0.5 if shape.name == "g128" else 0.25, "rope_theta": 10000.0, "rope_scaling": None}


PLAIN = {"hf": Names("model."), "mlx": Names("model.")}
NESTED = {"hf": Names("model.language_model.", "", True), "mlx": Names("language_model.model.", "language_model.", True)}
FLAT = {"hf": Names("model.", "", True), "mlx": Names("model.", "", True)}


@dataclass(frozen=True)
class Family:
    name: str
    config: object
    names: dict
    cases: list  # of a shape's name and a Format


def stays_in_bf16(module):
    """What the official FP8 releases do not convert."""
    return module.endswith(("embed_tokens", "lm_head", ".gate", "shared_expert_gate", "in_proj_a", "in_proj_b",
                            "in_proj_ba", "mtp.fc", "layers.0.self_attn.o_proj"))


EIGHT = Affine(8, 64)
PUBLISHED_GATES = {"mlp.gate": EIGHT, "shared_expert_gate": EIGHT}  # as stock conversions have them


def plain(fp8, *quantised):
    """Cases of a family without a draft head."""
    return [("g32", Format("bf16")), ("g64", Format("f16", dtype="F16")), ("odd", Format("f32", dtype="F32")),
            ("odd", Format("fp8", quant=fp8)), *quantised]


FAMILIES = [
    Family("llama", llama, PLAIN, plain(
        Fp8(),
        ("g64", affine(2, 64)), ("g32", affine(3, 32)), ("g128", affine(4, 128)), ("g64", affine(5, 64, "F16")),
        ("g128", affine(6, 32, overrides={"lm_head": Affine(8, 128), "layers.1.mlp.down_proj": None})),
        ("g64", affine(8, 64)))),
    Family("qwen2", qwen2, PLAIN, plain(
        Fp8(),
        ("g128", affine(2, 128)), ("g64", affine(3, 64, "F32")), ("g32", affine(4, 32)), ("g128", affine(5, 128)),
        ("g64", affine(6, 64, overrides={"embed_tokens": Affine(4, 32)})), ("g32", affine(8, 32, "F16")))),
    Family("qwen3", qwen3, PLAIN, plain(
        Fp8("F32"),
        ("g32", affine(2, 32)), ("g128", affine(3, 128)), ("g64", affine(4, 64, "F16")), ("g32", affine(5, 32)),
        ("g128", affine(6, 128)), ("g64", affine(8, 64)))),
    Family("qwen3_moe", qwen3_moe, PLAIN, plain(
        Fp8("F32"),
        ("g64", affine(2, 64)), ("g32", affine(3, 32)),
        ("g64", affine(4, 64, overrides={"mlp.gate": EIGHT})), ("g128", affine(5, 128)),
        ("g32", affine(6, 32, "F16")), ("g128", affine(8, 128)))),
    Family("qwen3_5", qwen3_5, NESTED, [
        ("g32", Format("bf16", mtp="embedded")),
        ("g64", Format("f16", dtype="F16", gates="F32", flat=True)),
        ("odd", Format("f32", dtype="F32", gates="F32", mtp="embedded")),
        ("odd", Format("fp8", quant=Fp8("F32"), mtp="embedded")),
        ("g64", affine(2, 64)), ("g32", affine(3, 32, gates="F32")),
        ("g128", affine(4, 128, mtp="embedded")), ("g64", affine(5, 64, mtp="side-car")),
        ("g128", affine(6, 128, "F16", mtp="embedded",
                        overrides={"in_proj_a": Affine(8, 32), "in_proj_b": None, "mtp.fc": Affine(4, 64)})),
        ("g32", affine(8, 32))]),
    Family("qwen3_5_moe", qwen3_5_moe, NESTED, [
        ("g64", Format("bf16", experts="fused", mtp="embedded")),
        ("g32", Format("f16", dtype="F16", experts="turned", flat=True)),
        ("odd", Format("f32", dtype="F32", gates="F32", experts="fused", mtp_experts="fused", mtp="embedded")),
        ("odd", Format("fp8", quant=Fp8(), mtp="embedded")),
        ("g32", affine(2, 32)), ("g64", affine(3, 64, mtp="side-car", overrides=PUBLISHED_GATES)),
        ("g64", affine(4, 64, mtp="embedded", overrides=PUBLISHED_GATES)), ("g128", affine(5, 128)),
        ("g64", affine(6, 32, "F16", overrides={"switch_mlp.down_proj": EIGHT, "switch_mlp.up_proj": Affine(3, 64)})),
        ("g128", affine(8, 128, mtp="embedded"))]),
    Family("qwen3_next", qwen3_next, FLAT, [
        ("g32", Format("bf16", mtp="embedded")),
        ("g64", Format("f16_mlx", dtype="F16", layout="mlx", experts="stacked")),
        ("odd", Format("f32", dtype="F32", gates="F32", mtp="embedded")),
        ("heads128", Format("fp8", quant=Fp8(), mtp="embedded")),
        ("g128", affine(2, 128)), ("g32", affine(3, 32)),
        ("g64", affine(4, 64, mtp="embedded", overrides=PUBLISHED_GATES)),
        ("g32", affine(5, 32, "F16", mtp="embedded")), ("g64", affine(6, 64)), ("g128", affine(8, 64, mtp="side-car"))]),
]


def published(family, form, text, quantization):
    """config.json around the text model's own keys."""
    if family.names is not NESTED:
        return text | quantization
    if form.flat:
        return text | quantization
    outer = {"model_type": family.name, "tie_word_embeddings": text["tie_word_embeddings"], "text_config": text}
    return outer | quantization


def names_of(family, form):
    return (FLAT if family.names is NESTED and form.flat else family.names)[form.layout]

