"""Fixtures for the tests in a browser."""

from tests.labs.browser import browser, page, server

__all__ = ["browser", "page", "server"]
