"""Takes a `transformers.KernelConfig`, or a mapping of the `kernels` library, over to kernelmap.

    import kernelmap
    kernelmap.dump(kernel_config, "kernels.json")

Only the attributes of what is given are read: importing this package imports neither torch, transformers
nor kernels, and nothing is loaded or downloaded.
"""

from kernelmap._dump import dump
from kernelmap._errors import DumpError

__all__ = ["DumpError", "dump"]
