/*
 * base/limits.h - every limit of the program, with its reason.
 *
 * Does:     names the numbers.
 * Owns:     nothing.
 * May use:  nothing.
 * Knows no: how they are enforced.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   these.
 * Promises: 1. A number that bounds input, memory or time is defined here and nowhere else.
 */
#ifndef BASE_LIMITS_H
#define BASE_LIMITS_H

#define KIB (1024UL)
#define MIB (1024UL * KIB)
#define GIB (1024UL * MIB)

/* Names. Bigtable's rules; the tenant's is ours (no '#', fits a DNS label). */
#define LIM_TENANT_ID_MIN 2
#define LIM_TENANT_ID     63
#define LIM_TABLE_ID      50
#define LIM_INSTANCE_ID   64
#define LIM_PROJECT       128 /* of the emulator's listener, in bytes */
#define LIM_FAMILY_NAME   64
#define LIM_DISPLAY_NAME  256
#define LIM_REASON        512
#define LIM_KEY_LABEL     128
#define LIM_KEY_PREFIX    256 /* of row keys, that an API key is limited to; copied per call */

/* Time between the request to delete a tenant and its purge; until then the tenant can be
 * undeleted. */
#define LIM_GRACE_US (90ULL * 24 * 60 * 60 * 1000000)

/* Data model: Bigtable's documented limits. */
#define LIM_ROW_KEY           4096
#define LIM_QUALIFIER         (16 * KIB)
#define LIM_CELL_BYTES        (10 * MIB) /* default; the hard ceiling is LIM_CELL_BYTES_HARD */
#define LIM_CELL_BYTES_HARD   (100 * MIB)
#define LIM_ROW_BYTES         (256 * MIB)
#define LIM_FAMILIES          100
#define LIM_TABLES            1000
#define LIM_MUTATIONS_PER_ROW 100000
#define LIM_KEYS_PER_TENANT   1000
#define LIM_TENANTS_PER_KEY   1000          /* on a service key's list; no list: all tenants */
#define LIM_OPS_PER_S         1000000000ULL /* the finest rate of tenancy/rate.h */
#define LIM_BYTES_PER_S       (1000 * GIB)

/* Tenancy. */
#define LIM_PLAN_ID             63
#define LIM_PLANS               1000
#define LIM_CONCURRENT_REQUESTS 100000
#define LIM_AUDIT_TEXT          256         /* bytes of an action's target, and of its detail */
#define LIM_ACCESS_LOG_BYTES    (16 * MIB)  /* of lines that wait to be written */
#define LIM_METRICS_TENANTS     1000        /* shown by name in /metrics, the most active ones */
#define LIM_TOP_TENANTS         100         /* of one list of the most active tenants */
#define LIM_CERTIFICATE_BYTES   (256 * KIB) /* a line; it names some thousand copies */
#define LIM_AUDIT_DAYS          400         /* records are kept, like bills; a quota may override */
#define LIM_AUDIT_DAYS_MAX      36500       /* no program is that old */
/* Schema changes cost an fsync each on the one control thread: 20 a second take about 3 percent of
 * its time, and no tenant makes as many for long. */
#define LIM_CONCURRENT_STANDARD   1000 /* per tenant, unless its quota or plan says otherwise */
#define LIM_CONTROL_OPS_PER_S     20
#define LIM_CONTROL_OPS_PER_S_MAX 1000
#define LIM_CONTROL_BURST_MS      10000 /* burst: a tool creates its tables at once */
#define LIM_CONTROL_WAITING       64    /* per tenant, for the control thread */
#define LIM_OPERATORS_WAITING     65536 /* of operators: more than there are connections */
#define LIM_AUDIT_WAITING         4096  /* refusals not yet in the audit trail */

/* Stored key: every byte may be escaped to two; two terminators; family 2, timestamp 8. */
#define LIM_STORED_KEY                                                                             \
    (LIM_TENANT_ID + 1 + LIM_TABLE_ID + 1 + 2 * LIM_ROW_KEY + 2 + 2 + 2 * LIM_QUALIFIER + 2 + 8)

/* Commit pipeline. A batch is one fsync: large enough to share it, small enough to stay fast. */
#define LIM_BATCH_OPS          1024
#define LIM_BATCH_BYTES        (8 * MIB)
#define LIM_BATCH_MADE_BYTES   (64 * MIB) /* memory besides the operations that ends a batch */
#define LIM_DELETE_CELLS       2000000    /* of one operation; larger rows are dropped in slices */
#define LIM_RECENT_SETS        16384 /* of 4 keys; 9 MiB per committer, soon resident: huge pages */
#define LIM_COMMIT_QUEUE_OPS   65536
#define LIM_COMMIT_QUEUE_BYTES (256 * MIB)
#define LIM_READ_QUEUE_OPS     4096

/* Prefetching the blocks that writes read (storage/rocksdb/prefetch.h). */
#define LIM_PREFETCH_OPS       1024        /* of one tenant in flight: a part of its read queue */
#define LIM_PREFETCH_BYTES     (256 * KIB) /* of one operation; the committer reads the rest */
#define LIM_PREFETCH_KEYS      1024        /* of one operation; the committer reads the rest */
#define LIM_PREFETCH_SLOW_US   80  /* a read that slept at least this long waited for the disk */
#define LIM_PREFETCH_WATCH_OPS 128 /* operations checked for missing blocks after a slow read */

/* Fairness: the order of service when demand exceeds capacity (storage/fair_queue.h). */
#define LIM_FAIR_RESERVED_RUN   3     /* turns for reservations, then one for shares */
#define LIM_FAIR_PASSED_OVER    16    /* turns of a tenant, then one for its lower priority */
#define LIM_BACKGROUND_WAIT_MS  100   /* then sweeps and removals get a turn among requests */
#define LIM_BATCH_SHARED_US     1000  /* build time of a batch of several tenants; or one fsync */
#define LIM_BATCH_SHARED_MAX_US 4000  /* maximum of it, however slow an fsync is */
#define LIM_BATCH_LOOK_US       250   /* then a batch in progress yields and checks its mailbox */
#define LIM_SLICE_STEPS_SHARED  16384 /* of LIM_SLICE_STEPS, while others wait for a reader */
#define LIM_TURN_US             1000  /* of a loop's turn for busy connections */
#define LIM_TURN_REQUESTS       32    /* of one connection, then the loop serves the others */
#define LIM_SHED_WINDOW_MS      250   /* under pressure: window to count a tenant's share */
/* Overload (tenancy/overload.h). Work is counted in operations and KiB. */
#define LIM_OVERLOAD_WINDOW_MS 50
#define LIM_OVERLOAD_TIMES     3     /* a window's mean wait is pressure above N times the usual, */
#define LIM_OVERLOAD_WAIT_US   500   /* plus this */
#define LIM_OVERLOAD_QUIET     2     /* counts waits of tenants that use at most 1/N of a share */
#define LIM_OVERLOAD_SMALL     16    /* units: larger requests' waits do not count */
#define LIM_OVERLOAD_PARTS     8     /* windows of the moving average */
#define LIM_OVERLOAD_SHRINK    70    /* percent of the recent use, after a window with pressure */
#define LIM_OVERLOAD_GROW      105   /* percent of the limit, after a window without pressure */
#define LIM_OVERLOAD_FAR       4     /* a limit above N times the use is removed */
#define LIM_OVERLOAD_LEAST     4000  /* per second: tenants below this are not limited */
#define LIM_OVERLOAD_SLOW      2     /* consecutive windows with a long wait start pressure */
#define LIM_OVERLOAD_TURN_MS   10000 /* maximum wait before a request starts; else refused */
#define LIM_OVERLOAD_TURNS     256   /* with more of a tenant in flight: refused, not delayed */
#define LIM_OVERLOAD_CALM_MS   2000  /* a far limit is removed after this long without waits */
#define LIM_RETRY_HINT_MIN_MS  10
#define LIM_RETRY_HINT_MS      10000

/* Scans: a slice is a reader's unit of work; it bounds the memory per slow client. */
#define LIM_SLICE_BYTES     (256 * KIB)
#define LIM_SLICE_ROWS      8192
#define LIM_SLICE_STEPS     100000      /* iterator steps, so that sparse scans yield too */
#define LIM_INLINE_STEPS    2000        /* iterator steps on a loop thread; more: a reader */
#define LIM_INLINE_BYTES    (256 * KIB) /* of a value, times its copies; more: a reader */
#define LIM_INLINE_MATCHED  (128 * KIB) /* instructions of patterns times bytes: at most 5 ms */
#define LIM_INLINE_WORK_NS  1000000     /* of a filter on a point read; more: it runs as a scan */
#define LIM_SLICE_SHARED_US 2000        /* of a processor, while others wait for a reader */
/* A row that changes during a read is kept in its old state for the first of these times; for the
 * second while a purge waits for old snapshots, which should take seconds at most. */
#define LIM_ROW_SNAPSHOT_MS        10000
#define LIM_ROW_SNAPSHOT_WAITED_MS 1000
#define LIM_RECOUNT_BEGINS         20   /* starts of a recount, which gives way likewise */
#define LIM_DROP_SLICE_CELLS       1024 /* point deletes per commit of a prefix drop */
#define LIM_SWEEP_SLICE_CELLS      256  /* per commit of a sweep */
#define LIM_SWEEP_SLICE_US         300  /* for one column after another, before that commit */
#define LIM_SWEEP_FOUND_CELLS      4096 /* found until they are removed; in one commit, if late */
#define LIM_SWEEP_FOUND_BYTES      (256 * KIB) /* of their columns' keys */
#define LIM_DROP_RANGE_CELLS       65536   /* more of a removed table or drop: removed as ranges */
#define LIM_DROP_STRETCH_CELLS     1048576 /* of a drop: removed as one range */

/* Space of deleted data; the server's options may override these. */
#define LIM_RECLAIM_AFTER_S     3600UL      /* bytes of small drops are removed from the files */
#define LIM_RECLAIM_AFTER_S_MAX 2592000UL   /* 30 days */
#define LIM_RECLAIM_BYTES_PER_S (128 * MIB) /* rewritten for it beside other work, after a GiB */

/* Pages of rows. */
#define LIM_PAGE_ROWS         10000
#define LIM_PAGE_ROWS_DEFAULT 1000
#define LIM_PAGE_BYTES        (8 * MIB) /* a JSON page ends early here, with a token */

/* Filters. Bytes and depth are Bigtable's; the others bound what one small filter may cost. */
#define LIM_FILTER_BYTES        20480 /* as a serialized RowFilter */
#define LIM_FILTER_DEPTH        20
#define LIM_FILTER_COPIES       1024  /* outputs of one cell: interleaves in a chain multiply */
#define LIM_FILTER_VISITS       65536 /* steps of evaluation for one cell */
#define LIM_FILTER_PASSES       16    /* conditions that depend on each other: row is read again */
#define LIM_FILTER_REGEXES      128   /* each may scan a whole value; literal ones are free */
#define LIM_FILTER_REGEX_BYTES  (4 * MIB) /* compiled patterns of one filter, with their caches */
#define LIM_FILTER_CLASSES      64        /* Unicode's, in patterns: 170 us each to compile */
#define LIM_FILTER_SMALL_BYTES  (2 * KIB) /* larger filters are not compiled on loops */
#define LIM_FILTER_SMALL_WEIGHT 256       /* characters of patterns times repetitions; same rule */
#define LIM_PATTERN_STATE_BYTES (8 * MIB) /* created in one match: 50 ms of a processor */
#define LIM_PATTERN_SIMULATED   (256 * KIB) /* instructions times bytes of a match: 1.3 ms */
#define LIM_LABEL               15
#define LIM_ROW_SET             100000 /* keys and ranges of one read */
#define LIM_GC_RULE_BYTES       500    /* as a serialized GcRule */
#define LIM_GC_NODES            64
#define LIM_ROW_KEY_NOTES       (4 * KIB)        /* a table's notes on its row keys */
#define LIM_TABLE_ORIGIN        256              /* stored text about the source of a table */
#define LIM_CHANGES_KEPT_MIN_S  (24UL * 60 * 60) /* by a change stream: Bigtable's range */
#define LIM_CHANGES_KEPT_S      (7UL * 24 * 60 * 60)
#define LIM_CHANGE_PARTITIONS   8 /* at the start: each is read through all changes of the table */
#define LIM_CHANGE_PART         (256 * KIB) /* a longer change is stored and read in parts */
#define LIM_CHANGES_PER_SWEEP   2048        /* stored parts removed in one commit */
#define LIM_FAMILIES_DROPPED    1000        /* removed families that may still have stored cells */
#define LIM_SPLITS              1000        /* of a new table; each takes part in every sampling */
#define LIM_SPLIT_BYTES         (64 * KIB)  /* of all splits; they are in every schema's memory */
#define LIM_VIEW_ID             LIM_TABLE_ID
#define LIM_VIEWS               100        /* authorized views of a table */
#define LIM_VIEW_PARTS          1000       /* prefixes, families and qualifiers of one view */
#define LIM_VIEW_BYTES          (32 * KIB) /* of all parts; two of the longest qualifiers */
#define LIM_CHECK_STEPS         200000     /* cells checked by a check-and-mutate */
#define LIM_APPLY_STEPS         1024 /* cells and mutations of one operation on a committer: 2 ms */
#define LIM_DELETE_POINTS       4096 /* cells deleted one by one; more are deleted as one range */
#define LIM_DELETE_RANGES       16   /* of one operation; then one by one again */
#define LIM_HELD_FREE_MS        10   /* for one operation to keep others waiting, without a pause */
#define LIM_HELD_REST           100  /* pause per excess: invisible in the p99 of others */
#define LIM_HELD_REST_MAX_MS    60000
#define LIM_HELD_COMPANY_MS     10000 /* since another tenant wrote; after that no tenant waits */
#define LIM_PLAN_TRIES          3     /* then no other write of the tenant is served meanwhile */
#define LIM_MODIFY_RULES        1000  /* of one read-modify-write */
#define LIM_PERMISSIONS         100   /* tested at once, each looked up on a loop */
/* Quotas of the plan "standard" of a new data directory, until an operator changes it. */
#define LIM_FIRST_STORED_BYTES      (100ULL * 1024 * MIB)
#define LIM_FIRST_CHANGE_BYTES      (20ULL * 1024 * MIB)
#define LIM_FIRST_BACKUP_BYTES      (400ULL * 1024 * MIB)
#define LIM_FIRST_OPS_PER_S         50000
#define LIM_FIRST_READ_BYTES_PER_S  (512 * MIB)
#define LIM_FIRST_WRITE_BYTES_PER_S (128 * MIB)
/* Memory of a tenant's schemas and views: default, and maximum of a quota or plan. */
#define LIM_SCHEMA_BYTES_STANDARD (16 * MIB)
#define LIM_SCHEMA_BYTES_MAX      (1024ULL * MIB)
/* Guaranteed to each tenant. Beyond it all tenants share as much memory as requests may hold. */
#define LIM_SCHEMA_BYTES_FREE     (64 * KIB)
#define LIM_TOKENS_STANDARD       1000000 /* per tenant: 150 MB */
#define LIM_IDEMPOTENCY_TOKEN_MIN 8
#define LIM_IDEMPOTENCY_TOKEN     64
#define LIM_IDEMPOTENCY_US        (15ULL * 60 * 1000000) /* how long a retry is recognized */
#define LIM_IDEMPOTENCY_AHEAD_US  (5ULL * 60 * 1000000)  /* for clients whose clock is ahead */
#define LIM_TOKENS_PER_SWEEP      4096                   /* removed in one commit */

/* Edge. */
#define LIM_BODY_BYTES         (16 * MIB) /* buffered bodies; h2o keeps up to 32 MB in memory */
#define LIM_JSON_DEPTH         64         /* a filter of LIM_FILTER_DEPTH takes two per level */
#define LIM_JSON_ADMIN_BYTES   (64 * KIB)
#define LIM_BULK_LINE_BYTES    (16 * MIB)
#define LIM_BULK_INFLIGHT      256
#define LIM_HEAD_BYTES         (32 * KIB)
#define LIM_HEADERS            64
#define LIM_TARGET_BYTES       (24 * KIB) /* a percent-encoded 4 KiB key is 12 KiB */
#define LIM_STREAMS_PER_CONN   128
#define LIM_CONNECTIONS        20000
#define LIM_ADDRESS_HANDSHAKES 200 /* per second and address: a fifth of what two cores can do */
#define LIM_ADDRESS_FAILURES   20  /* of authentication, per second and address */
#define LIM_INFLATE_RATIO      64  /* of a compressed message, for sizes above the next limit */
#define LIM_INFLATE_FREE_BYTES LIM_BODY_BYTES
#define LIM_REQUEST_BYTES_MIN  (64 * MIB) /* for requests and responses together: the minimum */
#define LIM_MEMORY_WAIT_MS     2000       /* a read waits this long for scarce memory, then tries */
#define LIM_OUT_HIGH_BYTES     (512 * KIB) /* stop producing for a client above this */
#define LIM_HEAD_TIMEOUT_MS    10000
#define LIM_IDLE_TIMEOUT_MS    75000
#define LIM_STALL_TIMEOUT_MS   30000   /* a client that receives nothing for this long is closed */
#define LIM_DRAIN_TIMEOUT_MS   10000   /* graceful shutdown, then hard close */
#define LIM_TICKET_KEY_S       3600ULL /* life of a TLS ticket key; memory holds two of them */

#define LIM_PROXY_NETS         64   /* networks of --proxy-from */
#define LIM_PROXY_HEADER_BYTES 2048 /* PROXY protocol, with its TLVs */

/* Free space to keep on the data directory's disk: below it writes are refused, deletes are
 * admitted. */
#define LIM_HEADROOM_BYTES_DEFAULT (512 * MIB)
#define LIM_BALLAST_BYTES_DEFAULT  (64 * MIB)

/* Instances that clients create at the emulator's listener. The clusters and profiles of an
 * instance are read and written together. */
#define LIM_INSTANCES    1000        /* of a project, deleted ones included */
#define LIM_CLUSTERS     30          /* of an instance */
#define LIM_APP_PROFILES 100         /* of an instance */
#define LIM_INSTANCE_DOC (256 * KIB) /* the whole document of an instance */

/* Backups. The rate of a copy is bounded so that requests keep the disk; a list of files is read
 * whole. */
#define LIM_BACKUPS               1000 /* of the whole database */
#define LIM_BACKUPS_SCOPED        7000 /* of single tenants, all of them together */
#define LIM_BACKUP_NOTE           256
#define LIM_BACKUP_FILES          200000
#define LIM_BACKUP_MANIFEST_BYTES (64 * MIB)
#define LIM_BACKUP_BYTES_PER_S    (64 * MIB)
#define LIM_BACKUP_KEEP_S         (100UL * 366 * 24 * 60 * 60)
#define LIM_BACKUP_BLOCK_BYTES    (256 * KIB) /* memory of a copy */
#define LIM_BACKUP_NAME           50          /* of a tenant's own backup, as Bigtable's */
#define LIM_BACKUP_TIMES          8 /* backups may hold N times the storage quota: a week of them */
#define LIM_BACKUPS_OF_TENANT     50 /* so that no tenant fills the list of all */
/* Work on tenants' backups, one at a time: how many operations may be pending or running. */
#define LIM_OPERATIONS_OF_TENANT    8   /* that the tenant requested */
#define LIM_OPERATIONS_OF_TENANTS   256 /* that tenants requested, all of them together */
#define LIM_OPERATIONS_OF_OPERATORS 64  /* that operators requested: places of their own */
#define LIM_OPERATIONS_WAITING      (LIM_OPERATIONS_OF_TENANTS + LIM_OPERATIONS_OF_OPERATORS)
#define LIM_OPERATIONS_KEPT         100 /* of a tenant, finished ones included */

#define LIM_KEPT_BLOCK_BYTES   (2 * MIB) /* larger blocks are returned to the system when freed */
#define LIM_THREAD_STACK_BYTES (2 * MIB) /* jansson at its own depth limit needs 700 KiB */

#endif
