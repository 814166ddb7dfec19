"""The report: maps of one data set, how true each is, and how to make them again, in one file.

`write("report.html", [Run(...), ...])` writes a page that needs no network and no server.
"""

from lowdim.report.runs import Assessment, Measure, Run
from lowdim.report.write import write

__all__ = ["Assessment", "Measure", "Run", "write"]
