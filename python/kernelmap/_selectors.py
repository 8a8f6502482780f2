"""Keys of a Python mapping: devices, modes and fusions.

Objects are known by their attributes, so that any version of `kernels`, or a stand-in, will do.
"""

import enum

from kernelmap._errors import DumpError

DEVICES = ("cpu", "cuda", "rocm", "mps", "metal", "xpu", "npu", "neuron", "tpu")
# No device has a higher capability: what is above means that there is no upper bound.
HIGHEST_CAPABILITY = 9999
MODES = ("INFERENCE", "TRAINING", "TORCH_COMPILE", "FALLBACK")


def device_selector(key, where: str) -> str:
    """`"cuda"`, or a Device with its range of capabilities: `cuda>=7.5,<=8.9`."""
    kind, properties = key, None
    if not isinstance(key, str):
        kind = getattr(key, "type", None)
        properties = getattr(key, "properties", None)
    if not isinstance(kind, str):
        raise DumpError(where, f"{key!r} is not a device")
    if kind not in DEVICES:
        raise DumpError(where, f"{kind!r} is not a device that kernelmap knows")
    kind = "mps" if kind == "metal" else kind
    if properties is None:
        return kind
    low = getattr(properties, "min_capability", None)
    high = getattr(properties, "max_capability", None)
    for bound in (low, high):
        if not isinstance(bound, int) or isinstance(bound, bool) or bound < 0:
            raise DumpError(where, f"{properties!r} has no range of capabilities")
    if kind not in ("cuda", "rocm"):
        raise DumpError(where, f"a device {kind!r} has no capabilities")
    if low > high or low > HIGHEST_CAPABILITY:
        raise DumpError(where, f"no capability is in {low}..{high}")
    if low == high:
        return f"{kind}=={_capability(low)}"
    bounds = []
    if low > 0:
        bounds.append(f">={_capability(low)}")
    if high <= HIGHEST_CAPABILITY:
        bounds.append(f"<={_capability(high)}")
    return kind + ",".join(bounds)


def _capability(tens: int) -> str:
    return f"{tens // 10}.{tens % 10}"


def mode_text(key, where: str) -> str:
    """A Mode flag as its words: `inference|torch_compile`."""
    if not isinstance(key, enum.Flag):
        raise DumpError(where, f"{key!r} is not a mode")
    members = type(key).__members__
    words = [name for name in MODES if name in members and members[name].value & key.value]
    known = 0
    for name in words:
        known |= members[name].value
    if not words or known != key.value:
        raise DumpError(where, f"{key!r} is not a mode that kernelmap knows")
    return "|".join(word.lower() for word in words)


def is_mode(key) -> bool:
    return isinstance(key, enum.Flag)


def fusion_members(key, where: str) -> list:
    """The (layer name, path pattern) pairs of a fusion's key, as lists."""
    members = []
    for pair in key:
        fine = (isinstance(pair, (tuple, list)) and len(pair) == 2 and
                all(isinstance(part, str) and part for part in pair))
        if not fine:
            raise DumpError(where, f"{pair!r} is not a pair of a layer name and a path pattern")
        members.append(list(pair))
    if len(members) < 2:
        raise DumpError(where, "a fusion has two modules or more")
    parents = {pattern.rpartition(".")[0] for _, pattern in members}
    if len(parents) != 1:
        raise DumpError(where, "the patterns of a fusion have one parent, not "
                        + " and ".join(repr(parent) for parent in sorted(parents)))
    return members
