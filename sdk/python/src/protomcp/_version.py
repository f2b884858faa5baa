"""The version of the package: that of the workspace."""

__version__ = "0.1.0"
