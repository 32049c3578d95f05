#!/bin/sh
# The suite calls this instead of the client itself, with the address of its mock server as the one argument.
# The suite reports a client that a signal ended as exit code 0, and hides the code of a scenario that allows
# errors; so the code is written down here. No file means that the client never came to its end.
set -u

"$SWITCHBOARD_CONFORMANCE_CLIENT" "$1" &
client=$!
trap 'kill -s KILL "$client"; exit 124' TERM INT
wait "$client"
code=$?
printf '%s\n' "$code" >"$SWITCHBOARD_CONFORMANCE_EXIT_FILE"
exit "$code"
