/*
 * gateway/sanitizers.c - what the checkers of `make asan` and `make tsan` are told to overlook.
 *
 * libh2o keeps freed request buffers in lists of each thread and gives neither them nor its queues
 * back when a loop ends; both are bounded by the number of loops. librocksdb is not built with
 * ThreadSanitizer, which therefore cannot see how it orders its memory between threads; nor can it
 * see RocksDB's frame when the bytes are a std::string's or LZ4's, which nothing else here uses.
 * Nothing of ours is listed here.
 */
#include "base/banned.h"

#ifdef __SANITIZE_ADDRESS__

const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:h2o_mem_alloc_recycle\n"
           "leak:h2o_multithread_create_queue\n";
}

#endif

#ifdef __SANITIZE_THREAD__

const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void)
{
    return "race:librocksdb.so\n"
           "race:std::__cxx11::basic_string\n"
           "race:LZ4_decompress_safe\n";
}

#endif
