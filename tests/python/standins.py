"""Classes with the attributes of those of `kernels` 0.17 and transformers 5.17, for machines without them."""

import dataclasses
import enum


class Mode(enum.Flag):
    _NONE = 0
    FALLBACK = enum.auto()
    TRAINING = enum.auto()
    INFERENCE = enum.auto()
    TORCH_COMPILE = enum.auto()


@dataclasses.dataclass(frozen=True)
class CUDAProperties:
    min_capability: int
    max_capability: int


@dataclasses.dataclass(frozen=True)
class ROCMProperties:
    min_capability: int
    max_capability: int


@dataclasses.dataclass(frozen=True)
class Device:
    type: str
    properties: object = None


class LayerRepository:
    def __init__(self, repo_id, *, layer_name, revision=None, version=None, trust_remote_code=False):
        self._repo_id, self.layer_name = repo_id, layer_name
        self._revision, self._version, self._trust_remote_code = revision, version, trust_remote_code

    def _resolve_revision(self):
        raise AssertionError("dump asked the Hub")


class FuncRepository:
    def __init__(self, repo_id, *, func_name, revision=None, version=None, trust_remote_code=False):
        self._repo_id, self.func_name = repo_id, func_name
        self._revision, self._version, self._trust_remote_code = revision, version, trust_remote_code


class LocalLayerRepository:
    def __init__(self, repo_path, *, layer_name):
        self._repo_path, self.layer_name = repo_path, layer_name


class LockedLayerRepository:
    @dataclasses.dataclass
    class Lock:
        commit: str

    def __init__(self, repo_id, *, layer_name, commit, trust_remote_code=False):
        self._repo_id, self.layer_name = repo_id, layer_name
        self._trust_remote_code = trust_remote_code
        self.kernel_dep = object()
        self.kernel_locks = {self.kernel_dep: self.Lock(commit)}


class KernelConfig:
    def __init__(self, kernel_mapping=None, use_local_kernel=False, inherit_mapping=True):
        self.kernel_mapping = kernel_mapping if kernel_mapping is not None else {}
        self.use_local_kernel, self.inherit_mapping = use_local_kernel, inherit_mapping
