"""Errors that the page shows to the user."""

from __future__ import annotations


class Refused(Exception):
    """A request that cannot be fulfilled; the message is shown on the page.

    Parameters
    ----------
    message : str
        A sentence that says what is wrong and what to do.
    status : int, default=400
        Status of the HTTP response.
    """

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status
