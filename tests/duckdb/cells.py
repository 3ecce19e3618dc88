"""Cells for check.sh: `draw` prints them as lines of `bigtent row load`, `compare DIR` asks DuckDB for them."""

import base64
import json
import random
import sys

TEXTS = ["", "plain", 'say "no"', "a,b", "line\nfeed", "carriage\r\nreturn", "tab\t", "back\\slash", "\\x41",
         "é𐎘", "\x01", "NULL", " spaces ", "'", "123", "true", "nul\0"]
ROWS = 1000


def draw_bytes(rnd):
    if rnd.random() < 0.3:
        return rnd.randbytes(rnd.randrange(1, 40))
    return rnd.choice(TEXTS).encode()


def cells():
    """(key, family, qualifier, timestamp, value), each place once."""
    rnd = random.Random(20261121)
    drawn = {}
    for row in range(ROWS):
        key = draw_bytes(rnd) + b"#%d" % row
        for _ in range(rnd.randrange(1, 6)):
            place = (key, rnd.choice(["stats", "raw"]), draw_bytes(rnd), 1000 * rnd.randrange(2**40))
            drawn[place] = draw_bytes(rnd) * rnd.choice([1, 1, 1, 3000])
    drawn[(b"big", "raw", b"", 0)] = b"\xff" * (3 << 20)
    return [(*place, value) for place, value in drawn.items()]


def draw():
    for key, family, qualifier, timestamp, value in cells():
        cell = {"family": family, "qualifier_b64": base64.b64encode(qualifier).decode(),
                "value_b64": base64.b64encode(value).decode(), "timestamp": str(timestamp)}
        print(json.dumps({"key_b64": base64.b64encode(key).decode(), "cells": {"$binary": [cell]}}))


# As docs/export-format.md has them.
NDJSON = """read_json('{}', format='newline_delimited', maximum_object_size=150000000,
    columns={{key:'VARCHAR', key_b64:'VARCHAR', family:'VARCHAR', qualifier:'VARCHAR',
             qualifier_b64:'VARCHAR', timestamp:'VARCHAR', value:'VARCHAR', value_b64:'VARCHAR'}})"""
CSV = """read_csv('{}', header=true, all_varchar=true, quote='"', escape='"', max_line_size=150000000)"""


def of_json(name):
    return f"coalesce(encode({name}), from_base64({name}_b64))"


def of_csv(name):
    return f"CASE WHEN b64 LIKE '%{name[0]}%' THEN from_base64({name}) ELSE encode(coalesce({name}, '')) END"


def compare(path):
    import duckdb

    with open(f"{path}/manifest.json", encoding="utf-8") as file:
        manifest = json.load(file)
    ending = manifest["encoding"] + (".zst" if manifest["compression"] == "zstd" else "")
    source = (CSV if manifest["encoding"] == "csv" else NDJSON).format(f"{path}/phone/*.{ending}")
    value = of_csv if manifest["encoding"] == "csv" else of_json
    table = (f"(SELECT {value('key')} AS k, family AS f, {value('qualifier')} AS q, "
             f"timestamp::BIGINT AS t, {value('value')} AS v FROM {source})")
    wanted = cells()
    counts = duckdb.sql(f"SELECT count(*), count(DISTINCT k), sum(t)::HUGEINT, "
                        f"sum(octet_length(k) + length(f) + octet_length(q) + octet_length(v) + 8) "
                        f"FROM {table}").fetchall()[0]
    phone = manifest["tables"][0]
    assert (counts[0], counts[1], counts[3]) == (phone["cells"], phone["rows"], phone["bytes"]), (counts, phone)
    assert counts[0] == len(wanted), (counts, len(wanted))
    assert counts[2] == sum(cell[3] for cell in wanted)
    read = duckdb.sql(f"SELECT * FROM {table}").fetchall()
    assert sorted(read) == sorted(wanted), "cells differ"


if __name__ == "__main__":
    draw() if sys.argv[1] == "draw" else compare(sys.argv[2])
