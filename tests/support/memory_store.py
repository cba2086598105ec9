"""The session store's in-memory twin, with the same contract, for tests that need no file."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from msgspec import Struct

from ullage.agents.inserted import speaker_of
from ullage.model.errors import Conflict, InvalidRequest, SessionNotFound
from ullage.model.events import (
    AgentAttached,
    ContextEdited,
    ConversationImported,
    EditReverted,
    MessageAppended,
    Record,
    SessionConfigured,
    SessionForked,
)
from ullage.service.ports.store import (
    AttachedSession,
    ChunkId,
    ImportedSession,
    Passage,
    SearchHit,
    SessionInfo,
    StoredSession,
)
from ullage.store.search.query import Query, plain, read_query
from ullage.store.search.searcher import make_snippet, without_bare_numbers
from ullage.store.search.word_index import index_tokens, message_text, places, plain_name, stem
from ullage.store.tables.session_table import SessionFacts, check_positions, fold_facts


class _Log(Struct, kw_only=True):
    """One session's own records, and the position of its parent from which it was forked."""

    records: list[Record]
    fork: SessionForked | None
    deleted: bool = False
    snapshot: tuple[int, bytes] | None = None


class MemoryStore:
    """A `SessionStore` whose content ends with the object. Scores count matches."""

    def __init__(self) -> None:
        self._logs: dict[str, _Log] = {}
        self._vectors: dict[tuple[str, ChunkId], bytes] = {}
        self._calibrations: dict[str, bytes] = {}
        self._writes = 0

    def create(self, session_id: str, records: Sequence[Record]) -> None:
        if not records:
            raise InvalidRequest(f"session {session_id} cannot start without a record")
        if session_id in self._logs:
            raise Conflict(f"session {session_id} exists already")
        first = records[0].event
        fork = first if isinstance(first, SessionForked) else None
        if fork and fork.position not in range(len(self.read(fork.parent_id))):
            raise InvalidRequest(f"session {fork.parent_id} has no position {fork.position} to fork at")
        check_positions(session_id, fork.position + 1 if fork else 0, records)
        self._logs[session_id] = _Log(records=list(records), fork=fork)
        self._writes += 1

    def append(self, session_id: str, records: Sequence[Record]) -> None:
        check_positions(session_id, len(self.read(session_id)), records)
        self._logs[session_id].records.extend(records)
        self._writes += 1

    def open(self, session_id: str) -> StoredSession:
        position, snapshot = self._require(session_id).snapshot or (-1, None)
        return StoredSession(records=self.read(session_id, position + 1), snapshot=snapshot, snapshot_position=position)

    def read(self, session_id: str, start: int = 0, stop: int | None = None) -> tuple[Record, ...]:
        self._require(session_id)
        return tuple(
            record
            for record in self._all_records(session_id)
            if record.position >= start and (stop is None or record.position < stop)
        )

    def read_apart(self, session_id: str) -> tuple[Record, ...]:
        return self.read(session_id)

    def find_message(self, session_id: str, message_id: str) -> Record | None:
        self._require(session_id)
        found = [
            record
            for record in self._all_records(session_id)
            if isinstance(record.event, MessageAppended) and record.event.message.id == message_id
        ]
        return found[-1] if found else None

    def find_index(self, session_id: str, message_id: str) -> int | None:
        self._require(session_id)
        ids = [
            record.event.message.id
            for record in self._all_records(session_id)
            if isinstance(record.event, MessageAppended)
        ]
        return max((index for index, known in enumerate(ids) if known == message_id), default=None)

    def read_messages(self, session_id: str, start: int, stop: int) -> tuple[Record, ...]:
        self._require(session_id)
        appended = [record for record in self._all_records(session_id) if isinstance(record.event, MessageAppended)]
        return tuple(appended[start:stop])

    def read_edits(self, session_id: str) -> tuple[Record, ...]:
        self._require(session_id)
        edits = ContextEdited | EditReverted
        return tuple(record for record in self._all_records(session_id) if isinstance(record.event, edits))

    def read_imports(self, session_id: str) -> tuple[Record, ...]:
        self._require(session_id)
        return tuple(
            record for record in self._all_records(session_id) if isinstance(record.event, ConversationImported)
        )

    def save_snapshot(self, session_id: str, position: int, snapshot: bytes) -> None:
        log = self._require(session_id)
        if position not in range(len(self._all_records(session_id))):
            raise InvalidRequest(f"session {session_id} has no position {position} to keep a snapshot of")
        if log.snapshot is None or log.snapshot[0] <= position:
            log.snapshot = (position, snapshot)

    def drop_snapshot(self, session_id: str) -> None:
        self._require(session_id).snapshot = None

    def info(self, session_id: str) -> SessionInfo:
        log = self._require(session_id)
        records = self._all_records(session_id)
        facts = fold_facts(SessionFacts(), (record.event for record in records))
        return SessionInfo(
            session_id=session_id,
            title=facts.title,
            cwd=facts.cwd,
            model=facts.model,
            created_at=log.records[0].timestamp,
            updated_at=records[-1].timestamp,
            messages=sum(isinstance(record.event, MessageAppended) for record in records),
            parent_id=log.fork.parent_id if log.fork else None,
        )

    def list(self, cwd: str | None = None, limit: int = 100, offset: int = 0) -> tuple[SessionInfo, ...]:
        infos = [self.info(session_id) for session_id in reversed(self._logs) if not self._logs[session_id].deleted]
        chosen = sorted((info for info in infos if cwd in (None, info.cwd)), key=lambda info: -info.updated_at)
        return tuple(chosen[offset : offset + limit])

    def find_ids(self, prefix: str, limit: int = 100) -> tuple[str, ...]:
        listed = (session_id for session_id, log in self._logs.items() if not log.deleted)
        return tuple(sorted(session_id for session_id in listed if session_id.startswith(prefix))[:limit])

    def sessions_with(self, message_id: str) -> tuple[str, ...]:
        return tuple(
            session_id
            for session_id, log in reversed(self._logs.items())
            if not log.deleted
            and any(
                isinstance(record.event, MessageAppended) and record.event.message.id == message_id
                for record in log.records
            )
        )

    def imported(self) -> tuple[ImportedSession, ...]:
        origins = {
            session_id: next(
                (record.event for record in log.records if isinstance(record.event, ConversationImported)), None
            )
            for session_id, log in reversed(self._logs.items())
            if not log.deleted and log.fork is None
        }
        return tuple(
            ImportedSession(
                session_id=session_id,
                format=event.format,
                origin_id=event.origin_id,
                agent=event.agent,
                parent_id=event.parent_id,
                is_sub_agent=event.is_sub_agent,
                path=event.path,
            )
            for session_id, event in origins.items()
            if event is not None
        )

    def attached(self) -> tuple[AttachedSession, ...]:
        found: list[AttachedSession] = []
        for session_id, log in reversed(self._logs.items()):
            events = [record.event for record in log.records]
            ids = [event.session_id for event in events if isinstance(event, AgentAttached)]
            if log.deleted or {*ids} <= {session_id} or len(events) < 2 or not isinstance(events[1], AgentAttached):
                continue
            newest_first = dict.fromkeys(reversed(ids))
            title = self.info(session_id).title
            found.append(AttachedSession(session_id=session_id, title=title, agent_ids=(*reversed(newest_first),)))
        return tuple(found)

    def delete(self, session_id: str) -> None:
        self._require(session_id).deleted = True
        self._writes += 1
        while unneeded := [name for name, log in self._logs.items() if log.deleted and not self._has_forks(name)]:
            for name in unneeded:
                gone = {id(record) for record in self._logs.pop(name).records}
                self._vectors = {key: vector for key, vector in self._vectors.items() if key[1][0] not in gone}

    def erase_deleted(self, *, rewrite: bool = False) -> None:
        del rewrite

    def search(self, query: str, session_id: str | None = None, limit: int = 10) -> tuple[SearchHit, ...]:
        return tuple(passage.hit for passage in self.find_passages(query, session_id, limit))

    def find_passages(self, query: str, session_id: str | None = None, limit: int = 10) -> tuple[Passage, ...]:
        wanted = read_query(query, self._knows)
        hits: dict[int, Passage] = {}
        if session_id is not None:
            self._require(session_id)
        for name in [session_id] if session_id is not None else [*self._logs]:
            if not self._logs[name].deleted:
                self._collect_hits(name, wanted, hits)
        best = sorted(hits.values(), key=lambda one: -one.hit.score)
        best.sort(key=lambda one: not all(said in plain(one.text) for said in wanted.quoted))
        return tuple(best[:limit])

    def _knows(self, name: str) -> bool:
        events = (record.event for session_id in self._logs for record in self._all_records(session_id))
        texts = (message_text(event.message) for event in events if isinstance(event, MessageAppended))
        return any(name in index_tokens(text) for text in texts)

    def index_some(self, session_id: str | None = None) -> int:
        return 0

    def load_vectors(self, model: str, chunks: Collection[ChunkId]) -> dict[ChunkId, bytes]:
        return {chunk: self._vectors[model, chunk] for chunk in chunks if (model, chunk) in self._vectors}

    def save_vectors(self, model: str, vectors: Mapping[ChunkId, bytes]) -> None:
        known = {id(record) for log in self._logs.values() for record in log.records}
        self._vectors.update({(model, chunk): vector for chunk, vector in vectors.items() if chunk[0] in known})

    def own_settings(self) -> tuple[Mapping[str, Any], ...]:
        events = [record.event for log in self._logs.values() for record in log.records]
        return tuple(event.context for event in events if isinstance(event, SessionConfigured))

    def version(self) -> int:
        # Two workspaces on this store are two processes; which of them has written is not known.
        return self._writes

    def load_calibration(self, model: str) -> bytes | None:
        return self._calibrations.get(model)

    def save_calibration(self, model: str, calibration: bytes) -> None:
        self._calibrations[model] = calibration

    def _require(self, session_id: str) -> _Log:
        log = self._logs.get(session_id)
        if log is None or log.deleted:
            raise SessionNotFound(f"no session {session_id}: list the sessions to see which there are")
        return log

    def _has_forks(self, session_id: str) -> bool:
        return any(log.fork is not None and log.fork.parent_id == session_id for log in self._logs.values())

    def _all_records(self, session_id: str) -> Sequence[Record]:
        log = self._logs[session_id]
        inherited = self._all_records(log.fork.parent_id)[: log.fork.position + 1] if log.fork else ()
        return (*inherited, *log.records)

    def _collect_hits(self, session_id: str, query: Query, hits: dict[int, Passage]) -> None:
        """Adds a session's hits by their record, unless an older session has shown the same record already."""
        messages = [record for record in self._all_records(session_id) if isinstance(record.event, MessageAppended)]
        for index, record in enumerate(messages):
            assert isinstance(record.event, MessageAppended)
            message = record.event.message
            text = message_text(record.event.message)
            score = _score(text, query)
            if score and id(record) not in hits:
                hit = SearchHit(
                    session_id=session_id,
                    message_id=message.id,
                    index=index,
                    role=speaker_of(message),
                    score=score,
                    snippet=make_snippet(without_bare_numbers(text, query), query),
                    fits=_fits(text, query),
                )
                hits[id(record)] = Passage(hit=hit, record_id=id(record), chunk=0, text=text)


def _fits(text: str, query: Query) -> bool:
    """Returns whether a text has at least half of the query's words."""
    return 2 * len(_stems(text, query)) >= len(query.stems)


def _score(text: str, query: Query) -> float:
    """Returns how much of the query a text has. Each name and word that occurs at all counts before any repetition."""
    found = _stems(text, query)
    tokens = [stem(part) for place in places(text) for part in place.name.parts]
    spelt = {plain_name(token) for token in index_tokens(text) if plain_name(token) != token}
    wholes = {name for name in spelt if name in query.names or name.startswith(query.beginnings)}
    count = sum(token in found for token in tokens)
    return 2 * len(wholes) + len(found) + count / (1 + count) if found or wholes else 0.0


def _stems(text: str, query: Query) -> set[str]:
    tokens = index_tokens(text)
    begun = {stem(start) for start in query.beginnings if any(token.startswith(start) for token in tokens)}
    return {one for one in query.stems if one in tokens or one in begun}
