"""kernelmap --version."""

import re
import unittest

import program


class VersionTest(program.ToolTest):
    def test_version_and_build(self):
        project = (program.ROOT / "CMakeLists.txt").read_text()
        version = re.search(r"project\(.*?VERSION ([0-9.]+)", project, re.DOTALL).group(1)
        first, second = self.run_it("--version").decode().splitlines()
        self.assertEqual(first, f"kernelmap {version}")
        self.assertRegex(second, r"^built with torch \S+ for (cpu|cuda|rocm); \w+ [0-9.]+, \w+$")


if __name__ == "__main__":
    unittest.main()
