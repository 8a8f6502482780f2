"""The configs of the two documentations as Python has them, by the name of their twins: (config, arguments of dump)."""

import sys

from standins import (CUDAProperties, Device, FuncRepository, KernelConfig, LayerRepository, LocalLayerRepository, Mode,
                      ROCMProperties)

ACTIVATION = "kernels-community/activation"
LIGER = "kernels-community/liger_kernels:LigerRMSNorm"
FLASH = "kernels-community/flash-attn2"
LAYER_NORM = "kernels-community/layer_norm:LlamaRMSNorm"


def silu(repo=ACTIVATION, name="SiluAndMul", **more):
    return LayerRepository(repo, layer_name=name, **(more or {"version": 1}))


def cuda(low, high):
    return Device("cuda", CUDAProperties(low, high))


def attention(name, **more):
    return {}, {"attn_implementation": name, **more}  # without use_kernels nothing else is replaced


def fusion(repo):
    members = (("RMSNorm", "model.layers.*.post_attention_layernorm"), ("MLP", "model.layers.*.mlp"))
    return KernelConfig({members: f"{repo}:RMSNormMLP"}), {}


def local_function(path, name):
    repository = LocalLayerRepository(path, layer_name=None)
    repository.func_name = name
    return repository


TRANSFORMERS = {
    "use_kernels": (KernelConfig(), {}),
    "mode_inference": (KernelConfig(), {}),
    "mode_training": (KernelConfig(), {}),
    "mode_training_compile": (KernelConfig(), {}),
    "kernel_config": (KernelConfig({"RMSNorm": LIGER}), {"attn_implementation": f"{FLASH}:FlashAttention2"}),
    "kernel_config_two_layers": (KernelConfig({"RMSNorm": LIGER, "LlamaAttention": f"{FLASH}:FlashAttention2"}), {}),
    "devices": (KernelConfig({"RMSNorm": {"cuda": LIGER, "rocm": "kernels-community/rocm-kernels:RocmRMSNorm",
                                          "metal": "kernels-community/metal-kernels:MetalRMSNorm",
                                          "xpu": "kernels-community/xpu-kernels:XpuRMSNorm"}}), {}),
    "fusion": fusion("owner/fused-rmsnorm-mlp"),
    "writing_fusion": fusion("owner/my-kernel"),
    "writing_parameters": (KernelConfig({"RMSNorm": "owner/my-kernel:CustomRMSNorm"}), {}),
    "local": (KernelConfig({"RMSNorm": "/path/to/liger_kernels:LigerRMSNorm"}, use_local_kernel=True), {}),
    "disabled": (KernelConfig({"RMSNorm": ""}), {}),
    "sources": (KernelConfig({"RMSNorm": "org/repo:layer_name", "SiLU": "org/repo@v1.2.3:layer_name",
                              "GeLU": "org/repo@>=1.0,<2.0:layer_name"}), {}),
    "metadata": (KernelConfig({"RMSNorm": (LAYER_NORM, {"version": 1, "trust_remote_code": True})}), {}),
    "single_device": (KernelConfig({"RMSNorm": LAYER_NORM}), {}),
    "multiple_devices": (KernelConfig({"RMSNorm": {"cuda": LAYER_NORM, "rocm": LAYER_NORM}}), {}),
    "local_multiple_devices": (KernelConfig({"RMSNorm": {"cuda": "/abs/path:LlamaRMSNorm",
                                                         "rocm": "/abs/path:LlamaRMSNorm"}}, True), {}),
}

KERNELS = {
    "layers": {"SiluAndMul": {"cuda": silu(), "rocm": silu()}},
    "function": {"SiluAndMul": {"cuda": FuncRepository(ACTIVATION, func_name="silu_and_mul", version=1)}},
    "modes": {"SiluAndMul": {"cuda": {
        Mode.INFERENCE: silu(f"{ACTIVATION}-inference-optimized"),
        Mode.TRAINING | Mode.TORCH_COMPILE: silu(f"{ACTIVATION}-training-optimized")}}},
    "modes_fallback": {"SiluAndMul": {"cuda": {
        Mode.FALLBACK: silu(),
        Mode.INFERENCE: silu(f"{ACTIVATION}-inference-optimized"),
        Mode.TRAINING: silu(f"{ACTIVATION}-training-optimized")}}},
    "training_and_inference": {
        "LlamaRMSNorm": {"cuda": silu("kernels-community/layer_norm", "LlamaRMSNorm")},
        "MultiHeadAttention": {"cuda": {
            Mode.TRAINING: silu("kernels-community/training-kernels", "TrainingAttention"),
            Mode.INFERENCE: silu("kernels-community/inference-kernels", "FastAttention")}}},
    "capabilities": {"SiluAndMul": {cuda(75, 89): silu(), cuda(90, sys.maxsize): silu(f"{ACTIVATION}-hopper")}},
    "smallest_interval": {"SiluAndMul": {cuda(80, 89): silu(name="KernelA"), cuda(75, 89): silu(name="KernelB")}},
    "rocm_capabilities": {"SiluAndMul": {Device("rocm", ROCMProperties(90, 94)): silu()}},
    "local_layer": {"SiluAndMul": {"cuda": LocalLayerRepository("/home/daniel/kernels/activation",
                                                                layer_name="SiluAndMul")}},
    "local_function": {"silu_and_mul": {"cuda": local_function("/home/daniel/kernels/activation", "silu_and_mul")}},
    "revision": {"SiluAndMul": {"cuda": FuncRepository(ACTIVATION, func_name="silu_and_mul", revision="main")},
                 "ReLU": {"cuda": FuncRepository("kernels-community/relu", func_name="relu", version=1)}},
}

FORMS = {**{f"transformers_docs/{name}": form for name, form in TRANSFORMERS.items()},
         **{f"kernels_docs/{name}": (mapping, {}) for name, mapping in KERNELS.items()},
         **{f"transformers_docs/attention_{name}": attention(*rest) for name, *rest in (
             ("hub", FLASH), ("tag", f"{FLASH}@v2.1.0"), ("specifier", f"{FLASH}@>=2.0,<3.0"), ("sdpa", "sdpa"),
             ("eager", "eager"))},
         **{f"transformers_docs/flash_attention_{n}": attention(f"flash_attention_{n}") for n in (2, 3, 4)},
         "transformers_docs/attention_untrusted": attention("random-repo/random-attention", allow_all_kernels=True)}
# What Python has no form for: a lock file says which commit; specifiers are no longer taken.
WITHOUT_FORM = {"kernels_docs/locked", "kernels_docs/specifiers"}
