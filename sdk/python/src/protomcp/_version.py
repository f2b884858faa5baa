"""The version of the package: the workspace's."""

__version__ = "1.0.0"
