"""Responses, tokens and CPU time of code by tenant, for operators who enable these metrics:
`metrics_tenants`.
"""

from dataclasses import dataclass, field

from antiphon.telemetry.kinds import OTHER
from antiphon.telemetry.metrics import Measures
from antiphon.telemetry.observers import Observer, ResponseRecord, ToolUse


@dataclass(slots=True)
class TenantMetrics(Observer):
    """Counts for the first `most` tenants by their names, and for all further ones as `other`."""

    measures: Measures
    most: int
    _named: set[str] = field(default_factory=set)

    def returned(self, use: ToolUse) -> None:
        """See `Observer.returned`."""
        if use.cpu or use.paused:
            tenant = self._label(use.tenant)
            self.measures.tenant_code_seconds.add(tenant, "cpu", by=use.cpu)
            self.measures.tenant_code_seconds.add(tenant, "paused", by=use.paused)

    def ended(self, record: ResponseRecord) -> None:
        """See `Observer.ended`."""
        tenant = self._label(record.tenant)
        if record.outcome != "queued":
            self.measures.tenant_responses.add(tenant, record.outcome)
        if record.cache != "hit" and (usage := record.response.usage) is not None:
            self.measures.tenant_tokens.add(tenant, "input", by=usage.input_tokens)
            self.measures.tenant_tokens.add(tenant, "output", by=usage.output_tokens)

    def _label(self, tenant: str) -> str:
        if tenant in self._named:
            return tenant
        if len(self._named) >= self.most:
            return OTHER
        self._named.add(tenant)
        return tenant
