"""The report: maps of one data set, their quality, and the code that makes them, in one file.

`write("report.html", [Run(...), ...])` writes a page that needs no network and no server.
"""

from lowdim.report.runs import Run as Run
from lowdim.report.write import write as write
