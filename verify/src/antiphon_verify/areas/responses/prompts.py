"""Prompts: templates of requests with variables and versions, if the server supports them.

OpenAI documents no endpoint that creates prompts. The requests are Antiphon's own; a server that
rejects them has another endpoint, or none.
"""

from collections.abc import Generator
from typing import Any

from antiphon_verify.areas.responses.chain import id_of
from antiphon_verify.case import case
from antiphon_verify.exchange import Exchange, Step
from antiphon_verify.reading import at, is_integer, is_text, listed, preview
from antiphon_verify.refusal import is_refused, message_of
from antiphon_verify.replies import replaced
from antiphon_verify.replies.responses import prompts as replies
from antiphon_verify.replies.responses.prompts import ADA, DOCTOR, UNKNOWN
from antiphon_verify.requirement import capability, must, should
from antiphon_verify.trial import ExchangeSteps, Steps, Trial

SOURCE = "spec prompts"


PATH = "/prompts"


QUESTION = "What is my name?"

Creation = Generator[Step, Any, tuple[Exchange, str]]
"""Steps that create a prompt; their result is the exchange, and the path of the prompt."""


def create(trial: Trial) -> Creation:
    """Create a prompt. Ends the case if the server has no prompts."""
    exchange = yield from trial.post(PATH, ADA)
    trial.extended(exchange)
    return exchange, f"{PATH}/{id_of(exchange.json)}"


def use(trial: Trial, prompt: Any) -> ExchangeSteps:
    """Send a question with a prompt."""
    return trial.respond(QUESTION, prompt=prompt)


def text_of(response: Any) -> str:
    """Return the text of a response."""
    parts = (part for item in listed(response, "output") for part in listed(item, "content"))
    return "".join(str(at(part, "text")) for part in parts)


@case(
    should(
        "responses:prompts:created",
        SOURCE,
        "A template creates a prompt, and version 1 is its default version.",
        fault=replaced(replies.LIFE, 0, replies.CREATED.patched("version", to=0)),
    ),
    should(
        "responses:prompts:object",
        SOURCE,
        "A prompt has an id that begins with `pmpt_`, `created_at` and `variables`.",
        fault=replaced(replies.LIFE, 0, replies.CREATED.without("variables")),
    ),
    should(
        "responses:prompts:retrieved",
        SOURCE,
        "A prompt can be retrieved by its id.",
        fault=replaced(replies.LIFE, 1, replies.CREATED.patched("id", to="pmpt_2")),
    ),
    should(
        "responses:prompts:listed",
        SOURCE,
        "Prompts are listed, newest first.",
        fault=replaced(replies.LIFE, 2, replies.LIST.patched("data", to=[])),
    ),
    should(
        "responses:prompts:deleted",
        SOURCE,
        "A deleted prompt returns 404.",
        fault=replaced(replies.LIFE, 4, replies.CREATED),
    ),
    good=replies.LIFE,
)
def a_prompt_lives(trial: Trial) -> Steps:
    """Create a prompt, retrieve it, list it, delete it."""
    exchange = yield from trial.post(PATH, ADA)
    trial.extended(exchange)
    created = exchange.json
    is_created = at(created, "object") == "prompt" and at(created, "is_default") is True
    trial.expect(
        "responses:prompts:created", is_created and at(created, "version") == 1, exchange.came
    )
    has_variables = at(created, "variables") == ["visitor"] and is_integer(
        at(created, "created_at")
    )
    trial.expect(
        "responses:prompts:object",
        has_variables and id_of(created).startswith("pmpt_"),
        exchange.came,
    )
    path = f"{PATH}/{id_of(created)}"
    found = yield from trial.get(path)
    trial.expect(
        "responses:prompts:retrieved",
        found.is_ok and id_of(found.json) == id_of(created),
        found.came,
    )
    page = yield from trial.get(f"{PATH}?limit=100")
    ids = [at(one, "id") for one in listed(page.json, "data")]
    trial.expect(
        "responses:prompts:listed",
        at(page.json, "object") == "list" and id_of(created) in ids,
        page.came,
    )
    deleted = yield from trial.delete(path)
    after = yield from trial.get(path)
    trial.expect("responses:prompts:deleted", deleted.is_ok and after.status == 404, after.came)


@case(
    should(
        "responses:prompts:version-added",
        SOURCE,
        "A second template for a prompt creates version 2.",
        fault=replaced(replies.VERSIONED, 1, replies.CREATED),
    ),
    should(
        "responses:prompts:version-kept",
        SOURCE,
        "An older version can be retrieved unchanged after a newer one is added.",
        fault=replaced(replies.VERSIONED, 2, replies.SECOND),
    ),
    should(
        "responses:prompts:versions",
        SOURCE,
        "The versions of a prompt are listed.",
        fault=replaced(replies.VERSIONED, 3, replies.LIST),
    ),
    should(
        "responses:prompts:default-version",
        SOURCE,
        "An older version can be made the default version.",
        fault=replaced(replies.VERSIONED, 6, replies.SECOND),
    ),
    capability(
        should(
            "responses:prompts:pinned",
            "spec 2",
            "The `version` of the request chooses the template.",
            fault=replaced(replies.VERSIONED, 4, replies.with_text("Your name is Doctor Ada.")),
        )
    ),
    good=replies.VERSIONED,
)
def a_prompt_has_versions(trial: Trial) -> Steps:
    """Add a version to a prompt, use the first one, and make it the default again."""
    created, path = yield from create(trial)
    second = yield from trial.post(path, DOCTOR)
    trial.succeed(second)
    trial.expect("responses:prompts:version-added", at(second.json, "version") == 2, second.came)
    first = yield from trial.get(f"{path}?version=1")
    is_unchanged = (
        first.is_ok
        and at(first.json, "messages") == at(created.json, "messages")
        and at(first.json, "version") == 1
    )
    trial.expect("responses:prompts:version-kept", is_unchanged, first.came)
    page = yield from trial.get(f"{path}/versions")
    numbers = [str(at(one, "version")) for one in listed(page.json, "data")]
    trial.expect("responses:prompts:versions", sorted(numbers) == ["1", "2"], page.came)
    pinned = yield from use(
        trial, {"id": id_of(created.json), "version": "1", "variables": {"visitor": "Ada"}}
    )
    text = text_of(trial.response(pinned))
    trial.expect("responses:prompts:pinned", "Ada" in text and "Doctor" not in text, text)
    chosen = yield from trial.post(f"{path}/default_version", {"version": 1})
    after = yield from trial.get(path)
    is_first = chosen.is_ok and at(after.json, "version") == 1
    trial.expect("responses:prompts:default-version", is_first, f"{chosen.came}; then {after.came}")
    yield from trial.delete(path)


@case(
    must(
        "responses:prompts:echoed",
        "spec 2",
        "A response echoes the `prompt` of its request.",
        fault=replaced(replies.USED, 1, replies.RECALLED.patched("prompt", to=None)),
    ),
    capability(
        should(
            "responses:prompts:used",
            "spec 2",
            "The model reads the template with its variables.",
            fault=replaced(
                replies.USED,
                1,
                replies.with_text("I do not know.", id="pmpt_1", variables={"visitor": "Ada"}),
            ),
        )
    ),
    should(
        "responses:prompts:literal",
        "spec 2",
        "Braces in the value of a variable are text, not another variable.",
        fault=replaced(replies.USED, 2, replies.MISSING),
    ),
    good=replies.USED,
)
def a_prompt_is_used(trial: Trial) -> Steps:
    """Use a prompt with a value for its variable, and with a value that looks like a template."""
    created, path = yield from create(trial)
    prompt = {"id": id_of(created.json), "variables": {"visitor": "Ada"}}
    exchange = yield from use(trial, prompt)
    trial.offered(exchange)
    echoed = at(trial.response(exchange), "prompt")
    is_same = at(echoed, "id") == prompt["id"] and at(echoed, "variables") == prompt["variables"]
    trial.expect("responses:prompts:echoed", is_same, preview(echoed))
    trial.expect("responses:prompts:used", "Ada" in text_of(exchange.json), text_of(exchange.json))
    braces = yield from use(trial, prompt | {"variables": {"visitor": "{{place}}"}})
    is_accepted = braces.is_ok and is_text(text_of(braces.json))
    trial.expect("responses:prompts:literal", is_accepted, braces.came)
    yield from trial.delete(path)


@case(
    must(
        "responses:prompts:missing-variable",
        "spec 13",
        "A request that omits a variable of the template is rejected with a 4xx.",
        fault=replaced(replies.REJECTED, 1, replies.RECALLED),
    ),
    should(
        "responses:prompts:missing-variable-named",
        "spec 13",
        "The error for a missing variable names the variable.",
        fault=replaced(replies.REJECTED, 1, replies.INVALID),
    ),
    should(
        "responses:prompts:other-variable",
        "spec 13",
        "A variable that the template does not have is rejected with 400.",
        fault=replaced(replies.REJECTED, 2, replies.RECALLED),
    ),
    should(
        "responses:prompts:unknown-version",
        "spec 13",
        "An unknown version is rejected with a 4xx.",
        fault=replaced(replies.REJECTED, 3, replies.RECALLED),
    ),
    good=replies.REJECTED,
)
def bad_uses_of_a_prompt_are_rejected(trial: Trial) -> Steps:
    """Use a prompt without its variable, with another variable, and in an unknown version."""
    created, path = yield from create(trial)
    prompt = {"id": id_of(created.json)}
    missing = yield from use(trial, prompt)
    trial.expect("responses:prompts:missing-variable", is_refused(missing), missing.came)
    trial.expect(
        "responses:prompts:missing-variable-named", "visitor" in message_of(missing), missing.came
    )
    other = yield from use(trial, prompt | {"variables": {"visitor": "Ada", "place": "Brest"}})
    trial.expect("responses:prompts:other-variable", other.status == 400, other.came)
    unknown = yield from use(trial, prompt | {"version": "99", "variables": {"visitor": "Ada"}})
    trial.expect("responses:prompts:unknown-version", 400 <= unknown.status < 500, unknown.came)
    yield from trial.delete(path)


@case(
    should(
        "responses:prompts:unknown",
        "spec 13",
        "An unknown prompt returns 404, with its id in the message.",
        fault=[replies.RECALLED],
    ),
    good=[replies.NOT_FOUND],
)
def an_unknown_prompt_is_not_found(trial: Trial) -> Steps:
    """Use an unknown prompt."""
    exchange = yield from use(trial, {"id": UNKNOWN})
    trial.understood(exchange)
    is_named = exchange.status == 404 and UNKNOWN in message_of(exchange)
    trial.expect("responses:prompts:unknown", is_named, exchange.came)


@case(
    should(
        "responses:prompts:no-object",
        "spec 13",
        "A `prompt` that is a string is rejected with 400.",
        fault=[replies.RECALLED],
    ),
    good=[replies.INVALID],
)
def a_prompt_is_an_object(trial: Trial) -> Steps:
    """Send a string as the prompt."""
    exchange = yield from use(trial, "greeting")
    trial.understood(exchange)
    trial.expect("responses:prompts:no-object", exchange.status == 400, exchange.came)
