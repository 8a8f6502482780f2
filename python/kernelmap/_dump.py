"""dump: from a Python mapping to the text of a config."""

import json
import os
from collections.abc import Mapping

from kernelmap._errors import DumpError
from kernelmap._selectors import device_selector, fusion_members, is_mode, mode_text
from kernelmap._values import Values

ATTENTION = ("eager", "sdpa", "flash_attention_2", "flash_attention_3", "flash_attention_4")


def dump(config, file=None, *, inherit_mapping=None, attn_implementation=None,
         allow_all_kernels=False) -> str:
    """Writes `config` as a config that kernelmap reads, in JSON, and returns the text.

    config: a transformers.KernelConfig, or a mapping as `kernels.register_kernel_mapping` takes it. Dump
        a KernelConfig before it is given to a model: transformers rewrites it for that model's device.
    file: a path or an open text file to write to as well.
    inherit_mapping: of a plain mapping, whether transformers' own mapping holds beside it; False unless
        it is said. A KernelConfig says it itself.
    attn_implementation, allow_all_kernels: what `from_pretrained` is given beside a KernelConfig.

    The same config gives the same text, in the order in which Python lists its names. Raises DumpError
    for what a config cannot say; whether references and patterns are well formed, `kernelmap check` tells.
    """
    is_config = hasattr(config, "kernel_mapping")
    mapping = config.kernel_mapping if is_config else config
    if not isinstance(mapping, Mapping):
        raise DumpError("config", f"{type(config).__name__} is neither a KernelConfig nor a mapping")
    if is_config:
        if inherit_mapping is not None:
            raise DumpError("inherit_mapping", "a KernelConfig has its own")
        inherit = bool(getattr(config, "inherit_mapping", True))
        values = Values(local_strings=bool(getattr(config, "use_local_kernel", False)))
        local = values.local_strings
    else:
        inherit = bool(inherit_mapping)
        values = Values(local_strings=None)
        local = False
    entries = [[_key(key), _entry(key, value, values)] for key, value in mapping.items()]
    local = local or values.local_at is not None
    if values.local_at is not None and values.hub_at is not None:
        raise DumpError(values.hub_at, "a kernel of the Hub beside a local one, which is at "
                        + values.local_at)
    if local and not is_config and inherit:
        raise DumpError("inherit_mapping", "with local kernels nothing is inherited")
    settings = {}
    if local:
        settings["use_local_kernel"] = True
    elif inherit:
        settings["default_mapping"] = "transformers"
    else:
        settings["inherit_mapping"] = False
    if allow_all_kernels:
        settings["allow_all_kernels"] = True
    if attn_implementation is not None:
        settings["attn_implementation"] = _attention(attn_implementation)
    text = _text(settings, entries)
    if file is not None:
        _write(text, file)
    return text


def _where(key) -> str:
    return f"kernel_mapping[{key!r}]"


def _key(key):
    if isinstance(key, str) and key:
        return key
    if isinstance(key, tuple):
        return fusion_members(key, _where(key))
    raise DumpError(_where(key), "a key is a name, or a tuple of (name, pattern) pairs")


def _entry(key, value, values: Values):
    where = _where(key)
    if not isinstance(value, Mapping):
        return values.value(value, where)
    if not value:
        raise DumpError(where, "an empty table")
    devices = {}
    for device, repository in value.items():
        place = f"{where}[{device!r}]"
        # As in Python, a later entry of the same range replaces the earlier one.
        devices[device_selector(device, place)] = _modes(repository, values, place)
    return devices


def _modes(value, values: Values, where: str):
    if not isinstance(value, Mapping):
        return values.value(value, where)
    if not value:
        raise DumpError(where, "an empty table")
    modes = {}
    for mode, repository in value.items():
        place = f"{where}[{mode!r}]"
        if not is_mode(mode):
            raise DumpError(place, f"{mode!r} is not a mode")
        modes[mode_text(mode, place)] = values.value(repository, place)
    return modes


def _attention(value) -> str:
    if not isinstance(value, str) or (value not in ATTENTION and "/" not in value) or "|" in value:
        raise DumpError("attn_implementation", f"{value!r} is not one of {', '.join(ATTENTION)}, nor a "
                        "kernel")
    return value


def _text(settings: dict, entries: list) -> str:
    lines = [f"  {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}"
             for key, value in settings.items()]
    pairs = ["    " + json.dumps(entry, ensure_ascii=False) for entry in entries]
    lines.append('  "kernel_mapping": [' + ("\n" + ",\n".join(pairs) + "\n  " if pairs else "") + "]")
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise DumpError("config", f"{text[error.start:error.end]!r} cannot be written as UTF-8") from None
    return text


def _write(text: str, file) -> None:
    if isinstance(file, (str, os.PathLike)):
        with open(file, "w", encoding="utf-8", newline="\n") as out:
            out.write(text)
    else:
        file.write(text)
