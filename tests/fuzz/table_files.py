"""Small tables in the formats that need no further package, and ways to damage them."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csr_array, save_npz

ODD_TEXT = [
    b"", b"nan", b"1e999", b"-inf", b'"', b"\x00", b"\xff\xfe", b"\n\n", b",,,,", b"\t", b";",
    "é".encode(), b"#", b"{", b"]", b"=1+1", b"00001", b"99999999999999999999", b"\r", b"NA",
]  # fmt: skip


def table(random: Any) -> tuple[str, bytes]:
    """The name and the content of a correct file."""
    X = np.round(random.standard_normal((random.randint(1, 12), random.randint(1, 6))), 3)
    kind = random.choice(list(WRITERS))
    return f"table.{kind}", WRITERS[kind](X)


def _text(X: Any, delimiter: str) -> bytes:
    lines = [delimiter.join([f"f{j}" for j in range(X.shape[1])] + ["name"])]
    lines += [delimiter.join([*map(str, row), f"object{i}"]) for i, row in enumerate(X)]
    return ("\n".join(lines) + "\n").encode()


def _lines(X: Any) -> bytes:
    rows = [{f"f{j}": value for j, value in enumerate(row)} for row in X.tolist()]
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def _binary(write: Callable[[Any], None]) -> bytes:
    buffer = io.BytesIO()
    write(buffer)
    return buffer.getvalue()


WRITERS: dict[str, Callable[[Any], bytes]] = {
    "csv": lambda X: _text(X, ","),
    "tsv": lambda X: _text(X, "\t"),
    "txt": lambda X: _text(X, " "),
    "jsonl": _lines,
    "npy": lambda X: _binary(lambda file: np.save(file, X)),
    "npz": lambda X: _binary(lambda file: np.savez(file, X=X, y=np.arange(len(X)))),
    "sparse.npz": lambda X: _binary(lambda file: save_npz(file, csr_array(X))),
}


def damaged(content: bytes, random: Any) -> bytes:
    """The content with some bytes changed, removed, repeated or inserted."""
    out = bytearray(content)
    for _ in range(random.randint(0, 4)):
        at, more = random.randint(len(out) + 1), random.randint(1, 20)
        kind = random.randint(5)
        if kind == 0:
            out[at:at] = ODD_TEXT[random.randint(len(ODD_TEXT))]
        elif kind == 1:
            del out[at : at + more]
        elif kind == 2:
            del out[at:]
        elif kind == 3:
            out[at:at] = out[at : at + more] * random.randint(1, 4)
        elif at < len(out):
            out[at] = random.randint(256)
    return bytes(out)
