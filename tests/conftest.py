"""Long files come first, so that no worker is left alone with one of them at the end."""

import os

import pytest
import torch
from browsing import CHROMIUM

if not torch.cuda.is_available():  # before anything imports Triton, which asks once
    os.environ["TRITON_INTERPRET"] = "1"

LONGEST = (
    "test_studies",
    "test_page",
    "test_world_page",
    "test_camera",
    "test_distributed",
    "test_grid",
    "test_eye",
)


def pytest_collection_modifyitems(items):
    order = {name: number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: order.get(item.path.stem, len(order)))


@pytest.fixture(scope="module")
def browser():
    root = ["--no-sandbox"] if os.geteuid() == 0 else []
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as play:
        running = play.chromium.launch(executable_path=CHROMIUM, args=root)
        yield running
        running.close()


@pytest.fixture
def visit(browser):
    """Opens pages; afterwards none of them had an error or asked another host for anything."""
    contexts, wrong = [], []

    def open_page(url, *, ready, forgiven=(), prepare=lambda page: None, **settings):
        context = browser.new_context(**({"viewport": {"width": 1280, "height": 800}} | settings))
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)

        def console(message):
            if message.type == "error" and not any(word in message.text for word in forgiven):
                wrong.append(message.text)

        def request(asked):
            if not asked.url.startswith((url, "data:", "blob:")):
                wrong.append(f"asked for {asked.url}")

        page.on("console", console)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", request)
        prepare(page)
        page.goto(url)
        page.wait_for_function(ready)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not wrong
