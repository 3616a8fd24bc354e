"""cogmap serve"""

from __future__ import annotations

import socket

from cogmap.agent import load
from cogmap.cli import Serve
from cogmap.commands.worlds import bars, told
from cogmap.errors import CogmapError


def run(settings: Serve) -> None:
    try:
        import torch
        import uvicorn

        from cogmap.web.server import create_app
    except ImportError as error:
        raise CogmapError(f"the page needs {error.name}; pip install 'cogmap[web]'.") from None
    check_port(settings.host, settings.port)
    torch.set_num_threads(1)  # requests come side by side, and a training may run beside them
    agent = told(load(settings.run, device="cpu"), settings)
    app = create_app(settings.run, work=settings.work, agent=agent, bars=bars)
    print(f"{settings.run} -> http://{settings.host}:{settings.port} (API: /docs; Ctrl-C ends it)")
    try:
        uvicorn.run(
            app, host=settings.host, port=settings.port, log_level="warning", lifespan="off"
        )
    finally:  # not in the app's lifespan: Ctrl-C while that begins prints a traceback
        app.state.workshop.close()


def check_port(host: str, port: int) -> None:
    """Raises where the server could not listen."""
    try:
        with socket.create_server((host, port)):
            pass
    except (OSError, OverflowError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).rstrip(".")
        raise CogmapError(
            f"cannot listen on {host}:{port}: {reason}; give another --port."
        ) from None
