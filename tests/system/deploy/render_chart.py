"""render_chart.py CHART: render a chart with Helm's engine, on the Python that has it
(tests/system/deploy/helm.txt).

Standard input has a JSON object with `values` and the name of the `release`. The output is one too:
`files` with a text for each template, and `findings` of `helm lint --strict`; or `error`.
"""

import json
import sys

import helm_python

wanted = json.load(sys.stdin)
chart = sys.argv[1]
try:
    with helm_python.Chart.load(chart) as loaded:
        loaded.validate_schema(wanted["values"])
        files = loaded.render(wanted["values"], name=wanted["release"], namespace="ai")
    report = helm_python.lint(chart, wanted["values"], strict=True, kube_version="v1.30.0")
    print(json.dumps({"files": files, "findings": [*report["messages"], *report["errors"]]}))
except helm_python.HelmError as error:
    print(json.dumps({"error": str(error)}))
