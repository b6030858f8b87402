"""Fixtures for the tests in a browser."""

from tests.labs.browser import page, server

__all__ = ["page", "server"]
