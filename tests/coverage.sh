#!/bin/sh
# Print which lines of each room ran. Usage: tests/coverage.sh build/coverage ROOM...
#
# After the tests of that tree: every object has its list of lines (.gcno), and those that ran their
# counts (.gcda). Only lines of .c and .cc files count; headers would count once for each user.
# `gcov -o build/coverage/obj/ROOM ROOM/FILE.c` shows the lines of one file.
set -u
tree=${1:?usage: tests/coverage.sh build/coverage ROOM...}
shift
for room; do
    gcov -n "$tree/obj/$room"/*.gcno 2> /dev/null |
        awk -v room="$room" '
            /^File / { own = index($0, "\047" room "/") && $0 ~ /\.cc?\047$/ }
            /^Lines executed:/ && own {
                split(substr($0, 16), part, "% of ")
                lines += part[2]
                ran += part[1] * part[2] / 100
                own = 0
            }
            END {
                if (lines > 0)
                    printf "%-16s %6.1f %% of %6d lines\n", room, 100 * ran / lines, lines
            }'
done
