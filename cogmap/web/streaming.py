"""Answers that are sent as they come about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fastapi.responses import StreamingResponse

from cogmap.errors import CogmapError
from cogmap.web.messages import Failure, Message


class Lines(StreamingResponse):
    """One JSON message a line, each sent as soon as there is one."""

    media_type = "application/x-ndjson"


def lines_of(coming: Iterable[Message]) -> Lines:
    """Messages as lines; a Failure is the last where they cannot go on."""

    def lines() -> Iterator[str]:
        try:
            for message in coming:
                yield message.model_dump_json() + "\n"
        except CogmapError as error:
            yield Failure(detail=str(error)).model_dump_json() + "\n"

    return Lines(lines())
