"""Training of archives: data with something to learn in it, and curves of the loss."""

import km
import torch
import torch.nn.functional as F

STEPS = 50
# name: how it is made. Rates at which the small models learn without swinging.
OPTIMIZERS = {
    "AdamW": lambda parameters: torch.optim.AdamW(parameters, lr=3e-3),
    "SGD": lambda parameters: torch.optim.SGD(parameters, lr=0.05, momentum=0.9),
}
# Largest relative difference of the loss at any step.
TOLERANCE = {torch.float32: 1e-5, torch.bfloat16: 0.02}


def batches(steps=STEPS, shape=(4, 16)):
    """Token ids, each of which follows from the first of its row."""
    generator = torch.Generator().manual_seed(0)
    for _ in range(steps):
        first = torch.randint(1, 100, (shape[0], 1), generator=generator)
        yield torch.cat([first, (first * 7 + torch.arange(1, shape[1])) % 99 + 1], 1)


def loss_of(model, ids):
    out = km.tensors(model(ids))[0]
    # Some of the small models have no head: their features stand for words.
    return F.cross_entropy(out[:, :-1].flatten(0, 1).float(), ids[:, 1:].flatten() % out.shape[-1])


def train(model, optimizer="AdamW", steps=STEPS):
    """The loss at each step."""
    model.train()
    # TorchScript's own differentiation fails on stock bf16 archives: its matmul mixes dtypes.
    with torch.enable_grad(), torch.jit.optimized_execution(False):
        made = OPTIMIZERS[optimizer]([p for p in model.parameters() if p.requires_grad])
        losses = []
        torch.manual_seed(0)  # dropout draws the same
        for ids in batches(steps):
            made.zero_grad()
            loss = loss_of(model, ids)
            loss.backward()
            made.step()
            losses.append(loss.item())
    return losses


def gradients(model, ids):
    with torch.enable_grad(), torch.jit.optimized_execution(False):
        torch.manual_seed(0)
        loss_of(model, ids).backward()
    return {name: p.grad for name, p in model.named_parameters()}
