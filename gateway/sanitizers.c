/*
 * gateway/sanitizers.c - what the leak checker of `make asan` is told to overlook.
 *
 * libh2o keeps freed request buffers in lists of each thread and gives neither them nor its queues
 * back when a loop ends; both are bounded by the number of loops. Nothing of ours is listed here.
 */
#ifdef __SANITIZE_ADDRESS__

const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:h2o_mem_alloc_recycle\n"
           "leak:h2o_multithread_create_queue\n";
}

#endif
