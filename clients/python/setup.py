"""Gives the wheel the platform of the program that it carries (DYAD_WHEEL_PLATFORM)."""

import os

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel

PLATFORM = os.environ.get("DYAD_WHEEL_PLATFORM")


class Carrying(Distribution):
    def has_ext_modules(self):
        return PLATFORM is not None


class Wheel(bdist_wheel):
    def get_tag(self):
        return ("py3", "none", PLATFORM or "any")


setup(cmdclass={"bdist_wheel": Wheel}, distclass=Carrying)
