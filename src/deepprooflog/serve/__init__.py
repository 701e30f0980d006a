"""The explorer: a run or a program asked from a browser, by HTTP, or by an agent over MCP.

    Source ─→ Service (queue, budgets, jobs) ─→ Worker processes ─→ answers as plain Python
              ↑ web/ (FastAPI)   ↑ mcp_server.py

The process that serves loads no model and asks no query: worker processes do, and one that does
not stop when its time is up is killed and replaced.
"""

from deepprooflog.serve.service import Service
from deepprooflog.serve.source import find_source

__all__ = ["Service", "find_source"]
