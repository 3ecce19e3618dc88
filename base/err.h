/*
 * base/err.h - the one list of errors, and the text that accompanies an error.
 *
 * Does:     names every failure that the modules report; carries a sentence for people with it.
 * Owns:     nothing; the errbuf is the caller's.
 * May use:  nothing.
 * Knows no: HTTP, gRPC, RocksDB. One table in gateway/problem.c maps err to the wire.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   ERRBUF_BYTES of detail; longer text is cut at the end.
 * Promises: 1. ERR_OK is 0, every other value is a failure.
 *           2. Detail text never carries a secret, a row key or another tenant's name.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum err {
    ERR_OK = 0,
    ERR_INVALID,      /* input is malformed; a retry cannot help */
    ERR_TOO_BIG,      /* input is over a limit; the detail names the limit, its value and the size
                       * sent */
    ERR_NOT_FOUND,    /* no such tenant, table, family, row, key or job */
    ERR_EXISTS,       /* the object exists already, or its name was used before */
    ERR_CONFLICT,     /* the object changed in the meantime, or its state does not allow the
                       * operation */
    ERR_PRECONDITION, /* the object is not as the caller required; nothing was done */
    ERR_UNAUTHENTICATED, /* no valid credential */
    ERR_FORBIDDEN,       /* valid credential, missing scope or foreign tenant */
    ERR_SUSPENDED,       /* the tenant is suspended */
    ERR_GONE,            /* the tenant is being deleted or was deleted */
    ERR_QUOTA,           /* a stored quota is full; deletes are still admitted */
    ERR_RATE_LIMITED,    /* too fast; retry after the returned time */
    ERR_OVERLOADED,      /* a bounded queue is full, or no descriptor is free; retry soon */
    ERR_STORAGE_FULL,    /* the disk is at its headroom; deletes are still admitted */
    ERR_UNAVAILABLE,     /* the engine is stopped or stopping */
    ERR_OUTCOME_UNKNOWN, /* a write failed while being made durable: it may or may not be stored */
    ERR_CORRUPT,         /* stored bytes are invalid */
    ERR_IO,              /* file system or engine input/output */
    ERR_NO_MEMORY,       /* an allocation whose size came from input failed */
    ERR_CANCELLED,       /* the caller cancelled or disconnected */
    ERR_LOCKED,          /* another process holds the data directory */
    ERR_UNSUPPORTED,     /* from a newer version, or not built in */
    ERR_TIMEOUT,         /* a deadline passed */
    ERR_HELD,            /* a legal hold forbids it, until it is released */
    ERR_COUNT
};

#define MUST_CHECK __attribute__((warn_unused_result))

#define ERRBUF_BYTES 384

/* Text for people that accompanies an err. Zero-initialized is empty. */
struct errbuf {
    char text[ERRBUF_BYTES];
};

/* Writes a sentence into eb (NULL is allowed and ignored) and returns code, so that a failure is
 * one line: `return base_fail(eb, ERR_TOO_BIG, "row key is %zu bytes; the limit is %d", n,
 * LIM);` */
enum err base_fail(struct errbuf *eb, enum err code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Prepends the place of a failure to eb's sentence, "place: sentence", and returns code; does
 * nothing for ERR_OK: `return base_fail_at(eb, rc, "limits");` */
enum err base_fail_at(struct errbuf *eb, enum err code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Returns a short stable name such as "too_big"; "unknown" outside the enum. Static memory. */
const char *base_err_name(enum err code);

/* Reports a broken internal invariant: prints file, line and text to stderr and aborts, in release
 * too. */
void base_panic(const char *file, int line, const char *what) __attribute__((noreturn));

#define INVARIANT(cond)                                                                            \
    do {                                                                                           \
        if (__builtin_expect(!(cond), 0))                                                          \
            base_panic(__FILE__, __LINE__, #cond);                                                 \
    } while (0)

#endif
