"""All targets, by name."""

from tests.fuzz.targets import Target, answers, documents, requests

TARGETS: dict[str, Target] = {
    target.name: target for module in (answers, requests, documents) for target in module.TARGETS
}
