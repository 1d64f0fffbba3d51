"""Kernels on the processor: run by Triton's interpreter, which has to be chosen before anything imports Triton."""

from __future__ import annotations

import os

import pytest


def needs_interpreter() -> None:
    """Leave a test out unless `TRITON_INTERPRET=1`, as `make test` has it, and there is Triton, as on Linux."""
    if os.environ.get("TRITON_INTERPRET") != "1":
        pytest.skip("kernels run on the processor only with TRITON_INTERPRET=1; make test sets it")
    pytest.importorskip("triton")
