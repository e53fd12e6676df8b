"""The report as a page in one file."""

from collections.abc import Iterable
from datetime import UTC, datetime
from html import escape

from antiphon.trust.claims import CheckedClaim, TrustReport

STYLE = """\
:root{color-scheme:light dark;--line:#8884;--good:#1a7f37;--bad:#c4251c}
@media(prefers-color-scheme:dark){:root{--good:#57d27a;--bad:#ff8078}}
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:0 auto;padding:2rem 1rem}
h1{font-size:1.6rem;margin:0}h2{font-size:1.1rem;margin:2rem 0 .5rem}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.25rem 1rem}dt{opacity:.75}dd{margin:0}
article{border:1px solid var(--line);border-radius:.5rem;padding:.75rem 1rem;margin:.75rem 0}
article p{margin:.25rem 0}
.holds{color:var(--good)}.broken{color:var(--bad)}strong{margin-right:.5rem}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}td{padding:.1rem 1.5rem .1rem 0}
code{font:14px/1.4 ui-monospace,monospace;overflow-wrap:anywhere}"""

WORDS = {"holds": "✓ Holds", "broken": "✗ Broken", "not checked": "- Not checked"}


def page_of(report: TrustReport) -> str:
    """Return a report as HTML."""
    counts = [one.outcome for one in report.findings]
    headline = (
        f"{counts.count('broken')} of {len(counts)} claims are broken"
        if report.is_broken
        else f"{counts.count('holds')} of {len(counts)} claims hold"
    )
    began = datetime.fromtimestamp(report.began, UTC)
    facts = {
        "Date": began.strftime("%d %B %Y, %H:%M UTC"),
        "Antiphon": report.version,
        "Python": report.python,
        "System": f"{report.system}, {report.cores} cores",
        "Store": report.store,
        "Duration": f"{report.seconds:.0f} s",
        "Seed": str(report.seed),
    }
    listed = "".join(f"<dt>{escape(name)}<dd>{escape(value)}" for name, value in facts.items())
    names = list(dict.fromkeys(one.check for one in report.findings))
    sections = "".join(
        f"<h2>{escape(name.capitalize())}</h2>"
        + _articles(one for one in report.findings if one.check == name)
        for name in names
    )
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{headline}</title><style>{STYLE}</style>"
        f"<main><h1>{headline}</h1><dl>{listed}</dl>"
        f"<p>Repeat it: <code>{escape(report.command)}</code></p>{sections}</main></html>\n"
    )


def _articles(findings: Iterable[CheckedClaim]) -> str:
    return "".join(map(_article, findings))


def _article(finding: CheckedClaim) -> str:
    kind = finding.outcome.replace(" ", "-")
    rows = "".join(
        f"<tr><td>{escape(name)}<td>{escape(str(value))}" for name, value in finding.figures.items()
    )
    detail = f"<p>{escape(finding.detail)}</p>" if finding.detail else ""
    return (
        f'<article><p><strong class="{kind}">{WORDS[finding.outcome]}</strong>'
        f"{escape(finding.claim)}</p><table>{rows}</table>{detail}</article>"
    )
