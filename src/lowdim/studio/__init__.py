"""The studio: embeddings in the browser, fitted live in worker processes."""
