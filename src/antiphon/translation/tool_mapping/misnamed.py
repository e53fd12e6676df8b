"""Which tool a call means that names none: models write names of servers' tools as they remember them.

| What the model writes | What the call is |
|---|---|
| another spelling of one tool's name, or its name without the server's label | a call of that tool |
| anything else, where every tool is this server's | a call of this server's that fails, and the model hears so |
| anything else | the client's: it may know what is meant |
"""

from collections.abc import Collection

from antiphon.protocol.tool_bindings import Offer
from antiphon.translation.hosted_items import HOSTED


def meant(name: str, offers: Collection[Offer]) -> Offer:
    """Return the tool that is meant."""
    hosted = [offer for offer in offers if offer.kind in HOSTED]
    alike = [offer for offer in hosted if _bare(name) in (_bare(offer.chat_name), _bare(offer.name))]
    if len(alike) == 1:
        return alike[0]
    if not hosted or len(hosted) < len(offers):
        return Offer(name, name=name)
    near = alike or [offer for offer in hosted if name.startswith(offer.namespace or name)] or hosted
    return Offer(name, near[0].kind, name, namespace=near[0].namespace, is_hosted=True)


def _bare(name: str) -> str:
    return "".join(letter for letter in name.casefold() if letter.isalnum())
