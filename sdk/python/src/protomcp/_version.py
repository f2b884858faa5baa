"""The version of the package: that of the workspace."""

__version__ = "1.0.0"
