"""A page of results whose sections are replaced one at a time."""

from __future__ import annotations

from pathlib import Path

from cogmap import runs


def replace_section(page: Path, name: str, lines: list[str]) -> None:
    """Puts lines between the page's marks of that name; a page without them gets them at its end.

    The marks are comments, so a reader does not see them: text around them is kept.
    """
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    text = page.read_text() if page.exists() else "# Results\n"
    if begin in text and end in text:
        before, rest = text.split(begin, 1)
        after = rest.split(end, 1)[1]
    else:
        before, after = text.rstrip("\n") + "\n\n", "\n"
    body = "\n".join([begin, *lines, end])
    runs.replace_file(page, lambda temporary: temporary.write_text(before + body + after))
