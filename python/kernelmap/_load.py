"""Loading a rewritten archive."""

import os
import pathlib
import warnings


def _runtime():
    """The runtime library: KERNELMAP_RUNTIME, else that of the build or installation this package is of."""
    named = os.environ.get("KERNELMAP_RUNTIME")
    if named:
        return named
    here = pathlib.Path(__file__).resolve().parent
    for folder in (here, here.parent.parent / "lib"):
        path = folder / "libkernelmap_runtime.so"
        if path.exists():
            return str(path)
    raise OSError("libkernelmap_runtime.so is not beside the package kernelmap: set KERNELMAP_RUNTIME to its path")


def _text(path):
    """The path as torch's operators take it: in UTF-8."""
    text = os.fsdecode(path)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"the path {text!r} is not UTF-8, which torch's operators take only") from None
    return text


def load(path, map_location=None, *, trusted_publishers=("kernels-community",), allow_all_kernels=False,
         local_kernels=(), cache=None, on_missing="error"):
    """Loads a TorchScript archive, rewritten by kernelmap or not, as torch.jit.load does.

    Kernels of the Hub that the archive calls are found in the cache of this machine, by repository and commit;
    nothing is downloaded. Which build of the commit is taken is decided here, on the machine that runs. An op
    library is code: only those of `trusted_publishers` are loaded, or of any publisher with `allow_all_kernels`,
    and the machine's KERNELMAP_POLICY limits both. `local_kernels` are folders of kernels that are not of the Hub;
    to name one is to trust it. `cache` is a Hugging Face cache folder, else the environment says (HF_HOME).

    `on_missing="stock"` runs the stock code, with one warning, where a kernel cannot be had; "error" raises.
    """
    import torch

    if on_missing not in ("error", "stock"):
        raise ValueError(f"on_missing must be 'error' or 'stock', not {on_missing!r}")
    if isinstance(trusted_publishers, str) or isinstance(local_kernels, (str, os.PathLike)):
        raise TypeError("trusted_publishers and local_kernels are lists")
    torch.ops.load_library(_runtime())
    path = _text(path)
    for warning in torch.ops.kernelmap.load_kernels(path, list(trusted_publishers), allow_all_kernels,
                                                    [_text(folder) for folder in local_kernels],
                                                    _text(cache or ""), on_missing == "stock"):
        warnings.warn(f"kernelmap: {warning}", stacklevel=2)
    try:
        return torch.jit.load(path, map_location=map_location)
    except RuntimeError as error:
        if "kernelmap_hub::" not in str(error):
            raise
        raise RuntimeError(
            f"cannot load `{path}`: it calls kernels of the Hub, but does not say which; was it saved again without "
            "its extra file kernelmap/adapters.json?") from None
