"""Errors that the page shows to the user."""

from __future__ import annotations


class Refused(Exception):
    """A request that cannot be fulfilled, with the status of the HTTP response.

    The message is shown on the page: a sentence that says what is wrong and what to do.
    """

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status
