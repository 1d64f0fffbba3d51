from __future__ import annotations

from recorded import graphs

__all__ = ["graphs"]
