#!/bin/sh
# A host we did not write: one request through the official inspector's command line, which prints the result as JSON.
#
# Usage: inspector.sh INSPECTOR METHOD [OPTION...] -- COMMAND [ARG...]
#
# INSPECTOR is the mcp-inspector program; OPTION are the inspector's own, such as --tool-name echo --tool-arg text=hi.
set -eu
inspector=$1 method=$2
shift 2
options=
while [ "$1" != -- ]; do
  options="$options $1"
  shift
done
shift
# Options hold no spaces here; the server command may, and stays as it is.
# shellcheck disable=SC2086
exec "$inspector" --cli --method "$method" $options -- "$@"
