/*
 * gateway/sanitizers.c - suppressions for the sanitizers of `make asan` and `make tsan`.
 *
 * libh2o keeps freed request buffers in lists of each thread and frees neither them nor its queues
 * when a loop ends; both are bounded by the number of loops. librocksdb is not built with
 * ThreadSanitizer, which therefore cannot see how RocksDB orders its memory accesses between
 * threads; nor can it see RocksDB's frame when the bytes belong to a std::string or to LZ4, which
 * nothing else here uses. No code of ours is listed here.
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
