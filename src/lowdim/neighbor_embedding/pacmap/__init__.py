"""PaCMAP and LocalMAP."""
