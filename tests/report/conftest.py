"""The browser that the tests of pages share."""

from driving import launched, opening  # noqa: F401 - they are fixtures
