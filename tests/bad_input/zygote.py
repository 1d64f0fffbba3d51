"""A process that has loaded everything and makes copies of itself: each runs one command, and may be stopped meanwhile.

A command in a process of its own spends seconds on imports; a copy of this one begins at once, so that it can be
stopped fifty times. Requests and answers are lines of JSON.

    python zygote.py MODEL
    {"command": ["explain", …], "signal": 9, "after": 0.2}  →  {"status": -9, "out": "", "err": "", "seconds": 0.2}
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

import rationales.run
import rationales.train.classifier
from rationales.cli import main
from rationales.models import load

PATIENCE = 5.0


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Run a command in a copy of this process; send it a signal after some seconds if that is wanted.

    Seconds count from when the copy runs, which on a busy machine may be a while after it was made. Like a user, this
    sends the signal again if nothing comes of it: Python may be where exceptions are ignored, such as in `__del__`.
    """
    with tempfile.TemporaryDirectory() as folder:
        out, err = Path(folder) / "out", Path(folder) / "err"
        ready, say_ready = os.pipe()
        child = os.fork()
        if not child:
            os.write(say_ready, b"!")
            run(request["command"], Path(request.get("stdout", out)), err)
        os.read(ready, 1)
        os.close(ready)
        os.close(say_ready)
        began = time.monotonic()
        deadline = began + request["after"] if "after" in request else None
        while True:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                break
            if deadline is not None and time.monotonic() >= deadline:
                os.kill(child, request["signal"])
                deadline += PATIENCE
            time.sleep(0.002)
        return {
            "status": os.waitstatus_to_exitcode(status),
            "out": out.read_text() if out.exists() else "",
            "err": err.read_text() if err.exists() else "",
            "seconds": time.monotonic() - began,
        }


def run(command: list[str], out: Path, err: Path) -> None:
    """What the copy does: the command, with its output in files. It does not return."""
    status = 1
    try:
        sys.stdout, sys.stderr = out.open("w", encoding="utf-8"), err.open("w", encoding="utf-8")
        sys.argv = ["rationales", *command]
        main()
    except SystemExit as ended:
        status = int(ended.code or 0)
    except BaseException:
        traceback.print_exc()
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(status)


if __name__ == "__main__":
    load(sys.argv[1]).encode(list(rationales.run.as_examples("good soup")))  # the modules that loading brings
    signal.signal(signal.SIGINT, signal.default_int_handler)
    answers = sys.stdout
    for line in sys.stdin:
        answers.write(json.dumps(answer(json.loads(line))) + "\n")
        answers.flush()
