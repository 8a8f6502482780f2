"""Small models of torchvision, as that library writes them. To be imported before transformers, which imports torchvision
where there is one; torchvision's own operations are not needed, so a build for another torch will do.
"""
import torch

for _name in ("nms", "qnms"):
    try:
        torch.library.define(f"torchvision::{_name}", "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    except RuntimeError:  # a build that fits this torch has it
        pass


def known():
    try:
        from torchvision.models import convnext, swin_transformer, vision_transformer
    except ImportError:
        return {}
    swin = dict(patch_size=[2, 2], embed_dim=16, depths=[2, 2], num_heads=[2, 4], window_size=[4, 4], num_classes=10)
    return {
        "vit": lambda: vision_transformer.VisionTransformer(32, 8, 2, 4, 32, 64, num_classes=10),
        "swin": lambda: swin_transformer.SwinTransformer(**swin),
        "swin_v2": lambda: swin_transformer.SwinTransformer(
            **swin, block=swin_transformer.SwinTransformerBlockV2, downsample_layer=swin_transformer.PatchMergingV2),
        "convnext": lambda: convnext.ConvNeXt(
            [convnext.CNBlockConfig(16, 32, 1), convnext.CNBlockConfig(32, None, 1)], num_classes=10),
    }
