/*
 * tests/isolation/message.h - protobuf messages of any type, made of a line of text.
 *
 * Does:     make "table_name=t;entries.row_key=k;entries.mutations.delete_from_row=" a message.
 * Owns:     nothing; everything is in the caller's arena.
 * May use:  base/, protobuf-c, libcheck.
 * Knows no: methods.
 * Threads:  one.
 * Blocks:   no.
 * Fails by: ck_abort_msg for a field that is not there.
 * Limits:   one element of a repeated message; numbers in decimal.
 * Promises: 1. What is in a oneof is the one that was named last.
 */
#ifndef TESTS_ISOLATION_MESSAGE_H
#define TESTS_ISOLATION_MESSAGE_H

#include <protobuf-c/protobuf-c.h>

#include "base/arena.h"

ProtobufCMessage *message_make(const ProtobufCMessageDescriptor *type, const char *text,
                               struct arena *arena);
/* Does the text set that field of the message, or one inside it? */
bool message_names(const char *text, const char *field);

#endif
