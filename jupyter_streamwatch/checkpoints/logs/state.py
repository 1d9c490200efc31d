"""``state/``: the stateful operators of a query, their stores, and which versions of the state there are.

Batch N reads version N of the state and writes version N + 1. Its files lie in ``state/<operator>/<partition>/``, or
one folder deeper where a store has a name. HDFS-backed: ``N.delta`` (changes), ``N.snapshot`` (all). RocksDB:
``N.changelog``, ``N.zip``; since Spark 4.0 with an id in the name (``N_<uuid>.zip``). To load a version Spark takes the
newest whole copy up to it and all changes after that (``HDFSBackedStateStoreProvider.loadMap``, ``RocksDB.load``).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from jupyter_streamwatch.checkpoints.logs.log import NotJsonError, loads
from jupyter_streamwatch.checkpoints.logs.schema import Columns, SchemaError, read_schema
from jupyter_streamwatch.checkpoints.parts import Field, PartitionFiles, Provider, StateOperator, StateStore
from jupyter_streamwatch.checkpoints.storage.files import is_number, reason
from jupyter_streamwatch.text.numbers import clean
from jupyter_streamwatch.text.redaction import redact_all

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jupyter_streamwatch.checkpoints.storage.files import Tree

_FILE = re.compile(r"(\d{1,18})(?:_([0-9A-Za-z-]{1,64}))?\.(delta|snapshot|changelog|zip)$")
_NOT_STORES = frozenset({"_metadata", "_stateSchema", "SSTs", "logs", "archive"})
_MOST_MISSING = 100  # versions of a partition that are named
_MOST_PARTITIONS = 100_000


class Needed(NamedTuple):
    """What the next batch reads: a version, and the ids of its files (operator -> partition -> store)."""

    version: int
    ids: Mapping[int, Sequence[Sequence[str]]]


def operators(tree: Tree, needed: Needed, conf: Mapping[str, str]) -> tuple[StateOperator, ...]:
    """Read the stateful operators.

    Args:
        tree: the checkpoint's files.
        needed: what the next batch reads.
        conf: the settings that the checkpoint keeps.
    """
    numbers = sorted(int(name) for name in tree.subfolders("state") if is_number(name))
    return tuple(_Operator(tree, number, needed, conf).read() for number in numbers)


class _Operator:
    def __init__(self, tree: Tree, number: int, needed: Needed, conf: Mapping[str, str]) -> None:
        self._tree = tree
        self._id = number
        self._folder = f"state/{number}"
        self._needed = needed
        self._conf = conf
        self._problems: list[str] = []

    def read(self) -> StateOperator:
        about, lasting = self._metadata()
        partitions = sorted(int(name) for name in self._tree.subfolders(self._folder) if is_number(name))
        told = {name: one for one in lasting if isinstance(name := one.get("storeName"), str)}
        seen = {name for partition in partitions[:_MOST_PARTITIONS] for name in self._stores_in(partition)}
        names = [*told, *sorted(seen - told.keys())]
        stores = [store for name in names for store in self._store(name, told.get(name, {}), partitions)]
        name = about.get("operatorName")
        name = clean(name)[:200] if isinstance(name, str) and name else None
        return StateOperator(
            self._id,
            name=name,
            guess=None if name else guess(stores),
            partitions=max((one.partitions or 0 for one in stores), default=len(partitions)) or None,
            stores=tuple(stores),
            properties=about.get("properties", {}),
            problem=" ".join(self._problems) or None,
        )

    def _metadata(self) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """What the operator wrote of itself: name and properties, and its stores (Spark 4.0 and later)."""
        newer = self._tree.numbers(f"{self._folder}/_metadata/v2")
        if newer:
            path = f"{self._folder}/_metadata/v2/{newer[-1]}"
        elif "metadata" in self._tree.files(f"{self._folder}/_metadata"):
            path = f"{self._folder}/_metadata/metadata"
        else:
            return {}, []
        found = self._json(path)
        about = found.get("operatorInfo")
        about = dict(about) if isinstance(about, dict) else {}
        properties = found.get("operatorPropertiesJson")
        if isinstance(properties, str):
            try:
                about["properties"] = redact_all(_mapping(loads(properties)))
            except NotJsonError:
                self._problems.append(f"{path} has properties that cannot be read.")
        lasting = found.get("stateStoreInfo")
        return about, [one for one in lasting if isinstance(one, dict)] if isinstance(lasting, list) else []

    def _json(self, path: str) -> dict[str, Any]:
        try:
            _, _, text = self._tree.text(path).partition("\n")
            return _mapping(loads(text))
        except OSError as error:
            self._problems.append(f"{path} cannot be read: {reason(error)}.")
        except NotJsonError:
            self._problems.append(f"{path} is damaged: the operator's name is not known from it.")
        return {}

    def _stores_in(self, partition: int) -> list[str]:
        folder = f"{self._folder}/{partition}"
        named = [name for name in self._tree.subfolders(folder) if name not in _NOT_STORES]
        own = any(_FILE.match(name) for name in self._tree.files(folder))
        return (["default"] if own or "_metadata" in self._tree.subfolders(folder) else []) + named

    def _place(self, store: str, partition: int) -> str:
        folder = f"{self._folder}/{partition}"
        return folder if store == "default" else f"{folder}/{store}"

    def _store(self, name: str, told: Mapping[str, Any], partitions: list[int]) -> list[StateStore]:
        columns = self._columns(name, told)
        own = next((one for one in columns if one.family is None), None)
        wanted = self._wanted(told, partitions, own)
        found = {partition: self._versions(name, partition) for partition in wanted}
        kinds = {kind for versions in found.values() for kind in versions.kinds}
        files = tuple(self._files(name, partition, versions) for partition, versions in found.items())
        store = StateStore(
            name,
            key=own.key if own else None,
            value=own.value if own else None,
            schemaVersion=columns[0].version if columns else None,
            partitions=len(partitions),
            files=files,
            provider=_provider(kinds, self._conf),
            changelog="changelog" in kinds if kinds & {"changelog", "zip"} else None,
        )
        families = [
            StateStore(one.family, one.key, one.value, one.version, familyOf=name)
            for one in columns
            if one.family is not None
        ]
        return [store, *families]

    def _wanted(self, told: Mapping[str, Any], partitions: list[int], own: Columns | None) -> list[int]:
        """The partitions that there should be; one that lost its whole folder counts, too.

        Global aggregates and limits have one, although their metadata names as many as others have.
        """
        alone = own is not None and all(one.type == "void" for one in own.key)
        count = told.get("numPartitions")
        if not isinstance(count, int) or isinstance(count, bool):
            shuffle = self._conf.get("spark.sql.shuffle.partitions", "")
            count = int(shuffle) if is_number(shuffle) and partitions != [0] else 0
        if alone or not 0 < count <= _MOST_PARTITIONS:
            return partitions
        return sorted({*partitions, *range(count)})

    def _columns(self, store: str, told: Mapping[str, Any]) -> list[Columns]:
        """Key and value: of the schema file that the operator names, else of the one in the first partition."""
        for path in [*self._schemas(store, told), f"{self._place(store, 0)}/_metadata/schema"]:
            folder, _, name = path.rpartition("/")
            if name not in self._tree.files(folder):
                continue
            try:
                return read_schema(self._tree.storage.read(path))
            except OSError as error:
                self._problems.append(f"{path} cannot be read: {reason(error)}.")
            except SchemaError as error:
                self._problems.append(f"{path} is damaged: {error}.")
        return []

    def _schemas(self, store: str, told: Mapping[str, Any]) -> list[str]:
        """Schema files of version 3, newest first; the paths in the metadata are those of the first run."""
        folder = f"{self._folder}/_stateSchema/{store}"
        paths = told.get("stateSchemaFilePaths")
        names = [str(path).rpartition("/")[2] for path in paths] if isinstance(paths, list) else []
        others = sorted(set(self._tree.files(folder)) - set(names), key=_schema_number)
        return [f"{folder}/{name}" for name in reversed([*others, *names])]

    def _versions(self, store: str, partition: int) -> _Versions:
        found = _Versions({}, {}, set())
        for name in self._tree.files(self._place(store, partition)):
            if match := _FILE.match(name):
                kind = match[3]
                found.kinds.add(kind)
                versions = found.whole if kind in ("snapshot", "zip") else found.changes
                versions.setdefault(int(match[1]), set()).add(match[2] or "")
        return found

    def _files(self, store: str, partition: int, found: _Versions) -> PartitionFiles:
        named = self._needed.ids.get(self._id, ())
        ids = frozenset(named[partition]) if partition < len(named) else frozenset()
        return PartitionFiles(
            partition,
            latestVersion=max([*found.whole, *found.changes], default=None),
            latestSnapshot=max(found.whole, default=None),
            missing=missing(self._needed.version, found.whole, found.changes, ids),
            bytes=self._bytes(self._place(store, partition)),
        )

    def _bytes(self, folder: str) -> int:
        """Size of a partition's files and of what RocksDB keeps beside them."""
        beside = [f"{folder}/{name}" for name in self._tree.subfolders(folder) if name in _NOT_STORES]
        return self._tree.bytes_of(*(one for one in (folder, *beside) if one in self._tree.folders))


class _Versions(NamedTuple):
    """Versions of one partition -> ids in the names; whole copies and changes; kinds of files."""

    whole: dict[int, set[str]]
    changes: dict[int, set[str]]
    kinds: set[str]


def missing(
    version: int,
    whole: Mapping[int, set[str]],
    changes: Mapping[int, set[str]],
    ids: frozenset[str] = frozenset(),
) -> tuple[int, ...]:
    """Versions that have no file, of those that are needed to load ``version``; at most a hundred, ascending.

    Args:
        version: what is to be loaded; 0 is the empty state, which needs no file.
        whole: versions with a whole copy -> ids in the names of the files.
        changes: versions with changes -> the same.
        ids: the ids that the commit log names for ``version``, one a store; empty when it names none.
    """
    lost = []
    for number in range(version, 0, -1):
        exact = ids if number == version else None
        if _has(whole.get(number), exact):
            break
        if not _has(changes.get(number), exact):
            lost.append(number)
            if len(lost) == _MOST_MISSING:
                break
    return tuple(reversed(lost))


def _has(found: set[str] | None, ids: frozenset[str] | None) -> bool:
    return bool(found) and (not ids or bool(ids & (found or set())))


def guess(stores: Sequence[StateStore]) -> str | None:
    """Tell the operator from its schema, where no file names it (Spark 3.5 and older); None when that does not."""
    if {one.name for one in stores} >= {"left-keyToNumValues", "right-keyToNumValues"}:
        return "symmetricHashJoin"
    if not stores or stores[0].key is None or stores[0].value is None:
        return None
    keys, values = (_names(columns) for columns in (stores[0].key, stores[0].value))
    if keys == ["key"] and stores[0].key[0].type == "void":
        return "globalLimit"
    if keys[-1:] == ["sessionStartTime"]:
        return "sessionWindowStateStoreSaveExec"
    known = next((operator for column, operator in _TELLING.items() if column in values), None)
    return known or ("stateStoreSave" if values else None)


_TELLING = {
    "__dummy__": "dedupe",
    "expiresAtMicros": "dedupeWithinWatermark",
    "groupState": "flatMapGroupsWithState",
}


def _names(columns: tuple[Field, ...]) -> list[str]:
    return [one.name for one in columns]


def _provider(kinds: set[str], conf: Mapping[str, str]) -> Provider | None:
    """The kind of store, from its files or, without files, from the pinned setting."""
    if kinds & {"changelog", "zip"}:
        return "RocksDB"
    if kinds:
        return "HDFS"
    pinned = conf.get("spark.sql.streaming.stateStore.providerClass", "")
    return "RocksDB" if "RocksDB" in pinned else "HDFS" if "HDFSBacked" in pinned else None


def _schema_number(name: str) -> tuple[int, str]:
    """Schema files are named by the batch that wrote them: ``0_<uuid>``."""
    number = name.partition("_")[0]
    return (int(number) if is_number(number) else -1, name)


def _mapping(x: Any) -> dict[str, Any]:
    if not isinstance(x, dict):
        raise NotJsonError("no object")
    return x
