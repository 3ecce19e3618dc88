"""google.cloud.bigtable.Client, the table API that most Python programs were written with."""

import sys

import classic_backups  # noqa: F401
import classic_reads  # noqa: F401
import classic_refusals  # noqa: F401
import classic_tables  # noqa: F401
import classic_writes  # noqa: F401
from classic_tools import checks, tables
from common import INSTANCE, PATIENT, PROJECT, classic_client, same


def main():
    instance = classic_client().instance(INSTANCE)
    same(instance.name, f"projects/{PROJECT}/instances/{INSTANCE}", "instance")
    status = checks.run(instance)
    for table in tables.values():
        PATIENT(table.delete)()
    return status


if __name__ == "__main__":
    sys.exit(main())
