"""The only entry point into the core: for the HTTP server, WebSockets and the library.

A `Gateway` has the objects of the API, and creates responses. It returns a value, or a `Run`: await
its result or iterate its events. The other names below are the values that cross this boundary.
"""

from antiphon.access.limits import has_budget
from antiphon.access.metering import UsageLease
from antiphon.access.spending import Weight
from antiphon.access.tally import ImagesTally, Tally
from antiphon.access.weight import weight_of, weight_of_chat, weight_of_response
from antiphon.forwarding.passthrough import Passing, PassthroughSink
from antiphon.gateway.gateway import Gateway, charged_to
from antiphon.history.context import CHAINABLE
from antiphon.jobs.queue import Queued
from antiphon.jobs.replay import CutOff
from antiphon.objects.pages import JsonObject
from antiphon.objects.usage import UsageFound, usage_object
from antiphon.objects.webhooks import Webhooks
from antiphon.process import going_away
from antiphon.protocol.json_pieces import LargeObject, encode_large
from antiphon.recording.completion_recorder import CompletionRecorder
from antiphon.recording.idempotency import ReplayLog, check_key
from antiphon.recording.persistence import RequestIdentity
from antiphon.runs.input_tokens import Count
from antiphon.runs.phases import Phase
from antiphon.runs.run import KEEPALIVE_AFTER, Run
from antiphon.runs.tool_policy import IGNORED
from antiphon.status.status import Status
from antiphon.storage.records.containers import StoredContainer
from antiphon.storage.records.facts import Facts
from antiphon.storage.records.responses import StoredItem
from antiphon.storage.records.sessions import ConsoleSession
from antiphon.storage.records.tenants import ApiKey, Role, StoredReply, UsageField
from antiphon.telemetry.context import about, within_request
from antiphon.translation.to_chat_completions.adjustments import ADJUSTED
from antiphon.translation.wire import COMMENT, encode
from antiphon.translation.writer import output_text
from antiphon.upstream.permitted import REDIRECTING, permit, redirected

__all__ = [
    "ADJUSTED",
    "CHAINABLE",
    "COMMENT",
    "IGNORED",
    "KEEPALIVE_AFTER",
    "REDIRECTING",
    "ApiKey",
    "CompletionRecorder",
    "ConsoleSession",
    "Count",
    "CutOff",
    "Facts",
    "Gateway",
    "ImagesTally",
    "JsonObject",
    "LargeObject",
    "Passing",
    "PassthroughSink",
    "Phase",
    "Queued",
    "ReplayLog",
    "RequestIdentity",
    "Role",
    "Run",
    "Status",
    "StoredContainer",
    "StoredItem",
    "StoredReply",
    "Tally",
    "UsageField",
    "UsageFound",
    "UsageLease",
    "Webhooks",
    "Weight",
    "about",
    "charged_to",
    "check_key",
    "encode",
    "encode_large",
    "going_away",
    "has_budget",
    "output_text",
    "permit",
    "redirected",
    "usage_object",
    "weight_of",
    "weight_of_chat",
    "weight_of_response",
    "within_request",
]
