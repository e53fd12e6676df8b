"""`check_store` passes a store that keeps its promises, and names each promise that is broken.

The broken ones are the SQLite store with one method that does something else.
"""

import json
import re
import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from msgspec.structs import replace

from antiphon import ids
from antiphon.errors import StoreError
from antiphon.search.filters import AttributeValue, Filter
from antiphon.storage.clock import StoreClock
from antiphon.storage.operations import (
    api_keys,
    chat_completions,
    file_texts,
    idempotency,
    ingestions,
    jobs,
    leases,
    lessons,
    profiles,
    sessions,
    vector_stores,
)
from antiphon.storage.operations import files as stored_files
from antiphon.storage.operations import responses as stored_responses
from antiphon.storage.operations.chunk_parts import Termed
from antiphon.storage.operations.step import query_rows
from antiphon.storage.records.chat_completions import CompletionQuery, StoredCompletion
from antiphon.storage.records.chunks import (
    ChunkRow,
    FoundChunk,
    IndexedFile,
    KeywordMatches,
    SearchedStore,
    TermCounts,
)
from antiphon.storage.records.facts import SUMMED, Facts, FactsFamily, FactsPage, FactsQuery
from antiphon.storage.records.figures import Figures, FiguresFound, FiguresQuery
from antiphon.storage.records.files import (
    FileQuery,
    FileQuota,
    FileText,
    StoredFile,
    StoredPart,
    StoredUpload,
)
from antiphon.storage.records.jobs import NOTHING_RESERVED, Backlog, Job, LockResult, Progress
from antiphon.storage.records.lessons import StoredLesson
from antiphon.storage.records.money import MoneyClaim
from antiphon.storage.records.pages import Page
from antiphon.storage.records.profiles import StoredProfile
from antiphon.storage.records.reports import StoredReport
from antiphon.storage.records.responses import (
    ChainExtent,
    LargeItem,
    PageQuery,
    StoredConversation,
    StoredItem,
    StoredResponse,
)
from antiphon.storage.records.sessions import ConsoleSession
from antiphon.storage.records.tenants import (
    ApiKey,
    BucketState,
    Delivery,
    KeyLimits,
    KeyReservation,
    StorageUse,
    StoredReply,
    UsageField,
    UsageRecord,
    UsageRow,
    WebhookEndpoint,
)
from antiphon.storage.records.vector_stores import (
    Attached,
    Ingestion,
    NewAttachment,
    StoredVectorStore,
    StorePageQuery,
)
from antiphon.storage.sqlite.store import SqliteStore
from tests.store import check
from tests.store.check import check_store
from tests.store.making import T
from tests.support.changed_stores import ChangedStore


class FindsUnpublished(ChangedStore):
    async def put_chunks(self, file: IndexedFile, rows: Sequence[Termed[ChunkRow]]) -> bool:
        is_put: bool = await self.original.put_chunks(file, rows)
        await self.original.publish_chunks(file)
        return is_put


class ShowsStoresToAll(ChangedStore):
    async def find_vector_store(self, tenant: str, store_id: str) -> StoredVectorStore | None:
        return await self.original.find_vector_store(T, store_id)


class ListsStoresForwards(ChangedStore):
    async def vector_store_page(
        self, tenant: str | None, query: StorePageQuery
    ) -> Page[StoredVectorStore]:
        return await self.original.vector_store_page(tenant, replace(query, descending=False))


class AttachesWhatItFinds(ChangedStore):
    async def attach_files(
        self,
        tenant: str,
        store_id: str,
        files: Sequence[NewAttachment],
        batch_id: str | None = None,
    ) -> Attached:
        for file in files:
            found = await self.original.attach_files(tenant, store_id, [file], batch_id)
        return found


class CountsNoFailures(ChangedStore):
    async def fail_ingestion(self, ingestion: Ingestion, code: str, message: str) -> bool:
        return True


class IngestsAllAgain(ChangedStore):
    async def attach_files(
        self,
        tenant: str,
        store_id: str,
        files: Sequence[NewAttachment],
        batch_id: str | None = None,
    ) -> Attached:
        for file in files:
            await self.write(vector_stores.detach, tenant, store_id, file.file_id)
        return await self.original.attach_files(tenant, store_id, files, batch_id)


class TakesLateChunksOfFiles(ChangedStore):
    async def write_chunks(self, ingestion: Ingestion, rows: Sequence[Termed[ChunkRow]]) -> bool:
        await self.original.write_chunks(ingestion, rows)
        return True


class LeavesFilesToTheDead(ChangedStore):
    async def expire_worker(self, worker: str, beat: int | None) -> bool:
        for seq in await self.read(ingestions.owned, worker):
            await self.write(ingestions.release, worker, seq)
        return await self.original.expire_worker(worker, beat)


class ServesTheLoudest(ChangedStore):
    async def claim_ingestion(
        self, worker: str, per_tenant: int, paused: Sequence[str] = ()
    ) -> Ingestion | None:
        return await self.original.claim_ingestion(worker, 1000, paused)


class StartsWhatIsPaused(ChangedStore):
    async def claim_ingestion(
        self, worker: str, per_tenant: int, paused: Sequence[str] = ()
    ) -> Ingestion | None:
        return await self.original.claim_ingestion(worker, per_tenant)


class TakesAnyNumberOfChunks(ChangedStore):
    async def complete_ingestion(self, ingestion: Ingestion, chunks: int, most: int) -> bool:
        return await self.original.complete_ingestion(ingestion, chunks, 10**9)


class KeepsExpiredStores(ChangedStore):
    async def create_vector_store(
        self, store: StoredVectorStore, files: Sequence[NewAttachment] = ()
    ) -> Attached:
        return await self.original.create_vector_store(replace(store, days=None), files)


class NeverMovesTheExpiry(ChangedStore):
    async def use_vector_stores(self, tenant: str, store_ids: Sequence[str]) -> None:
        """Move nothing."""


class ReindexesNothing(ChangedStore):
    async def reindex_vector_store(
        self, tenant: str, store_id: str, embedding_model: str
    ) -> int | None:
        return None


class ForgetsAttributes(ChangedStore):
    async def set_chunk_attributes(
        self, tenant: str, store_id: str, file_id: str, attributes: Mapping[str, AttributeValue]
    ) -> None:
        """Keep none."""


class TakesOldChunks(ChangedStore):
    async def put_chunks(self, file: IndexedFile, rows: Sequence[Termed[ChunkRow]]) -> bool:
        await self.original.put_chunks(file, rows)
        return True


class CountsChunksTwice(ChangedStore):
    async def searched_store(self, tenant: str, store_id: str) -> SearchedStore | None:
        found = await self.original.searched_store(tenant, store_id)
        return found and replace(found, chunks=2 * found.chunks)


class DropsNoChunks(ChangedStore):
    async def drop_chunks(self, tenant: str, store_id: str, file_id: str | None) -> None:
        """Drop nothing."""


class ShowsChunksToAll(ChangedStore):
    async def found_chunks(self, tenant: str, numbers: Sequence[int]) -> Sequence[FoundChunk]:
        return await self.original.found_chunks(T, numbers)


class MindsCase(ChangedStore):
    async def match_keywords(
        self,
        tenant: str,
        store_id: str,
        terms: Sequence[str],
        filters: Filter | None,
        most: int,
        known: TermCounts | None = None,
    ) -> KeywordMatches:
        exact = [term for term in terms if term.isascii()]
        return await self.original.match_keywords(tenant, store_id, exact, filters, most)


class FiltersTheBest(ChangedStore):
    async def match_keywords(
        self,
        tenant: str,
        store_id: str,
        terms: Sequence[str],
        filters: Filter | None,
        most: int,
        known: TermCounts | None = None,
    ) -> KeywordMatches:
        return await self.original.match_keywords(tenant, store_id, terms, None, most)


class LosesVectors(ChangedStore):
    async def vectors(self, tenant: str, numbers: Sequence[int]) -> Mapping[int, bytes]:
        return {number: bytes(6) for number in numbers}


class NoAddress(SqliteStore):
    def __init__(self, url: str, *rest: Any) -> None:
        super().__init__("", *rest)


class WritesOnlyOnce(SqliteStore):
    _has_written = False

    async def check_writable(self) -> None:
        if self._has_written:
            raise StoreError("It is there already.")
        self._has_written = True
        await super().check_writable()


class ForgetsSeals(SqliteStore):
    async def save(self, response: StoredResponse, **how: Any) -> bool:
        items = [replace(item, sealed=item.sealed or None) for item in response.input]
        return await super().save(replace(response, input=items), **how)


class KeepsTheFirstProfile(ChangedStore):
    async def put_profile(self, profile: StoredProfile) -> None:
        if not any(
            (one.place, one.model) == (profile.place, profile.model)
            for one in await self.read(profiles.every)
        ):
            await self.original.put_profile(profile)


class KeepsTheFirstLesson(ChangedStore):
    async def put_lessons(self, learned: Sequence[StoredLesson], since: int) -> None:
        known = {
            (one.place, one.model, one.tenant, one.name)
            for one in await self.read(lessons.every, 0)
        }
        new = [one for one in learned if (one.place, one.model, one.tenant, one.name) not in known]
        await self.original.put_lessons(new, since)


class KeepsOldLessons(ChangedStore):
    async def put_lessons(self, learned: Sequence[StoredLesson], since: int) -> None:
        await self.original.put_lessons(learned, 0)


class ListsTheOldestReportFirst(ChangedStore):
    async def reports(self) -> Sequence[StoredReport]:
        return [*reversed(await self.original.reports())]


class NeverTrimsReports(ChangedStore):
    async def find_report(self, report_id: str) -> StoredReport | None:
        stored: dict[str, StoredReport] = self.__dict__.setdefault("kept", {})
        return await self.original.find_report(report_id) or stored.get(report_id)

    async def put_report(self, report: StoredReport) -> None:
        self.__dict__.setdefault("kept", {})[report.id] = report
        await self.original.put_report(report)

    async def delete_report(self, report_id: str) -> bool:
        self.__dict__.setdefault("kept", {}).pop(report_id, None)
        return await self.original.delete_report(report_id)


class DropsFacts(SqliteStore):
    async def save(self, response: StoredResponse, **how: Any) -> bool:
        return await super().save(replace(response, facts=None), **how)


class KeepsOneOfManyFacts(ChangedStore):
    async def put_facts(self, facts: Sequence[Facts]) -> None:
        await self.original.put_facts(facts[:1])


class ShowsSpansToAll(ChangedStore):
    async def spans(self, tenant: str, response_id: str) -> bytes | None:
        owner: dict[str, str] = self.__dict__.setdefault("whose", {})
        return await self.original.spans(owner.get(response_id, tenant), response_id)

    async def save(self, response: StoredResponse, **how: Any) -> bool:
        self.__dict__.setdefault("whose", {})[response.id] = response.tenant
        return await super().save(response, **how)


class QueuesWithoutFacts(ChangedStore):
    async def enqueue(self, response: StoredResponse, *args: Any, **how: Any) -> LockResult:
        return await self.original.enqueue(replace(response, facts=None), *args, **how)


class KeepsSpansOfTheDeleted(ChangedStore):
    async def spans(self, tenant: str, response_id: str) -> bytes | None:
        known: dict[str, bytes | None] = self.__dict__.setdefault("known", {})
        return await self.original.spans(tenant, response_id) or known.get(response_id)

    async def save(self, response: StoredResponse, **how: Any) -> bool:
        if response.facts is not None:
            self.__dict__.setdefault("known", {})[response.id] = response.facts.spans
        return await super().save(response, **how)


class ListsFactsOldestFirst(ChangedStore):
    async def list_facts(self, tenant: str | None, query: FactsQuery) -> FactsPage:
        return await self.original.list_facts(tenant, structs.replace(query, descending=False))


class PurgesNot(ChangedStore):
    """Purges the rows of a table, and reports none."""

    lacks = ""

    async def purge(self, table: str, age: int, limit: int) -> int:
        removed: int = await self.original.purge(table, age, limit)
        return 0 if table == self.lacks else removed

    async def count_expired(self, table: str, age: int) -> int:
        count: int = await self.original.count_expired(table, age)
        return 0 if table == self.lacks else count


class PurgesNoFacts(PurgesNot):
    lacks = "facts"


class ForgetsSums(ChangedStore):
    async def sum_up(self) -> bool:
        more = await self.original.sum_up()
        await self.original.purge("minutes", -(2**40), 1000)
        return more


class SumsLateOnesLater(SqliteStore):
    async def save(self, response: StoredResponse, **how: Any) -> bool:
        if (facts := response.facts) is not None:
            facts = replace(facts, flags=facts.flags & ~SUMMED)
        return await super().save(replace(response, facts=facts), **how)


class SumsRepetitions(ChangedStore):
    async def put_facts(self, facts: Sequence[Facts]) -> None:
        await self.original.put_facts([replace(one, ended=None) for one in facts])
        await self.original.put_facts(facts)


class IgnoresGroups(ChangedStore):
    async def figures(self, tenant: str | None, query: FiguresQuery) -> FiguresFound:
        found = await self.original.figures(tenant, query)
        found.groups = dict.fromkeys(found.groups, Figures())
        return found


class NamesAllGroups(ChangedStore):
    async def figures(self, tenant: str | None, query: FiguresQuery) -> FiguresFound:
        return await self.original.figures(tenant, structs.replace(query, most_groups=10**6))


class ShowsTheLargestGroupsOverTime(ChangedStore):
    async def figures(self, tenant: str | None, query: FiguresQuery) -> FiguresFound:
        found = await self.original.figures(tenant, query)
        largest = sorted(found.groups, key=lambda name: -found.groups[name].responses)
        found.series = {name: found.series.get(name, {}) for name in largest[: query.series]}
        return found


class ReadsWithoutReporting(ChangedStore):
    async def figures(self, tenant: str | None, query: FiguresQuery) -> FiguresFound:
        return await self.original.figures(tenant, structs.replace(query, most_read=10**6))


class HasNoChains(ChangedStore):
    async def find_facts(self, tenant: str | None, response_id: str) -> FactsFamily | None:
        found = await self.original.find_facts(tenant, response_id)
        return found and FactsFamily(found.facts)


class MissesChanges(ChangedStore):
    async def changed_facts(self, behind: int | None) -> tuple[int, Sequence[Facts]]:
        place, changed = await self.original.changed_facts(behind)
        return place, [one for one in changed if one.status != "completed" or one.model]


class RaisesForTheUnknown(ChangedStore):
    async def load(self, tenant: str, response_id: str) -> StoredResponse | None:
        found = await self.original.load(tenant, response_id)
        if found is None:
            raise StoreError("There is none.")
        return found


class KeepsOldItems(SqliteStore):
    async def save(self, response: StoredResponse, **how: Any) -> bool:
        former = await self.read(stored_responses.load, response.tenant, response.id)
        items = [*(former.input if former else ()), *response.input]
        return await super().save(replace(response, input=items), **how)


class DeletesTwice(ChangedStore):
    async def delete(self, tenant: str, response_id: str) -> bool:
        ever: set[str] = self.__dict__.setdefault("ever", set())
        if await self.original.delete(tenant, response_id):
            ever.add(response_id)
        return response_id in ever


class NewestFirst(ChangedStore):
    async def history(self, tenant: str, response_id: str) -> list[StoredItem] | None:
        items = await self.original.history(tenant, response_id)
        return items and items[::-1]


class SkipsHoles(ChangedStore):
    async def history(self, tenant: str, response_id: str) -> list[StoredItem] | None:
        items = await self.original.history(tenant, response_id)
        own = await self.read(stored_responses.load, tenant, response_id)
        return [*own.input, *own.output] if items is None and own else items


class RemembersChains(SqliteStore):
    async def measure_chain(self, tenant: str, response_id: str, most: int) -> ChainExtent:
        longest: dict[str, ChainExtent] = self.__dict__.setdefault("longest", {})
        found = await super().measure_chain(tenant, response_id, most)
        if found.length > 64:
            longest[response_id] = found
        return longest.get(response_id, found)


class Quadratic(ChangedStore):
    async def history(self, tenant: str, response_id: str) -> list[StoredItem] | None:
        items = await self.original.history(tenant, response_id)
        for _ in (items or [])[::16]:
            await self.original.history(tenant, response_id)
        return items


class FindsTheNewest(ChangedStore):
    async def save(self, response: StoredResponse, *rest: Any, **how: Any) -> Any:
        newest: dict[str, StoredItem] = self.__dict__.setdefault("newest", {})
        newest |= {item.id: item for item in (*response.input, *response.output)}
        return await super().save(response, *rest, **how)

    async def find_item(self, tenant: str, item_id: str, **how: Any) -> StoredItem | None:
        found = await self.original.find_item(tenant, item_id, **how)
        is_small = found is not None and not isinstance(found, LargeItem)
        return self.__dict__.get("newest", {}).get(item_id, found) if is_small else found


class Stopped(StoreClock):
    def now(self) -> int:
        return 0


class ShowsTheExpired(SqliteStore):
    def __init__(self, *value: Any, **how: Any) -> None:
        super().__init__(*value, **how)
        self.clock = Stopped(ids.now)


class SharesAmongTenants(ChangedStore):
    async def load(self, tenant: str, response_id: str) -> StoredResponse | None:
        return await self.original.load("check_store", response_id)


class SavesLater(SqliteStore):
    """Acknowledges at once and keeps with the next save."""

    async def save(self, response: StoredResponse, **how: Any) -> bool:
        self._refuse_closed()
        late = self.__dict__.get("late")
        self.__dict__["late"] = (response, how)
        return await super().save(late[0], **late[1]) if late else True


class AnswersWhenClosed(ChangedStore):
    async def find_item(self, tenant: str, item_id: str, **how: Any) -> StoredItem | None:
        return None if self._closed else await self.original.find_item(tenant, item_id, **how)


class LosesAtClosing(SqliteStore):
    async def close(self) -> None:
        await super().close()
        for path in Path(self.url.removeprefix("sqlite://")).parent.glob("a.db*"):
            path.unlink()


class ClaimsTwice(ChangedStore):
    async def claim(self, *how: Any) -> Job | None:
        job = await self.original.claim(*how)
        last = self.__dict__.get("last")
        self.__dict__["last"] = job
        return job or (
            last and await self.read(jobs.find_job, last.response.tenant, last.response.id)
        )


class DoesNotFence(ChangedStore):
    async def advance(self, job: Job, progress: Progress) -> Job | None:
        newest = await self.read(jobs.find_job, job.response.tenant, job.response.id)
        return await self.original.advance(newest or job, progress)


class KeepsUnfinishedItems(ChangedStore):
    async def advance(self, job: Job, progress: Progress) -> Job | None:
        return await self.original.advance(job, replace(progress, is_resume_point=True))


class LosesStoredData(ChangedStore):
    async def advance(self, job: Job, progress: Progress) -> Job | None:
        return await self.original.advance(job, replace(progress, is_resume_point=False))


class ExpiresTheLiving(ChangedStore):
    async def expire_worker(self, worker: str, beat: int | None) -> bool:
        beats = await self.read(leases.beats)
        return await self.original.expire_worker(
            worker, None if beat is None else beats.get(worker, beat)
        )


class CountsThemAsCrashes(ChangedStore):
    async def expire_worker(self, worker: str, beat: int | None) -> bool:
        return await self.original.expire_worker(
            worker, (await self.read(leases.beats)).get(worker, 0) if beat is None else beat
        )


class TakesAtOnce(ChangedStore):
    async def expire_worker(self, worker: str, beat: int | None) -> bool:
        has_expired = await self.original.expire_worker(worker, beat)
        for one in await self.read(leases.owned, worker) if has_expired else ():
            await self.write(leases.give_back, worker, one)
        for one in await self.read(leases.retained_responses, worker) if has_expired else ():
            await self.write(leases.release, worker, one)
        return has_expired


class NeverTakes(ChangedStore):
    async def expire_worker(self, worker: str, beat: int | None) -> bool:
        return beat is not None or await self.original.expire_worker(worker, beat)


class NeedsABeat(ChangedStore):
    async def claim(self, worker: str, *how: Any) -> Job | None:
        job = await self.original.claim(worker, *how)
        await self._forget_life(worker)
        return job

    async def lock(
        self, tenant: str, conversation_id: str, response_id: str, worker: str
    ) -> LockResult:
        outcome = await self.original.lock(tenant, conversation_id, response_id, worker)
        await self._forget_life(worker)
        return outcome

    async def expire_worker(self, worker: str, beat: int | None) -> bool:
        self.__dict__.setdefault("dead", set()).add(worker)
        return await self.original.expire_worker(worker, beat)

    async def _forget_life(self, worker: str) -> None:
        if worker in self.__dict__.get("dead", ()):
            await self.original.expire_worker(
                worker, (await self.read(leases.beats)).get(worker, 0)
            )


class QueuesEverything(ChangedStore):
    async def enqueue(self, *value: Any, most: int | None = None) -> LockResult:
        return await self.original.enqueue(*value)


class LeavesNoRoom(ChangedStore):
    async def claim(
        self, worker: str, per_tenant: int, per_tenant_here: int | None = None
    ) -> Job | None:
        return await self.original.claim(worker, per_tenant)


class IgnoresConcurrency(ChangedStore):
    async def put_api_key(self, key: ApiKey) -> None:
        await self.original.put_api_key(replace(key, limits=replace(key.limits, concurrency=None)))


class PurgesRunningResponses(ChangedStore):
    async def purge(self, table: str, age: int, limit: int) -> int:
        return await self._with_created(table, await self.original.purge(table, age, limit))

    async def count_expired(self, table: str, age: int) -> int:
        return await self._with_created(table, await self.original.count_expired(table, age))

    async def _with_created(self, table: str, count: int) -> int:
        if table != "responses":
            return count
        created = [
            one
            for worker in await self.read(leases.beats)
            for one in await self.read(leases.owned, worker)
        ]
        return count + len(created)


class LeadsToOthers(ChangedStore):
    async def history(self, tenant: str, response_id: str) -> list[StoredItem] | None:
        return await self.original.history(tenant, response_id) or await self.original.history(
            "other", response_id
        )


class ServesTheCrowd(ChangedStore):
    async def claim(self, worker: str, *how: Any) -> Job | None:
        return await self.original.claim(worker, 1_000_000)


class CountsTheClaimed(ChangedStore):
    async def backlog(self, lead: int = 0) -> Backlog:
        waiting = await self.original.backlog(lead)
        return replace(
            waiting, jobs=waiting.jobs + sum([1 for one in await self.read(leases.beats)])
        )


class CountsNoWindow(ChangedStore):
    async def backlog(self, lead: int = 0) -> Backlog:
        waiting = await self.original.backlog(lead)
        return replace(waiting, overdue=waiting.deferred)


class NotifiesNoOne(SqliteStore):
    def _announce(self, changed: str) -> None:
        pass


class AnnouncesWhatWasRefused(ChangedStore):
    async def finish(self, job: Job, response: StoredResponse, *rest: Any, **how: Any) -> bool:
        newest = await self.read(jobs.find_job, job.response.tenant, job.response.id)
        await self.original.finish(newest or job, response, *rest, **how)
        return newest is not None and newest.version == job.version


class AddsInPart(ChangedStore):
    async def add_items(self, tenant: str, conversation_id: str, items: Any) -> LockResult:
        outcomes = [
            await self.original.add_items(tenant, conversation_id, [item]) for item in items
        ]
        return outcomes[-1]


class LetsOthersWrite(ChangedStore):
    async def lock(
        self, tenant: str, conversation_id: str, response_id: str, worker: str
    ) -> LockResult:
        outcome = await self.original.lock(tenant, conversation_id, response_id, worker)
        return LockResult.DONE if outcome is LockResult.BUSY else outcome


class TakesTheCallersWord(ChangedStore):
    async def load(self, tenant: str, response_id: str) -> StoredResponse | None:
        found = await self.original.load(tenant, response_id)
        return replace(found, conversation_end=0) if found and found.status == "queued" else found


class ReservesAgain(ChangedStore):
    async def reserve(
        self, tenant: str, key: str, print: bytes, response_id: str, worker: str
    ) -> KeyReservation:
        await self.original.reserve(tenant, key, print, response_id, worker)
        return KeyReservation(print, response_id, worker, None)


class RepliesToOthers(SqliteStore):
    async def save(
        self, response: StoredResponse, *, append: bool = False, reply: StoredReply | None = None
    ) -> bool:
        found = await self.read(idempotency.find, reply.tenant, reply.key) if reply else None
        response = replace(response, id=found.response_id) if found else response
        return await super().save(response, append=append, reply=reply)


class FreesEverything(ChangedStore):
    async def release(self, worker: str, response_id: str) -> None:
        for one in await self.read(leases.retained_responses, worker):
            await self.original.release(worker, one)


class DeliversAgain(ChangedStore):
    async def claim_delivery(self, delivery_id: str, hold: int) -> Any:
        return await self.original.claim_delivery(delivery_id, -10)


class ServesTheLargestTenant(ChangedStore):
    async def due(self, limit: int) -> Any:
        found = await self.original.due(limit)
        tenants = [one.tenant for one in found]
        return sorted(found, key=lambda one: -tenants.count(one.tenant))


class RetriesNothing(ChangedStore):
    async def retry_failed_deliveries(self) -> int:
        return 1_000


class TakesAnyNumberOfEndpoints(ChangedStore):
    async def put_endpoint(self, endpoint: WebhookEndpoint, most: int = 0) -> bool:
        return await self.original.put_endpoint(endpoint)


class ForgivesTheLate(ChangedStore):
    async def find_api_key(self, digest: bytes) -> ApiKey | None:
        return next(
            (
                key
                for key in await self.read(api_keys.every)
                if digest in (key.digest, key.old_digest)
            ),
            None,
        )


class GrantsTooMuch(ChangedStore):
    async def take(
        self, key_id: str, limits: KeyLimits, tokens: int, claim: MoneyClaim | None = None
    ) -> BucketState:
        return replace(await self.original.take(key_id, limits, tokens, claim), is_granted=True)


class KeepsWhatWasTaken(ChangedStore):
    async def charge(self, uses: Sequence[UsageRecord]) -> None:
        await self.original.charge([replace(use, taken=0) for use in uses])


class CountsRepetitions(ChangedStore):
    async def charge_once(self, writer: str, number: int, uses: Sequence[UsageRecord]) -> None:
        await self.original.charge(uses)


class CountsForAllTenants(ChangedStore):
    async def usage(
        self,
        tenant: str | None,
        begin: int,
        end: int,
        by: Collection[UsageField] = ("key", "day"),
        most: int | None = None,
    ) -> list[UsageRow]:
        return await self.original.usage(tenant, 0, end, by, most)


class ForgetsBudgets(ChangedStore):
    async def find_api_key(self, digest: bytes) -> ApiKey | None:
        found = await self.original.find_api_key(digest)
        return found and replace(found, tenant_budget=None)


class SpendsWhatIsSpent(ChangedStore):
    async def take(
        self, key_id: str, limits: KeyLimits, tokens: int, claim: MoneyClaim | None = None
    ) -> BucketState:
        return await self.original.take(key_id, limits, tokens)


class NamesNoBudget(ChangedStore):
    async def take(
        self, key_id: str, limits: KeyLimits, tokens: int, claim: MoneyClaim | None = None
    ) -> BucketState:
        return replace(await self.original.take(key_id, limits, tokens, claim), exhausted=None)


class TakesInPart(ChangedStore):
    async def take(
        self, key_id: str, limits: KeyLimits, tokens: int, claim: MoneyClaim | None = None
    ) -> BucketState:
        if claim is not None:
            spent = await self.original.take(key_id, KeyLimits(), 0, claim)
            if not spent.is_granted:
                return spent
        return await self.original.take(key_id, limits, tokens)


class KeepsWhatWasReserved(ChangedStore):
    async def charge(self, uses: Sequence[UsageRecord]) -> None:
        await self.original.charge([replace(use, cost_taken=0) for use in uses])


class BeginsAtNothing(ChangedStore):
    async def charge(self, uses: Sequence[UsageRecord]) -> None:
        await self.original.charge([replace(use, cost=0) for use in uses])


class KnowsNoModels(ChangedStore):
    async def charge(self, uses: Sequence[UsageRecord]) -> None:
        await self.original.charge([replace(use, model="") for use in uses])


class ForgetsWhatIsReserved(ChangedStore):
    async def enqueue(self, *value: Any, **how: Any) -> LockResult:
        *most, taken = value[:5] if len(value) > 4 else (*value, NOTHING_RESERVED)
        return await self.original.enqueue(*most, replace(taken, cost=0), *value[5:], **how)


class ForgetsThePayer(ChangedStore):
    async def enqueue(self, *value: Any, **how: Any) -> LockResult:
        return await self.original.enqueue(*value[:4], **how)


class CountsSaves(ChangedStore):
    """Adds up what is saved, and knows nothing of what is replaced."""

    async def save(self, response: StoredResponse, **how: Any) -> bool:
        sizes: dict[str, int] = self.__dict__.setdefault("sizes", {})
        items = [*response.input, *response.output]
        size = len(response.body) + sum(len(item.body) + len(item.sealed or "") for item in items)
        sizes[response.tenant] = sizes.get(response.tenant, 0) + size
        return await super().save(response, **how)

    async def stored_bytes(self, tenant: str) -> int:
        return self.__dict__.get("sizes", {}).get(tenant, 0)


class ReportsTheWrongSize(ChangedStore):
    async def find_item(self, *which: Any, **how: Any) -> StoredItem | None:
        found = await self.original.find_item(*which, **how)
        return replace(found, size=found.size + 1) if isinstance(found, LargeItem) else found


class LeavesOutTheItems(ChangedStore):
    async def claim(self, *how: Any) -> Job | None:
        job = await self.original.claim(*how)
        return job and replace(job, items=0)


class CountsNot(SqliteStore):
    """Its database lacks some of the triggers that count."""

    lacks: tuple[str, ...] = ()

    @classmethod
    def open(cls, url: str, **how: Any) -> SqliteStore:
        store = super().open(url, **how)
        with closing(sqlite3.connect(url.removeprefix("sqlite://"))) as connection:
            for name in cls.lacks:
                connection.execute(f"DROP TRIGGER IF EXISTS {name}")
        return store


class CountsNoReplies(CountsNot):
    lacks = ("idempotency_keys_changed", "idempotency_keys_deleted")


class CountsNoJobs(CountsNot):
    lacks = ("jobs_put", "jobs_changed", "jobs_deleted")


class ForgetsTheReader(ChangedStore):
    async def find_file_text(self, tenant: str, digest: bytes, version: int) -> FileText | None:
        found = [await self.original.find_file_text(tenant, digest, one) for one in (version, 1)]
        return next(filter(None, found), None)


class KeepsTextsForever(ChangedStore):
    async def keep_file_text(self, text: FileText) -> None:
        await self.original.keep_file_text(replace(text, expires_at=text.expires_at + 10**9))


class KeepsTheTextsOfDeletedFiles(ChangedStore):
    async def delete_file(self, tenant: str, file_id: str) -> bool:
        file = await self.read(stored_files.load, tenant, file_id)
        text = await self.read(file_texts.find, tenant, file.digest, 1) if file else None
        is_deleted = await self.original.delete_file(tenant, file_id)
        if text is not None:
            await self.write(file_texts.put, text)
        return is_deleted


class CountsNoCompletions(CountsNot):
    lacks = ("chat_completions_changed",)


class MergesMetadata(ChangedStore):
    async def update_completion(
        self, tenant: str, completion_id: str, metadata: bytes
    ) -> StoredCompletion | None:
        before = await self.read(chat_completions.load, tenant, completion_id)
        merged = {**json.loads(before.metadata if before else b"{}"), **json.loads(metadata)}
        return await self.original.update_completion(
            tenant, completion_id, json.dumps(merged).encode()
        )


class ShowsCompletionsToAll(ChangedStore):
    async def load_completion(self, tenant: str, completion_id: str) -> StoredCompletion | None:
        found = [await self.original.load_completion(one, completion_id) for one in (tenant, T)]
        return next(filter(None, found), None)


class ForgetsTheOrder(ChangedStore):
    async def completion_messages(
        self, tenant: str, completion_id: str, query: PageQuery
    ) -> Page[StoredItem] | None:
        return await self.original.completion_messages(
            tenant, completion_id, replace(query, descending=False)
        )


class ListsWithoutLimit(ChangedStore):
    async def completion_page(self, tenant: str, query: CompletionQuery) -> Page[StoredCompletion]:
        return await self.original.completion_page(tenant, replace(query, most_bytes=2**40))


class FiltersByTheFirstPair(ChangedStore):
    async def completion_page(self, tenant: str, query: CompletionQuery) -> Page[StoredCompletion]:
        first = dict(sorted(query.metadata.items())[:1])
        return await self.original.completion_page(tenant, replace(query, metadata=first))


class KeepsCompletionsForever(ChangedStore):
    async def save_completion(self, completion: StoredCompletion) -> None:
        await self.original.save_completion(replace(completion, expires_at=2**40))


class CountsNoEnds(CountsNot):
    lacks = ("responses_changed",)


class CountsTheEmpty(ChangedStore):
    """Counts every tenant that has ever stored anything."""

    async def storage_use(self, limit: int) -> StorageUse:
        use = await self.original.storage_use(limit)
        ever: set[str] = self.__dict__.setdefault("ever", set())
        ever |= {one.tenant for one in (await self.original.storage_use(1_000_000)).largest}
        return structs.replace(use, tenants=len(ever))


class AddsUpWhatItShows(ChangedStore):
    async def storage_use(self, limit: int) -> StorageUse:
        use = await self.original.storage_use(limit)
        return structs.replace(use, stored_bytes=sum(one.stored_bytes for one in use.largest))


class ShowsTheSmallest(ChangedStore):
    async def storage_use(self, limit: int) -> StorageUse:
        use = await self.original.storage_use(1_000_000)
        return structs.replace(use, largest=use.largest[::-1][:limit])


class CountsWhatWasDropped(ChangedStore):
    async def release_job(self, worker: str, response_id: str) -> None:
        job = (
            await self.read(jobs.find_job, self.__dict__["tenant"], response_id)
            if "tenant" in self.__dict__
            else None
        )
        if job is not None:
            await self.original.advance(job, Progress(is_resume_point=True))
        await self.original.release_job(worker, response_id)

    async def claim(self, *how: Any) -> Job | None:
        job = await self.original.claim(*how)
        self.__dict__["tenant"] = job.response.tenant if job else ""
        return job


class KeepsAllSessions(ChangedStore):
    async def put_session(self, session: ConsoleSession) -> None:
        times = (session.created_at, session.used_at, session.expires_at)
        await self._write(
            lambda: query_rows(
                "put_session", session.digest, session.key_id, session.key_digest, *times
            )
        )


class RevivesSessions(ChangedStore):
    async def delete_session(self, digest: bytes) -> bool:
        if session := await self.read(sessions.find, digest):
            self.__dict__.setdefault("deleted", {})[digest] = session
        return await self.original.delete_session(digest)

    async def touch_session(self, digest: bytes, used_at: int, expires_at: int) -> None:
        await self.original.touch_session(digest, used_at, expires_at)
        if session := self.__dict__.get("deleted", {}).get(digest):
            await self.original.put_session(session)


class PurgesNoSessions(PurgesNot):
    lacks = "sessions"


class TakesCodesTwice(ChangedStore):
    async def redeem_code(self, digest: bytes) -> bool:
        known: set[bytes] = self.__dict__.setdefault("known", set())
        if await self.original.redeem_code(digest):
            known.add(digest)
        return digest in known


class ListsOldestFirst(ChangedStore):
    async def list_conversations(
        self, tenant: str | None, limit: int, after: str = ""
    ) -> list[StoredConversation]:
        return (await self.original.list_conversations(tenant, limit, after))[::-1]


class ListsEveryDelivery(ChangedStore):
    async def list_deliveries(
        self, tenant: str | None, limit: int, after: str = "", *, is_failed: bool | None = None
    ) -> list[Delivery]:
        return await self.original.list_deliveries(tenant, limit, after)


class ForgetsFilenames(ChangedStore):
    async def load_file(self, tenant: str, file_id: str) -> StoredFile | None:
        found = await self.original.load_file(tenant, file_id)
        return found and replace(found, filename="file")


class ListsFilesOfEveryPurpose(ChangedStore):
    async def file_page(self, tenant: str | None, query: FileQuery) -> Page[StoredFile]:
        return await self.original.file_page(tenant, replace(query, purpose=None))


class SharesNoContent(ChangedStore):
    async def put_file(
        self, file: StoredFile, quota: FileQuota, reply: StoredReply | None = None
    ) -> StoredFile | None:
        return await self.original.put_file(replace(file, digest=file.id.encode()), quota, reply)


class ClaimsEveryBlob(ChangedStore):
    async def begin_blob(self, tenant: str, blob: str, hold: int) -> None:
        await self.original.begin_blob(tenant, blob, -1)


class AdmitsEveryFile(ChangedStore):
    async def put_file(
        self, file: StoredFile, quota: FileQuota, reply: StoredReply | None = None
    ) -> StoredFile | None:
        return await self.original.put_file(file, FileQuota(1000, 10**9), reply)


class KeepsExpiredFiles(ChangedStore):
    async def put_file(
        self, file: StoredFile, quota: FileQuota, reply: StoredReply | None = None
    ) -> StoredFile | None:
        return await self.original.put_file(replace(file, expires_at=None), quota, reply)


class CutsParts(ChangedStore):
    async def blob_part(self, blob: str, number: int) -> bytes | None:
        part = await super().blob_part(blob, number)
        return part and part[:1000]


class TakesLateParts(ChangedStore):
    async def put_part(self, part: StoredPart, most: int) -> bool:
        await self.original.put_part(part, most)
        return True


class CancelsTwice(ChangedStore):
    async def cancel_upload(self, tenant: str, upload_id: str) -> bool:
        await self.original.cancel_upload(tenant, upload_id)
        return True


class ShowsPartsToAll(ChangedStore):
    async def upload_parts(self, tenant: str, upload_id: str) -> Sequence[StoredPart]:
        return await self.original.upload_parts(
            tenant.removesuffix("2") if tenant == T + "2" else tenant, upload_id
        ) or [StoredPart("part_1", tenant, upload_id, 1, "", 1)]


class UploadsForever(ChangedStore):
    async def create_upload(
        self, upload: StoredUpload, quota: FileQuota, reply: StoredReply | None = None
    ) -> bool:
        return await self.original.create_upload(
            replace(upload, expires_at=upload.expires_at + 10**6), quota, reply
        )


class AdmitsEveryUpload(ChangedStore):
    async def create_upload(
        self, upload: StoredUpload, quota: FileQuota, reply: StoredReply | None = None
    ) -> bool:
        return await self.original.create_upload(upload, FileQuota(1000, 10**9), reply)


BROKEN = [
    (ForgetsFilenames, "A file is returned as it was stored, until it is deleted,"),
    (ListsFilesOfEveryPurpose, "Files are listed in the order of their creation,"),
    (SharesNoContent, "Files of one tenant with the same content have one blob,"),
    (ClaimsEveryBlob, "An unused blob is stale when its time is over or `spare_blob` names it;"),
    (AdmitsEveryFile, "A tenant never has more files or bytes than its quota,"),
    (KeepsExpiredFiles, "A file that has expired is unknown,"),
    (CutsParts, "Parts of a blob are returned byte for byte,"),
    (TakesLateParts, "A pending upload accepts parts up to its size,"),
    (CancelsTwice, "A cancelled upload drops its parts and releases its reservation,"),
    (ShowsPartsToAll, "An upload and its parts are unknown to other tenants."),
    (UploadsForever, "An expired upload accepts nothing more;"),
    (AdmitsEveryUpload, "Pending uploads reserve their bytes"),
    (ListsOldestFirst, "Conversations are listed newest first,"),
    (ListsEveryDelivery, "Deliveries are listed newest first,"),
    (RevivesSessions, "A session is found by its digest until it expires or is deleted;"),
    (KeepsAllSessions, "Of more than 100 sessions of one key,"),
    (PurgesNoSessions, "A session or a code that has expired is not found;"),
    (TakesCodesTwice, "Of many concurrent uses of a code one succeeds;"),
    (NoAddress, "`url` names the place of the data."),
    (WritesOnlyOnce, "`check_writable` writes something, as often as it is called."),
    (ForgetsSeals, "A saved response is returned whole, its items in order."),
    (KeepsTheFirstProfile, "A profile is listed as it was stored,"),
    (KeepsTheFirstLesson, "Lessons are listed as they were stored,"),
    (KeepsOldLessons, "Old lessons about a backend are deleted"),
    (ListsTheOldestReportFirst, "A report is returned as it was stored;"),
    (NeverTrimsReports, "For one model of a server,"),
    (DropsFacts, "Facts are stored with their response,"),
    (KeepsOneOfManyFacts, "Facts are stored without a response,"),
    (ShowsSpansToAll, "Facts and spans are unknown to other tenants,"),
    (QueuesWithoutFacts, "Facts of a background response begin when it is queued,"),
    (KeepsSpansOfTheDeleted, "Deleting a response deletes its words, tags and spans;"),
    (ListsFactsOldestFirst, "Facts are listed by the time at which their responses began,"),
    (
        PurgesNoFacts,
        "`purge` deletes facts with their spans this many seconds after their response began.",
    ),
    (ForgetsSums, "Figures are the same before and after the sums include a response,"),
    (
        SumsLateOnesLater,
        "A response that is saved with facts which ended late is in the sums at once.",
    ),
    (SumsRepetitions, "Facts that are stored again,"),
    (IgnoresGroups, "Figures support filters and groups,"),
    (NamesAllGroups, "If there are more groups than requested,"),
    (ShowsTheLargestGroupsOverTime, "The most expensive groups have figures by span,"),
    (
        ReadsWithoutReporting,
        "Figures by a filter that no sum supports say from when on they are complete.",
    ),
    (HasNoChains, "The facts of a response are returned with those of its parents,"),
    (MissesChanges, "Facts that were stored or changed after a position are found,"),
    (
        RaisesForTheUnknown,
        "An id that was never saved is unknown to every method, and not an error.",
    ),
    (KeepsOldItems, "Saving the same id again replaces all of it:"),
    (DeletesTwice, "A deleted response and its items are unknown,"),
    (NewestFirst, "A history is each ancestor's input and output, oldest first,"),
    (SkipsHoles, "A chain with a gap, or with a cycle, has no history."),
    (RemembersChains, "A long chain is counted again after each change,"),
    (FindsTheNewest, "An item's id can appear in many responses,"),
    (ReportsTheWrongSize, "With `few`, a large item can be returned as its size alone;"),
    (LeavesOutTheItems, "A large job can be claimed without its data,"),
    (ShowsTheExpired, "From its `expires_at` on a response is unknown;"),
    (SharesAmongTenants, "No data of one tenant is known to another."),
    (SavesLater, "Many tasks can save,"),
    (AnswersWhenClosed, "Every method of a closed store raises `StoreError`."),
    (LosesAtClosing, "Saved data still exists when the store is opened again."),
    (ClaimsTwice, "A queued response is claimed once,"),
    (
        DoesNotFence,
        "A worker without the newest version of a job can neither advance nor finish it.",
    ),
    (KeepsUnfinishedItems, "An expired worker's jobs are claimed by another:"),
    (LosesStoredData, "An expired worker's jobs are claimed by another:"),
    (ExpiresTheLiving, "An expired worker's jobs are claimed by another:"),
    (CountsThemAsCrashes, "A job that is returned,"),
    (TakesAtOnce, "An expired worker keeps a job that no other claimed,"),
    (TakesAtOnce, "An expired worker can answer a key that no other request reserved;"),
    (TakesAtOnce, "A response of an expired worker holds its conversation until another"),
    (NeverTakes, "A key that a worker reserved and did not answer is free for another"),
    (NeverTakes, "A response of an expired worker holds its conversation until another"),
    (NeedsABeat, "A job that a worker claims after it expired is its own,"),
    (NeedsABeat, "A conversation that a worker holds after it expired is its own,"),
    (QueuesEverything, "Of concurrent jobs no more of a tenant wait than allowed;"),
    (LeavesNoRoom, "A worker receives no more jobs of one tenant than it allows;"),
    (IgnoresConcurrency, "A key has no more jobs in progress than its limit;"),
    (
        PurgesRunningResponses,
        "A response that expired while its job runs remains until the job has ended;",
    ),
    (LeadsToOthers, "A response that names another tenant's parent or conversation leads"),
    (ServesTheCrowd, "The tenant with the fewest jobs in progress is next,"),
    (CountsTheClaimed, "The backlog counts exactly the waiting jobs,"),
    (CountsNoWindow, "The backlog counts waiting deferred jobs separately,"),
    (NotifiesNoOne, "A listener is notified when a job waits,"),
    (AnnouncesWhatWasRefused, "A job that cannot be finished notifies no listener."),
    (AddsInPart, "No item is in a conversation twice;"),
    (LetsOthersWrite, "One response holds a conversation;"),
    (TakesTheCallersWord, "A queued response's position in its conversation is the end of it at"),
    (ReservesAgain, "Of many concurrent reservations of a key one succeeds,"),
    (RepliesToOthers, "The reply is stored in one step with the response,"),
    (FreesEverything, "A worker can list what it holds,"),
    (DeliversAgain, "An event waits once for each subscribed endpoint of its tenant,"),
    (RetriesNothing, "A waiting or abandoned delivery can be attempted now,"),
    (ServesTheLargestTenant, "However many deliveries of one tenant are due,"),
    (TakesAnyNumberOfEndpoints, "A tenant has at most the allowed number of endpoints,"),
    (ForgivesTheLate, "A key that is revoked or has expired is not found;"),
    (GrantsTooMuch, "Of many concurrent claims exactly as many are granted as the limits allow."),
    (KeepsWhatWasTaken, "Unused reserved tokens are returned,"),
    (CountsRepetitions, "A writer can repeat its last batch,"),
    (CountsForAllTenants, "Usage is counted by key and day,"),
    (ForgetsBudgets, "A tenant's budget is returned with each of its keys,"),
    (SpendsWhatIsSpent, "Of many concurrent claims exactly as many are granted as the budgets"),
    (NamesNoBudget, "A rejected claim says which budget has no room;"),
    (TakesInPart, "A request that a budget or a limit rejects subtracts nothing from the other."),
    (KeepsWhatWasReserved, "The unused part of a reservation is returned,"),
    (BeginsAtNothing, "A budget that is set today counts the costs of today and of this month."),
    (KnowsNoModels, "Usage is summed by tenant,"),
    (ForgetsWhatIsReserved, "A job contains what was reserved of budgets for it,"),
    (ForgetsThePayer, "A job contains the key of its request,"),
    (CountsSaves, "The bytes that a tenant has stored are exact"),
    (CountsNoReplies, "A reply that is stored for an `Idempotency-Key` counts,"),
    (CountsNoJobs, "A job counts with its request,"),
    (ForgetsTheReader, "A text is found by its tenant, the digest and the version of the reader;"),
    (KeepsTextsForever, "A text that has expired is unknown,"),
    (KeepsTheTextsOfDeletedFiles, "A text is deleted with the last file that has the content,"),
    (CountsNoCompletions, "The bytes of chat completions, their metadata and messages"),
    (MergesMetadata, "A chat completion is returned with its metadata,"),
    (ShowsCompletionsToAll, "A chat completion is unknown to other tenants,"),
    (ForgetsTheOrder, "The messages of a completion are listed in both directions,"),
    (ListsWithoutLimit, "Completions are listed in the order of storage or in reverse,"),
    (FiltersByTheFirstPair, "A list has the completions of a model, by either name,"),
    (KeepsCompletionsForever, "A chat completion that has expired is unknown,"),
    (CountsWhatWasDropped, "Dropped events no longer count:"),
    (CountsNoEnds, "A job that has ended counts with the log that remains of it,"),
    (CountsTheEmpty, "All tenants' bytes are added up,"),
    (AddsUpWhatItShows, "All tenants' bytes are added up,"),
    (ShowsTheSmallest, "All tenants' bytes are added up,"),
    (ShowsStoresToAll, "A vector store is returned as it was stored and changed,"),
    (ListsStoresForwards, "Vector stores are listed in both directions,"),
    (AttachesWhatItFinds, "Files are attached all or none:"),
    (CountsNoFailures, "The counts and bytes of a store,"),
    (IngestsAllAgain, "A file that is attached again keeps its row,"),
    (TakesLateChunksOfFiles, "Only the owner of a file's newest version writes chunks:"),
    (LeavesFilesToTheDead, "A file of an expired worker is claimed by another,"),
    (ServesTheLoudest, "The tenant with the fewest files in progress is next,"),
    (
        StartsWhatIsPaused,
        "A file of a paused embedding model is claimed once the model is not paused",
    ),
    (TakesAnyNumberOfChunks, "A file that would exceed the chunk limit of its store fails,"),
    (KeepsExpiredStores, "An expired store remains readable as expired,"),
    (NeverMovesTheExpiry, "Using a store extends its expiry,"),
    (ReindexesNothing, "Reindexing ingests all files again,"),
    (FindsUnpublished, "A search finds all chunks of a file once they are published,"),
    (ForgetsAttributes, "A found chunk has its file,"),
    (TakesOldChunks, "A newer version of a file replaces the older one when it is published,"),
    (CountsChunksTwice, "A part that arrives twice,"),
    (DropsNoChunks, "Dropped chunks are no longer found;"),
    (ShowsChunksToAll, "A search covers one store of one tenant:"),
    (MindsCase, "Words are found regardless of case and accents,"),
    (FiltersTheBest, "A filter applies before the best chunks are chosen,"),
    (LosesVectors, "Vectors are returned unchanged,"),
]


FAULTY = re.compile(r" (AttributeError|ImportError|KeyError|NameError|TypeError): ")
"""What a store raises that does not run; it would break each promise."""


def opener(kind: type[SqliteStore], folder: Path) -> Callable[[], SqliteStore]:
    return lambda: kind.open(f"sqlite://{folder}/a.db")


async def verdict(kind: type[SqliteStore], folder: Path, *, durable: bool = True) -> list[str]:
    try:
        await check_store(opener(kind, folder), durable=durable)
    except AssertionError as broken:
        return str(broken).splitlines()
    return []


@pytest.mark.parametrize(("kind", "promise"), BROKEN, ids=[kind.__name__ for kind, _ in BROKEN])
async def test_a_broken_promise_is_named(
    kind: type[SqliteStore],
    promise: str,
    tmp_path: Path,
    migrated: bytes,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The other promises are left out, and so are the migrations; with them each of these takes
    half a second.
    """
    (tmp_path / "a.db").write_bytes(migrated)
    (tmp_path / "a.db").chmod(0o600)
    alone = [one for one in check.PROMISES if str(one.__doc__).startswith(promise)]
    monkeypatch.setattr(check, "PROMISES", alone)
    broken = [line for line in await verdict(kind, tmp_path) if line.startswith(promise)]
    assert broken != []
    assert [line for line in broken if FAULTY.search(line)] == []


@pytest.mark.wide
async def test_a_history_with_superlinear_time_is_named(
    tmp_path: Path, migrated: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    promise = "A history takes time linear in its length."
    await test_a_broken_promise_is_named(Quadratic, promise, tmp_path, migrated, monkeypatch)


@pytest.mark.wide
async def test_what_a_store_had_before_is_left_alone(tmp_path: Path) -> None:
    mine = StoredResponse("resp_mine", 1_700_000_000, "completed", None, b"{}")
    store = opener(SqliteStore, tmp_path)()
    await store.save(mine)
    await store.close()

    assert await verdict(SqliteStore, tmp_path) == []
    store = opener(SqliteStore, tmp_path)()
    assert await store.read(stored_responses.load, "", mine.id) == mine
    await store.close()


@pytest.mark.wide
async def test_a_store_may_need_awaiting_to_open(tmp_path: Path) -> None:
    async def open_store() -> SqliteStore:
        return opener(SqliteStore, tmp_path)()

    await check_store(open_store)


@pytest.mark.wide
async def test_a_store_in_memory_need_not_outlive_its_closing(tmp_path: Path) -> None:
    assert await verdict(LosesAtClosing, tmp_path, durable=False) == []
