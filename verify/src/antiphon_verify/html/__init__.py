"""Reports as HTML: the page of a report, servers side by side, and SVG pictures. Each is one file
without scripts.
"""

from antiphon_verify.html.matrix import matrix_page
from antiphon_verify.html.pictures import badge, chart
from antiphon_verify.html.report import report_page

__all__ = ["badge", "chart", "matrix_page", "report_page"]
