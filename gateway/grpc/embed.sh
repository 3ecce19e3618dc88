#!/bin/sh
# gateway/grpc/embed.sh PROTO_DIR INCLUDE_DIR FILE... - the files and what they import, as a
# serialized FileDescriptorSet in a C array: what server reflection answers with.
set -eu
dir=$1 include=$2
shift 2
set_file=$(mktemp)
trap 'rm -f "$set_file"' EXIT
protoc -I"$dir" -I"$include" --include_imports --descriptor_set_out="$set_file" "$@"
echo '#include "gateway/grpc/descriptor_set.h"'
echo 'const uint8_t gw_descriptor_set[] = {'
od -An -v -tu1 "$set_file" | sed 's/ *\([0-9][0-9]*\)/\1,/g'
echo '};'
echo 'const size_t gw_descriptor_set_bytes = sizeof gw_descriptor_set;'
