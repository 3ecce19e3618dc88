/*
 * storage/rocksdb/answers.c - one wake-up for each waiting thread, not one for each operation.
 *
 * If there are more than MAILBOXES mailboxes, their operations return in several rounds.
 */
#include "storage/rocksdb/answers.h"

#include <stddef.h>

#include "base/banned.h"

static void run_done(struct base_msg *msg)
{
    struct sto_mutate_op *op =
        (struct sto_mutate_op *)((char *)msg - offsetof(struct sto_mutate_op, msg));
    op->done(op);
}

void sto_rdb_answer(struct sto_mutate_op *op)
{
    op->msg.run = run_done;
    base_mailbox_push(op->reply_to, &op->msg);
}

/* Operations returning to one mailbox, newest first. */
struct answers {
    struct base_mailbox *to;
    struct base_msg *newest;
    struct base_msg *oldest;
};

void sto_rdb_answer_all(struct sto_mutate_op *const *ops, size_t count)
{
    enum { MAILBOXES = 16 };
    struct answers answers[MAILBOXES];
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        struct base_msg *msg = &ops[i]->msg;
        size_t k = 0;
        while (k < used && answers[k].to != ops[i]->reply_to)
            k++;
        if (k == MAILBOXES) {
            k = i % MAILBOXES;
            base_mailbox_push_all(answers[k].to, answers[k].newest, answers[k].oldest);
            answers[k].to = NULL;
        }
        msg->run = run_done;
        if (k == used || answers[k].to == NULL) {
            used += k == used;
            answers[k] = (struct answers){ops[i]->reply_to, msg, msg};
        } else {
            msg->next = answers[k].newest;
            answers[k].newest = msg;
        }
    }
    for (size_t k = 0; k < used; k++)
        base_mailbox_push_all(answers[k].to, answers[k].newest, answers[k].oldest);
}
