"""Takes a `transformers.KernelConfig`, or a mapping of the `kernels` library, over to kernelmap, and loads
rewritten archives.

    import kernelmap
    kernelmap.dump(kernel_config, "kernels.json")
    model = kernelmap.load("model.kernelmap.pt")

dump reads only the attributes of what it is given: importing this package imports neither torch, transformers
nor kernels, and nothing is loaded or downloaded. load needs torch.
"""

from kernelmap._dump import dump
from kernelmap._errors import DumpError
from kernelmap._load import load

__all__ = ["DumpError", "dump", "load"]
