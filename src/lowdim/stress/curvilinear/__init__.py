"""Curvilinear component analysis and curvilinear distance analysis."""
