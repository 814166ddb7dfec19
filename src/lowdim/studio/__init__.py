"""The studio: embeddings in the browser, fitted live in worker processes."""

from lowdim.studio.server import serve

__all__ = ["serve"]
