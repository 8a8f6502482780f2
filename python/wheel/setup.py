"""One wheel for every Python 3 of a platform: what is compiled in it is no extension of Python."""

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.dist import Distribution


class Compiled(Distribution):
    def has_ext_modules(self):
        return True


class Wheel(bdist_wheel):
    def get_tag(self):
        return ("py3", "none", super().get_tag()[2])


setup(distclass=Compiled, cmdclass={"bdist_wheel": Wheel})
