"""Long files come first, so that no worker is left alone with one of them at the end."""

LONGEST = ("test_studies", "test_page", "test_camera", "test_distributed", "test_grid", "test_eye")


def pytest_collection_modifyitems(items):
    order = {name: number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: order.get(item.path.stem, len(order)))
