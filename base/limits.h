/*
 * base/limits.h - every limit of the program, with its reason.
 *
 * Does:     name the numbers.
 * Owns:     nothing.
 * May use:  nothing.
 * Knows no: how they are enforced.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   these.
 * Promises: 1. A number that bounds input, memory or time stands here and nowhere else.
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
#define LIM_KEY_PREFIX    256 /* of row keys, that an API key is limited to; kept in each call */

/* Between the request to delete a tenant and its purge: undelete is possible so long. */
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
#define LIM_TENANTS_PER_KEY   1000          /* a service key may be bound to; more: to all */
#define LIM_OPS_PER_S         1000000000ULL /* the finest rate of tenancy/rate.h */
#define LIM_BYTES_PER_S       (1000 * GIB)

/* Tenancy. */
#define LIM_PLAN_ID             63
#define LIM_PLANS               1000
#define LIM_CONCURRENT_REQUESTS 100000
#define LIM_AUDIT_TEXT          256         /* bytes of an action's target, and of its detail */
#define LIM_ACCESS_LOG_BYTES    (16 * MIB)  /* of lines that wait to be written */
#define LIM_METRICS_TENANTS     1000        /* that /metrics shows by name, the most active ones */
#define LIM_TOP_TENANTS         100         /* of one list of the most active */
#define LIM_CERTIFICATE_BYTES   (256 * KIB) /* a line; some thousand copies are named in it */
#define LIM_AUDIT_DAYS          400         /* records are kept, as bills are; a quota says else */
#define LIM_AUDIT_DAYS_MAX      36500       /* no program is that old */
/* Changes of tables cost an fsync each on the one control thread: 20 a second are about 3 percent
 * of it, and no tenant makes as many for long. */
#define LIM_CONCURRENT_STANDARD   1000 /* of a tenant, unless its quota or plan says otherwise */
#define LIM_CONTROL_OPS_PER_S     20
#define LIM_CONTROL_OPS_PER_S_MAX 1000
#define LIM_CONTROL_BURST_MS      10000 /* of them may come at once: a tool makes its tables */
#define LIM_CONTROL_WAITING       64    /* of one tenant, for the control thread */
#define LIM_OPERATORS_WAITING     65536 /* of operators: more than there are connections */
#define LIM_AUDIT_WAITING         4096  /* refusals on their way into the audit trail */

/* Stored key: every byte may be escaped to two; two terminators; family 2, timestamp 8. */
#define LIM_STORED_KEY                                                                             \
    (LIM_TENANT_ID + 1 + LIM_TABLE_ID + 1 + 2 * LIM_ROW_KEY + 2 + 2 + 2 * LIM_QUALIFIER + 2 + 8)

/* Commit pipeline. A batch is one fsync: large enough to share it, small enough to stay quick. */
#define LIM_BATCH_OPS          1024
#define LIM_BATCH_BYTES        (8 * MIB)
#define LIM_BATCH_MADE_BYTES   (64 * MIB) /* memory beside the operations: the batch ends there */
#define LIM_DELETE_CELLS       2000000    /* by one operation; a larger row is dropped in slices */
#define LIM_RECENT_SETS        16384 /* of 4 keys; 9 MiB a committer, soon resident: large pages */
#define LIM_COMMIT_QUEUE_OPS   65536
#define LIM_COMMIT_QUEUE_BYTES (256 * MIB)
#define LIM_READ_QUEUE_OPS     4096

/* What writes read, read before their turn comes (storage/rocksdb/prefetch.h). */
#define LIM_PREFETCH_OPS       1024        /* of one tenant in flight: a part of its read queue */
#define LIM_PREFETCH_BYTES     (256 * KIB) /* of one operation; the committer reads on */
#define LIM_PREFETCH_KEYS      1024        /* the same */
#define LIM_PREFETCH_SLOW_US   80  /* a read that slept and took that long waited for a disk */
#define LIM_PREFETCH_WATCH_OPS 128 /* after a slow one, so many are looked at in memory first */

/* Fairness: whose turn it is when more is asked for than can be done (storage/fair_queue.h). */
#define LIM_FAIR_RESERVED_RUN   3     /* turns to reservations, then one to shares */
#define LIM_FAIR_PASSED_OVER    16    /* turns of a tenant, then one to its lower priority */
#define LIM_BACKGROUND_WAIT_MS  100   /* then sweeps and removals have a turn among requests */
#define LIM_BATCH_SHARED_US     1000  /* of applying, when several tenants write; or one fsync */
#define LIM_BATCH_SHARED_MAX_US 4000  /* of it, however slow an fsync is */
#define LIM_BATCH_LOOK_US       250   /* then a batch in the making yields, and looks who came */
#define LIM_SLICE_STEPS_SHARED  16384 /* of LIM_SLICE_STEPS, while others wait for a reader */
#define LIM_TURN_US             1000  /* of a loop's turn for connections that are busy */
#define LIM_TURN_REQUESTS       32    /* of one connection, then the loop looks at the others */
#define LIM_SHED_WINDOW_MS      250   /* under pressure, a tenant's share is counted so long */
/* Overload (tenancy/overload.h). Work is counted in operations and KiB. */
#define LIM_OVERLOAD_WINDOW_MS 50
#define LIM_OVERLOAD_TIMES     3     /* so many times what is usual for a small request, */
#define LIM_OVERLOAD_WAIT_US   500   /* and so much, in the mean of a window, is pressure */
#define LIM_OVERLOAD_QUIET     2     /* uses no more than one part in so many of its share */
#define LIM_OVERLOAD_SMALL     16    /* units: a request whose waiting counts */
#define LIM_OVERLOAD_PARTS     8     /* windows that count as lately */
#define LIM_OVERLOAD_SHRINK    70    /* percent of what was done, after a window with pressure */
#define LIM_OVERLOAD_GROW      105   /* percent of the limit, after one without */
#define LIM_OVERLOAD_FAR       4     /* times what is done: a limit is none any more */
#define LIM_OVERLOAD_LEAST     4000  /* a second: who does no more is not limited */
#define LIM_OVERLOAD_SLOW      2     /* windows in a row with a long wait: pressure begins */
#define LIM_OVERLOAD_TURN_MS   10000 /* a request waits for no longer at its head: it is refused */
#define LIM_OVERLOAD_TURNS     256   /* nor when so many of its tenant are under way */
#define LIM_OVERLOAD_CALM_MS   2000  /* nobody had to wait: what is far is none */
#define LIM_RETRY_HINT_MIN_MS  10
#define LIM_RETRY_HINT_MS      10000

/* Scans: a slice is what a reader makes before it hands over; bounds memory per slow client. */
#define LIM_SLICE_BYTES     (256 * KIB)
#define LIM_SLICE_ROWS      8192
#define LIM_SLICE_STEPS     100000      /* iterator steps, so that sparse scans yield too */
#define LIM_INLINE_STEPS    2000        /* iterator steps on a loop thread, then to a reader */
#define LIM_INLINE_BYTES    (256 * KIB) /* of a value, times what comes out of it; then the same */
#define LIM_INLINE_MATCHED  (128 * KIB) /* instructions of patterns times bytes: 5 ms at worst */
#define LIM_INLINE_WORK_NS  1000000     /* of a filter on a point read, then it is run as a scan */
#define LIM_SLICE_SHARED_US 2000        /* of a processor, while others wait for a reader */
/* A row that changes while a read is inside it is kept as it was for the first of these; for the
 * second while a purge waits for old snapshots, which should take seconds at most. */
#define LIM_ROW_SNAPSHOT_MS        10000
#define LIM_ROW_SNAPSHOT_WAITED_MS 1000
#define LIM_RECOUNT_BEGINS         20   /* a recount begins so often, since it gives way likewise */
#define LIM_DROP_SLICE_CELLS       1024 /* point deletes per commit of a prefix drop */
#define LIM_SWEEP_SLICE_CELLS      256  /* the same of a sweep */
#define LIM_SWEEP_SLICE_US         300  /* of one column and another, before that commit */
#define LIM_SWEEP_FOUND_CELLS      4096 /* then they are removed; at once, when that waited */
#define LIM_SWEEP_FOUND_BYTES      (256 * KIB) /* of their columns' keys */
#define LIM_DROP_RANGE_CELLS       65536   /* more of a removed table, or of a drop, go as ranges */
#define LIM_DROP_STRETCH_CELLS     1048576 /* of a drop: so many go as one of them */

/* Space of what was deleted; unless the server's options say otherwise. */
#define LIM_RECLAIM_AFTER_S     3600UL      /* bytes of small drops leave the files */
#define LIM_RECLAIM_AFTER_S_MAX 2592000UL   /* 30 days */
#define LIM_RECLAIM_BYTES_PER_S (128 * MIB) /* rewritten for it beside others, behind a GiB */

/* Pages of rows. */
#define LIM_PAGE_ROWS         10000
#define LIM_PAGE_ROWS_DEFAULT 1000
#define LIM_PAGE_BYTES        (8 * MIB) /* a JSON page ends early here, with a token */

/* Filters. Bytes and depth are Bigtable's; the others bound what one small filter may cost. */
#define LIM_FILTER_BYTES        20480 /* as a serialized RowFilter */
#define LIM_FILTER_DEPTH        20
#define LIM_FILTER_COPIES       1024  /* outputs of one cell: interleaves in a chain multiply */
#define LIM_FILTER_VISITS       65536 /* steps of evaluation for one cell */
#define LIM_FILTER_PASSES       16    /* conditions waiting for each other: the row is read again */
#define LIM_FILTER_REGEXES      128   /* each may read a whole value; literal ones are free */
#define LIM_FILTER_REGEX_BYTES  (4 * MIB) /* compiled patterns of one filter, with their caches */
#define LIM_FILTER_CLASSES      64        /* Unicode's, in patterns: 170 us each to compile */
#define LIM_FILTER_SMALL_BYTES  (2 * KIB) /* larger ones are not compiled on loops */
#define LIM_FILTER_SMALL_WEIGHT 256       /* the same: characters of patterns, times repetitions */
#define LIM_PATTERN_STATE_BYTES (8 * MIB) /* made anew in one match: 50 ms of a processor */
#define LIM_PATTERN_SIMULATED   (256 * KIB) /* instructions times bytes of a match: 1.3 ms */
#define LIM_LABEL               15
#define LIM_ROW_SET             100000 /* keys and ranges of one read */
#define LIM_GC_RULE_BYTES       500    /* as a serialized GcRule */
#define LIM_GC_NODES            64
#define LIM_ROW_KEY_NOTES       (4 * KIB)        /* a table's notes on its row keys */
#define LIM_TABLE_ORIGIN        256              /* what is kept of where a table comes from */
#define LIM_CHANGES_KEPT_MIN_S  (24UL * 60 * 60) /* by a change stream: Bigtable's range */
#define LIM_CHANGES_KEPT_S      (7UL * 24 * 60 * 60)
#define LIM_CHANGE_PARTITIONS   8 /* to begin with: each is read through all changes of the table */
#define LIM_CHANGE_PART         (256 * KIB) /* a longer change is stored and read in parts */
#define LIM_CHANGES_PER_SWEEP   2048        /* stored parts removed in one commit */
#define LIM_FAMILIES_DROPPED    1000        /* removed ones whose cells are not yet gone */
#define LIM_SPLITS              1000 /* a table is made with; each takes part in every sampling */
#define LIM_SPLIT_BYTES         (64 * KIB) /* of all of them; they are in every schema's memory */
#define LIM_VIEW_ID             LIM_TABLE_ID
#define LIM_VIEWS               100        /* authorized views of a table */
#define LIM_VIEW_PARTS          1000       /* prefixes, families and qualifiers of one view */
#define LIM_VIEW_BYTES          (32 * KIB) /* of all of them; two of the longest qualifiers */
#define LIM_CHECK_STEPS         200000     /* cells a check-and-mutate looks at */
#define LIM_APPLY_STEPS         1024 /* cells, mutations of one operation on a committer: 2 ms */
#define LIM_DELETE_POINTS       4096 /* cells deleted one by one; more go as one range */
#define LIM_DELETE_RANGES       16   /* of one operation; then one by one again */
#define LIM_HELD_FREE_MS        10   /* one operation keeps others waiting, without a rest */
#define LIM_HELD_REST           100  /* times what is more: others' p99 does not see it */
#define LIM_HELD_REST_MAX_MS    60000
#define LIM_HELD_COMPANY_MS     10000 /* since others wrote; else nobody waits */
#define LIM_PLAN_TRIES          3     /* then nothing else of the tenant is written meanwhile */
#define LIM_MODIFY_RULES        1000  /* of one read-modify-write */
#define LIM_PERMISSIONS         100   /* that are tested at once, each looked up on a loop */
/* What the plan "standard" of a new data directory says, until an operator changes it. */
#define LIM_FIRST_STORED_BYTES      (100ULL * 1024 * MIB)
#define LIM_FIRST_CHANGE_BYTES      (20ULL * 1024 * MIB)
#define LIM_FIRST_BACKUP_BYTES      (400ULL * 1024 * MIB)
#define LIM_FIRST_OPS_PER_S         50000
#define LIM_FIRST_READ_BYTES_PER_S  (512 * MIB)
#define LIM_FIRST_WRITE_BYTES_PER_S (128 * MIB)
/* Memory of a tenant's schemas and views, unless its quota or plan says otherwise; at most. */
#define LIM_SCHEMA_BYTES_STANDARD (16 * MIB)
#define LIM_SCHEMA_BYTES_MAX      (1024ULL * MIB)
/* The same, whatever other tenants' take: beyond it they share as much memory as requests do. */
#define LIM_SCHEMA_BYTES_FREE     (64 * KIB)
#define LIM_TOKENS_STANDARD       1000000 /* of a tenant: 150 MB */
#define LIM_IDEMPOTENCY_TOKEN_MIN 8
#define LIM_IDEMPOTENCY_TOKEN     64
#define LIM_IDEMPOTENCY_US        (15ULL * 60 * 1000000) /* how long a retry is recognised */
#define LIM_IDEMPOTENCY_AHEAD_US  (5ULL * 60 * 1000000)  /* of clients whose clock is ahead */
#define LIM_TOKENS_PER_SWEEP      4096                   /* removed in one commit */

/* Edge. */
#define LIM_BODY_BYTES         (16 * MIB) /* buffered bodies; h2o keeps up to 32 MB in memory */
#define LIM_JSON_DEPTH         64         /* a filter of LIM_FILTER_DEPTH takes two for each */
#define LIM_JSON_ADMIN_BYTES   (64 * KIB)
#define LIM_BULK_LINE_BYTES    (16 * MIB)
#define LIM_BULK_INFLIGHT      256
#define LIM_HEAD_BYTES         (32 * KIB)
#define LIM_HEADERS            64
#define LIM_TARGET_BYTES       (24 * KIB) /* a percent-encoded 4 KiB key is 12 KiB */
#define LIM_STREAMS_PER_CONN   128
#define LIM_CONNECTIONS        20000
#define LIM_ADDRESS_HANDSHAKES 200 /* a second, of one address: a fifth of what two cores can */
#define LIM_ADDRESS_FAILURES   20  /* of authentication */
#define LIM_INFLATE_RATIO      64  /* of a compressed message, beyond the next */
#define LIM_INFLATE_FREE_BYTES LIM_BODY_BYTES
#define LIM_REQUEST_BYTES_MIN  (64 * MIB) /* requests and answers hold together: a server's least */
#define LIM_MEMORY_WAIT_MS     2000       /* a read waits so long for scarce memory, then tries */
#define LIM_OUT_HIGH_BYTES     (512 * KIB) /* stop producing for a peer above this */
#define LIM_HEAD_TIMEOUT_MS    10000
#define LIM_IDLE_TIMEOUT_MS    75000
#define LIM_STALL_TIMEOUT_MS   30000   /* a peer that takes nothing for this long is closed */
#define LIM_DRAIN_TIMEOUT_MS   10000   /* graceful shutdown, then hard close */
#define LIM_TICKET_KEY_S       3600ULL /* a key of TLS tickets; memory gives away two of them */

#define LIM_PROXY_NETS         64   /* networks of --proxy-from */
#define LIM_PROXY_HEADER_BYTES 2048 /* PROXY protocol, with what its TLVs bring */

/* Keep free on the data directory's disk: writes stop below, deletes pass. */
#define LIM_HEADROOM_BYTES_DEFAULT (512 * MIB)
#define LIM_BALLAST_BYTES_DEFAULT  (64 * MIB)

/* What clients make at the emulator's listener. The clusters and profiles of an instance are read
 * and written together. */
#define LIM_INSTANCES    1000        /* of a project, with those that were deleted */
#define LIM_CLUSTERS     30          /* of an instance */
#define LIM_APP_PROFILES 100         /* of an instance */
#define LIM_INSTANCE_DOC (256 * KIB) /* all that is said of an instance */

/* Backups. A copy is bounded so that requests keep the disk; a list of files is read whole. */
#define LIM_BACKUPS               1000 /* of everything */
#define LIM_BACKUPS_SCOPED        7000 /* of tenants, all of them together */
#define LIM_BACKUP_NOTE           256
#define LIM_BACKUP_FILES          200000
#define LIM_BACKUP_MANIFEST_BYTES (64 * MIB)
#define LIM_BACKUP_BYTES_PER_S    (64 * MIB)
#define LIM_BACKUP_KEEP_S         (100UL * 366 * 24 * 60 * 60)
#define LIM_BACKUP_BLOCK_BYTES    (256 * KIB) /* memory of a copy */
#define LIM_BACKUP_NAME           50          /* of a tenant's own backup, as Bigtable's */
#define LIM_BACKUP_TIMES          8 /* its backups may hold, of what it may store: a week of them */
#define LIM_BACKUPS_OF_TENANT     50 /* so that nobody fills the list of all */
/* Work on tenants' backups, one at a time: how many operations may be pending or running. */
#define LIM_OPERATIONS_OF_TENANT    8   /* that the tenant requested */
#define LIM_OPERATIONS_OF_TENANTS   256 /* that tenants requested, all of them together */
#define LIM_OPERATIONS_OF_OPERATORS 64  /* that operators requested: places of their own */
#define LIM_OPERATIONS_WAITING      (LIM_OPERATIONS_OF_TENANTS + LIM_OPERATIONS_OF_OPERATORS)
#define LIM_OPERATIONS_KEPT         100 /* of a tenant, with those that ended */

#define LIM_KEPT_BLOCK_BYTES   (2 * MIB) /* a larger one goes back to the system when freed */
#define LIM_THREAD_STACK_BYTES (2 * MIB) /* jansson at its own depth limit needs 700 KiB */

#endif
