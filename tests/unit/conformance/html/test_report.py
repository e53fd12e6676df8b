"""The report as a page."""

import html
import re
from itertools import pairwise

import msgspec
import pytest

from antiphon_verify.areas import REQUIREMENTS
from antiphon_verify.html import report_page
from antiphon_verify.html.elements import FOLDER, escaped
from antiphon_verify.report import Report, Shown
from tests.unit.conformance.pages import Page, assert_sound, levels
from tests.unit.conformance.test_report import report, result

HOSTILE = [
    "<script src='http://tracker.example/x.js'></script>",
    "</pre></details></main></body></html><img src=http://tracker.example/p.png>",
    "\"' onmouseover='alert(1)' style='background:url(http://tracker.example/b)'",
    "</style><link rel=stylesheet href=http://tracker.example/s.css>",
    "</title><!-- <![CDATA[ ]]> -->",
    "javascript:alert(1)",
    "`<b>` `&lt;i&gt;` `$title` ${style} $$ {0} %s",
    "&#60;img src=x&#62; &lt; &amp;lt;",
    "\x00\x08\x1b[31m\x7f\x9b \ud800 \udfff \ufffe",
    "\u202egpj.exe \u2066hidden\u2069 \u200f",
    "Z\u0351\u0351\u0351a\u0351\u0351lgo \U0001f600 ہیلو",
]

DISPLAYED = Shown(request="POST /responses\n\n{}", answer="200\n\n{}")

SEVERAL = report(
    result("chat:answer:id"),
    result(
        "chat:answer:model",
        outcome="failed",
        came="null came",
        exchanges=(DISPLAYED,),
        source="spec 13",
    ),
    result("responses:stream:done", outcome="failed", level="should"),
    result("responses:stream:order", outcome="failed", level="may"),
    result("responses:cancel:cancelled", outcome="not offered", came="status 404"),
    result("responses:cancel:unknown", outcome="not offered", came="status 404"),
    result("responses:compact:item", outcome="not offered", came="status 501"),
    result("chat:tools:parallel", outcome="skipped", came="The model made no call."),
    result("chat:tools:chosen", outcome="failed", kind="capability", came="It chose another."),
    result("chat:images:seen", kind="capability"),
    result(
        "chat:stream:usage",
        outcome="skipped",
        came="none",
        known="It counts none (its README)",
        exchanges=(DISPLAYED,),
    ),
    result("chat:stream:role", known="It counts none (its README)"),
)


def hostile(text: str) -> Report:
    """A report in which everything that is text is this."""
    displayed = Shown(request=text, answer=text)
    reported = {"source": text, "sentence": text, "came": text}
    results = [
        result(
            f"{text}:{index}:x",
            outcome=outcome,
            kind=kind,
            known=known,
            exchanges=(displayed,),
            **reported,
        )
        for index, (outcome, kind, known) in enumerate(
            (outcome, kind, known)
            for outcome in ("passed", "failed", "not offered", "skipped")
            for kind in ("protocol", "capability")
            for known in ("", text)
        )
    ]
    whole = report(*results)
    return msgspec.structs.replace(whole, version=text, base_url=text, model=text, profile=text)


def full(outcome: str = "passed") -> Report:
    """A report on every requirement there is."""
    return report(
        *(
            result(
                one.id,
                level=one.level,
                kind=one.kind,
                source=one.source,
                sentence=one.sentence,
                outcome=outcome,
                came="" if outcome == "passed" else "it came otherwise",
                exchanges=(DISPLAYED,) if outcome == "failed" else (),
            )
            for one in REQUIREMENTS.values()
        )
    )


def section(page: str, anchor: str) -> str:
    """Return the source of a section of the page."""
    return page.partition(f'id="{anchor}"')[2].partition("</section>")[0]


def heading(parsed: Page) -> str:
    return " ".join(f"{parsed.named('h1')[0].text}: {parsed.classed('lead')[0].text}".split())


@pytest.mark.parametrize(
    ("one", "states"),
    [
        (report(result()), "✓ Conforms: All judged musts pass, 1 of 1."),
        (
            report(result(), result("a:b:d", outcome="failed")),
            "✕ Does not conform: 1 of 2 musts fails.",
        ),
        (
            report(*(result(f"a:b:{n}", outcome="failed") for n in "xy")),
            "✕ Does not conform: 2 of 2 musts fail.",
        ),
        (report(), "\u2013 Not judged: No must was exercised."),
        (
            report(result(), result("a:b:d", outcome="failed", kind="capability")),
            "✓ Conforms: All judged musts",
        ),
    ],
)
def test_the_headline_states_whether_the_server_conforms(one: Report, states: str) -> None:
    assert heading(assert_sound(report_page(one))).startswith(states)


def test_the_head_describes_the_run() -> None:
    reported = report(result())
    one = msgspec.structs.replace(
        reported, started_at=1_793_620_000, seconds=41.3, requests=312, profile="Ollama"
    )
    facts = assert_sound(report_page(one)).classed("facts")[0].text

    for stated in (
        "http://x/v1",
        "Ollama",
        "2026-11-02 11:46 UTC",
        "41 s, 312 requests",
        "Antiphon 1",
    ):
        assert stated in facts


def test_a_failure_reports_what_was_expected_by_the_rule_and_what_was_received() -> None:
    parsed = assert_sound(report_page(SEVERAL))
    failure = next(
        each for each in parsed.named("li") if each.attributes.get("id") == "chat:answer:model"
    )

    for stated in ("It is so.", "spec 13 (errors)", "null came", "must", "POST /responses"):
        assert stated in failure.text


def test_a_cause_lists_what_it_blocks_and_how_to_see_it_separately() -> None:
    failed = result(
        "a:b:root",
        outcome="failed",
        came="status 500, Boom.",
        place="output = nothing",
        curl="curl -sS x",
    )
    page = report_page(
        report(failed, result("a:b:c", outcome="blocked", blocked_by="a:b:root", came="It waits."))
    )

    for stated in ("a:b:root", "blocks 1 requirement", "curl -sS x"):
        assert stated in section(page, "root-causes")
    assert "output = nothing" in section(page, "broken")
    assert "a:b:c" in section(page, "blocked")
    assert_sound(page)


def test_failures_stand_by_level() -> None:
    page = section(report_page(SEVERAL), "broken")

    assert (
        page.index("chat:answer:model")
        < page.index("responses:stream:done")
        < page.index("responses:stream:order")
    )


def test_capabilities_known_deviations_and_what_was_not_judged_stand_apart() -> None:
    page = report_page(SEVERAL)

    assert "chat:tools:chosen" not in section(page, "broken")
    assert "never make a server non-conformant" in section(page, "capabilities")
    assert "chat:tools:chosen" in section(page, "capabilities")
    assert "chat:stream:usage" in section(page, "known-deviations")
    assert "The requirement passes now" in section(page, "known-deviations")
    assert "chat:tools:parallel" in section(page, "skipped")


def test_what_is_not_offered_is_grouped_by_reason() -> None:
    parsed = assert_sound(report_page(SEVERAL))
    reasons = [each.text for each in parsed.classed("why")]
    assert reasons.count("status 404") == reasons.count("status 501") == 1


def test_the_table_by_area_counts_what_passed_of_what_was_judged() -> None:
    rows = [" ".join(each.text.split()) for each in assert_sound(report_page(SEVERAL)).named("tr")]

    assert rows[0] == "areamustshouldmayknownnot offeredskipped"
    assert "answer✕ 1/2-----" in rows
    assert "cancel----2-" in rows
    assert "stream✓ 1/1--1--" in rows
    assert "stream-✕ 0/1✕ 0/1---" in rows


@pytest.mark.wide
@pytest.mark.parametrize("outcome", ["passed", "failed", "blocked", "not offered", "skipped"])
def test_every_requirement_is_on_the_page_once(outcome: str) -> None:
    parsed = assert_sound(report_page(full(outcome)))

    assert set(REQUIREMENTS) <= set(parsed.ids)


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_of_a_server_becomes_markup(text: str) -> None:
    page = report_page(hostile(text))
    parsed = assert_sound(page)
    harmless = assert_sound(report_page(hostile("x")))

    assert [each.name for each in parsed.elements if each.name not in {"code", "small"}] == [
        each.name for each in harmless.elements if each.name not in {"code", "small"}
    ]
    assert parsed.named("pre")[0].text == html.unescape(escaped(text))


def test_invisible_characters_are_displayed_by_their_numbers() -> None:
    assert escaped("a\x00b\u202ec\ud800\td\n") == "a\\u0000b\\u202ec\\ud800\td\n"


def test_an_empty_report_is_a_page() -> None:
    parsed = assert_sound(report_page(report()))

    assert not parsed.named("table")
    assert not parsed.named("nav")


@pytest.mark.wide
def test_thousands_of_results_and_very_long_words_are_no_matter() -> None:
    displayed = Shown(request="x" * 4000, answer="y" * 4000)
    many = [
        result(
            f"a:b{n % 50}:{n}",
            outcome="failed",
            came="z" * 100_000,
            exchanges=(displayed,) if n < 100 else (),
        )
        for n in range(3000)
    ]
    page = report_page(report(*many))

    assert len(assert_sound(page).classed("failures")) == 1
    assert "z" * 600 in page
    assert "z" * 601 not in page
    assert "(99400 more characters)" in page


@pytest.mark.parametrize("number", [-(10**30), 10**30, 0])
def test_an_invalid_date_is_ignored(number: int) -> None:
    assert_sound(
        report_page(
            msgspec.structs.replace(
                report(), started_at=number, seconds=float("nan"), requests=number
            )
        )
    )


@pytest.mark.parametrize("source", ["spec 99", "spec", "", "spec " + "9" * 5000, "spec ²"])
def test_an_invalid_source_is_displayed_unchanged(source: str) -> None:
    assert_sound(report_page(report(result(outcome="failed", source=source))))


def test_code_in_a_sentence_is_displayed_as_code() -> None:
    parsed = assert_sound(
        report_page(
            report(result(sentence="A `model` has an `id`."), result("a:b:d", sentence="A ` b."))
        )
    )
    codes = [each.text for each in parsed.named("code")]

    assert codes[2:] == ["model", "id"]
    assert "A ` b." in parsed.text


def test_headings_are_in_order_and_table_heads_have_their_scope() -> None:
    parsed = assert_sound(report_page(SEVERAL))
    found = levels(parsed)

    assert found[0] == 1
    assert found.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(found))
    assert all(each.attributes.get("scope") for each in parsed.named("th"))


# The colours


def colours(scheme: str) -> dict[str, str]:
    return dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", scheme))


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("ink", ["ink", "muted", "good", "bad", "known", "rest"])
@pytest.mark.parametrize("scheme", [1, 2], ids=["light", "dark"])
def test_every_word_stands_out_from_the_paper(scheme: int, ink: str) -> None:
    found = colours(
        (FOLDER / "page.css").read_text("utf-8").split(":root {")[scheme].partition("}")[0]
    )

    assert contrast(found[ink], found["paper"]) >= 4.5
    assert contrast(found[ink], found["panel"]) >= 4.5
