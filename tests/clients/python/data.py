"""google.cloud.bigtable.data, the newer client: data.py sync | data.py async.

The two have the same calls; `maybe` waits where there is something to wait for. Tables are made
with the generated admin client, as its users do.
"""

import asyncio
import sys

from google.cloud.bigtable.data import (
    RowMutationEntry,
)

import data_reads  # noqa: F401
import data_refusals  # noqa: F401
import data_tables  # noqa: F401
import data_writes  # noqa: F401
import filters
from common import (
    SCAN_ROWS,
    SCAN_VALUE,
    maybe,
    scan_key,
    table,
)
from data_tools import (
    cell,
    checks,
    kept,
    make_client,
    opened,
)


async def write_scan_rows(data):
    batcher = data.mutations_batcher(flush_limit_mutation_count=5000)
    for number in range(SCAN_ROWS):
        await maybe(batcher.append(RowMutationEntry(scan_key(number), cell(SCAN_VALUE, b"v"))))
    await maybe(batcher.close())


async def main():
    client = make_client()
    try:
        with table("scan", ["stats"]) as scanned, table("filters", filters.FAMILIES) as known:
            kept["scan"], kept["filters"] = opened(client, scanned), opened(client, known)
            await write_scan_rows(kept["scan"])
            return await checks.run_async(client)
    finally:
        await maybe(client.close())


if __name__ == "__main__":
    if sys.argv[1:] not in (["sync"], ["async"]):
        sys.exit("usage: data.py sync|async")
    sys.exit(asyncio.run(main()))
