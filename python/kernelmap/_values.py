"""Values of a Python mapping: references, references with metadata, and repository objects.

Objects are known by their attributes, so that any version of `kernels`, or a stand-in, will do. Where a
repository was to be found on the Hub is never asked.
"""

import os

from kernelmap._errors import DumpError

METADATA = ("version", "revision", "trust_remote_code")


class Values:
    """Turns values into what a config says, and notes whether they were local or of the Hub."""

    def __init__(self, local_strings: bool | None):
        """`local_strings`: whether references are paths; None: it shows in each."""
        self.local_strings = local_strings
        self.local_at = None  # where the first of each kind stands
        self.hub_at = None

    def value(self, value, where: str):
        if value == "" and isinstance(value, str):
            return ""
        if isinstance(value, str):
            return self._reference(value, {}, where)
        if isinstance(value, (tuple, list)):
            return self._pair(value, where)
        name = getattr(value, "layer_name", None) or getattr(value, "func_name", None)
        if not isinstance(name, str):
            raise DumpError(where, f"{value!r} is neither a reference nor a repository")
        path = getattr(value, "_repo_path", None)
        if path is not None:
            if not os.path.isabs(path):
                raise DumpError(where, f"{os.fspath(path)!r} is not an absolute path")
            return self._reference(f"{os.fspath(path)}:{name}", {}, where)
        repo = getattr(value, "_repo_id", None)
        if not isinstance(repo, str):
            raise DumpError(where, f"{value!r} names no repository")
        return self._reference(f"{repo}:{name}", _metadata_of(value, repo, where), where)

    def _pair(self, pair, where: str):
        if len(pair) != 2 or not isinstance(pair[0], str) or not isinstance(pair[1], dict):
            raise DumpError(where, f"{pair!r} is not a pair of a reference and its metadata")
        text, given = pair
        if not text:
            raise DumpError(where, "metadata of an empty reference")
        for key in given:
            if key not in METADATA:
                raise DumpError(where, f"metadata {key!r} means nothing to Python")
        return self._reference(text, _metadata(given, text.partition(":")[0], where), where)

    def _reference(self, text: str, metadata: dict, where: str):
        local = text.startswith("/")
        if self.local_strings and not local:
            raise DumpError(where, f"{text!r} is not an absolute path, as use_local_kernel asks")
        if self.local_strings is False and local:
            raise DumpError(where, f"{text!r} is a path, but use_local_kernel is False")
        if not local and "/" not in text.partition(":")[0]:
            raise DumpError(where, f"{text!r} is neither org/repo:Name nor an absolute path")
        if ":" not in text[text.rfind("/"):]:
            raise DumpError(where, f"{text!r} names no layer: {text}:Name")
        if local:
            self.local_at = self.local_at or where
            pins = [key for key in ("version", "revision") if key in metadata]
            if pins:
                raise DumpError(where, f"a local kernel has no {pins[0]}")
        else:
            self.hub_at = self.hub_at or where
        return [text, metadata] if metadata else text


def _metadata(given: dict, repo: str, where: str) -> dict:
    """What is not None or False, checked, in one order."""
    metadata = {}
    version, revision = given.get("version"), given.get("revision")
    if version is not None and revision is not None:
        raise DumpError(where, f"both version {version!r} and revision {revision!r}")
    if version is not None:
        if not isinstance(version, int) or isinstance(version, bool) or version < 0:
            raise DumpError(where, f"version {version!r} is not a whole number")
        metadata["version"] = version
    if revision is not None:
        if not isinstance(revision, str) or not revision:
            raise DumpError(where, f"revision {revision!r} is not a tag, branch or commit")
        metadata["revision"] = revision
    if _trusts(given.get("trust_remote_code"), repo, where):
        metadata["trust_remote_code"] = True
    return metadata


def _trusts(trust, repo: str, where: str) -> bool:
    """True, False, or a list of repositories, which can be said only of the kernel's own."""
    if trust is None or isinstance(trust, bool):
        return bool(trust)
    others = list(trust) if isinstance(trust, (list, tuple)) else [trust]
    if any(other != repo for other in others):
        raise DumpError(where, f"trust_remote_code {trust!r} names other repositories than {repo!r}: "
                        "list their owners in trusted_publishers instead")
    return bool(others)


def _metadata_of(repository, repo: str, where: str) -> dict:
    locks = getattr(repository, "kernel_locks", None)
    given = {key: getattr(repository, f"_{key}", None) for key in METADATA}
    if locks is not None:  # a locked repository: its commit
        given["revision"] = locks[repository.kernel_dep].commit
    elif given["version"] is None and given["revision"] is None:
        raise DumpError(where, f"{repo!r} has neither a version nor a revision")
    return _metadata(given, repo, where)
