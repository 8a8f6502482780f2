"""Runs kernelmap within limits: of memory, so that what grows without bound fails here, and of time,
so that a hang does. The time is generous: it tells a hang from a slow machine, nothing else.

KM_PROGRAM is the program. KM_SANITIZED=1: the sanitizers need all the address space there is.
"""

import os
import pathlib
import resource
import subprocess
import tempfile
import unittest

PROGRAM = os.environ["KM_PROGRAM"]
MEMORY = None if os.environ.get("KM_SANITIZED") == "1" else 1 << 30  # bytes of address space
SECONDS = 120


def limit():
    if MEMORY:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run(*args, folder=None, env=None, **options):
    """The finished process, outputs as bytes. A signal, which nothing may end by, is an exception."""
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL} | options
    if "input" in options:
        del options["stdin"]
    done = subprocess.run([PROGRAM, *args], cwd=folder, env={**os.environ, **(env or {})}, timeout=SECONDS,
                          preexec_fn=limit, check=False, **options)
    if done.returncode < 0 or done.returncode > 2:
        raise AssertionError(f"{args} ended with {done.returncode}: {(done.stderr or b'')[-500:]!r}")
    return done


class Case(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def check(self, name, text, *args, command="check"):
        """Runs `command` on a file with this text (bytes, str)."""
        (self.folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        done = run(command, name, *args, folder=self.folder)
        self.assertLess(len(done.stderr), 200_000, "diagnostics without bound")
        return done

    def assertShows(self, done, *codes):
        for code in codes:
            self.assertIn(f"[{code}]", done.stderr.decode(), done)
        self.assertEqual(done.returncode, 1)
