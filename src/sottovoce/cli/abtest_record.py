"""Which rows of a table were released, in a file that none but its owner reads: to see that they are the first still.

Rows that were released are passed over by their number. Were a row put above them, the last of them would be taken for
a new one and released again, under one charge. So of each arm the rows up to the end of each stage have a digest, under
a key that is drawn for the file alone: without the file, a digest says nothing of the losses that went into it.

The record is on disk before what it is about, and so before anything is shown. It knows that, too, by a digest: what
was released cannot be removed, or put back to what it was earlier, without being missed.
"""

import hashlib
import json
import os
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sottovoce._disk import sync_folder


class Witness:
    """Sees the rows of a table go by, and has a digest of each arm's up to some of them.

    Parameters
    ----------
    key
        Of the digests.
    ends
        For each arm, after how many of its rows.
    """

    def __init__(self, key: bytes, ends: Sequence[Sequence[int]]) -> None:
        self._key, self._ends = key, [frozenset(one) for one in ends]
        self._most = [max(one, default=0) for one in ends]
        self._running = [hashlib.blake2b(key=key, digest_size=32) for _ in ends]
        self._counts = [0] * len(ends)
        self.digests: list[dict[str, str]] = [{} for _ in ends]  # by how many rows: a text, as in the file

    def see(self, arm: int, fields: dict[str, Any]) -> None:
        """Take in a row, all that the table says of it."""
        if self._counts[arm] == self._most[arm]:
            return
        row = json.dumps(fields, sort_keys=True).encode()
        self._running[arm].update(len(row).to_bytes(8, "big") + row)
        self._counts[arm] += 1
        if self._counts[arm] in self._ends[arm]:
            self.digests[arm][str(self._counts[arm])] = self._running[arm].hexdigest()


class RowRecord:
    """The file.

    Parameters
    ----------
    path
        Of the file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._key, self._rows, self._about = b"", list[dict[str, str]](), ""
        self._bytes: bytes | None = None

    @property
    def there(self) -> bool:
        """Whether there is one."""
        return self._bytes is not None

    def read(self) -> bool:
        """Read it; return whether it is another than it was."""
        before, self._bytes = self._bytes, self.path.read_bytes() if self.path.exists() else None
        if self._bytes is None:
            self._key, self._rows, self._about = secrets.token_bytes(32), [], ""
            return before is not None
        try:
            plain = json.loads(self._bytes)
            key, about = bytes.fromhex(plain["key"]), str(plain["released"])
            rows = [{str(count): str(digest) for count, digest in one.items()} for one in plain["rows"]]
        except (ValueError, TypeError, KeyError, AttributeError):
            raise ValueError(f"{self.path} does not say which rows were released, or is damaged") from None
        self._key, self._rows, self._about = key, rows, about
        return self._bytes != before

    def knows(self, text: str | None) -> bool:
        """Whether this is what was released, as the record has it; without a record, whether it is nothing."""
        return text is None if not self.there else text is not None and self._digest(text) == self._about

    def witness(self, ends: Sequence[Sequence[int]]) -> Witness:
        """Return a witness of rows.

        Parameters
        ----------
        ends
            For each arm, after how many rows there is to be a digest.
        """
        return Witness(self._key, ends)

    def check(self, witness: Witness) -> None:
        """Refuse rows of which those that were released are not the first."""
        for known, seen in zip(self._rows, witness.digests, strict=False):
            if any(seen.get(count) != digest for count, digest in known.items()):
                raise ValueError(
                    "rows that were released were changed, removed or reordered since, or others were put before them: "
                    "to go on would release some of them again. Nothing was released. Put them back as they were, and "
                    "add new rows below them"
                )

    def write(self, witness: Witness, text: str) -> None:
        """Put what a witness saw on the disk, before what is released of it is.

        Parameters
        ----------
        witness
            Of all rows up to the last that is released.
        text
            What is released, as it will be on the disk.
        """
        plain = {"key": self._key.hex(), "released": self._digest(text), "rows": witness.digests}
        partial = self.path.with_name(f"{self.path.name}.partial")
        descriptor = os.open(partial, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as out:
            out.write(json.dumps(plain) + "\n")
            out.flush()
            os.fsync(out.fileno())
        partial.replace(self.path)
        sync_folder(self.path.absolute().parent)

    def _digest(self, text: str) -> str:
        return hashlib.blake2b(text.encode(), key=self._key, digest_size=32, person=b"released").hexdigest()
