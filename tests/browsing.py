"""What tests of pages share: a server in a thread, and what a browser shows."""

from __future__ import annotations

import shutil
import socket
import threading
import time
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium")
needs_chromium = pytest.mark.skipif(
    CHROMIUM is None, reason="needs chromium; `make test` installs it"
)
PHONE = {"width": 360, "height": 740}


class Server:
    """A page's server in a thread, on a port of its own."""

    def __init__(self, app: Any, port: int | None = None) -> None:
        import uvicorn

        if port is None:
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                port = free.getsockname()[1]
        self.port, self.url = port, f"http://127.0.0.1:{port}/"
        config = uvicorn.Config(app, port=port, log_level="critical", timeout_graceful_shutdown=1)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, daemon=True)
        self._thread.start()
        while not self._server.started:
            time.sleep(0.02)

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join(timeout=20)


def state(page, name):
    return page.evaluate(f"cogmap.state.{name}")


def settle(page):
    """Two frames: what has changed is drawn."""
    page.evaluate("() => new Promise((go) => requestAnimationFrame(() => setTimeout(go, 30)))")


def sideways(page):
    return page.evaluate("document.documentElement.scrollWidth - window.innerWidth")


def painted(page, canvas, place):
    """The colour of a canvas at a place on the screen."""
    return page.evaluate(
        """([name, x, y]) => {
          const canvas = document.getElementById(name);
          const box = canvas.getBoundingClientRect();
          const density = canvas.width / box.width;
          const at = [(x - box.left) * density, (y - box.top) * density].map(Math.round);
          return [...canvas.getContext("2d").getImageData(...at, 1, 1).data].slice(0, 3);
        }""",
        [canvas, *place],
    )


def pixel(page, row):
    """Where a row of the sample is on the screen."""
    return page.evaluate(
        """async (row) => {
          const { projection } = await import("cogmap/world/cloud.js");
          const canvas = document.getElementById("cloud");
          const box = canvas.getBoundingClientRect();
          const { points } = cogmap.state.points;
          const rect = { x: 0, y: 0, w: canvas.clientWidth, h: canvas.clientHeight };
          const [x, y] = projection(cogmap.state, rect)(points[row]);
          return [box.left + x, box.top + y];
        }""",
        row,
    )
