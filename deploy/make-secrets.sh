#!/bin/sh
# Writes random passwords for compose.yaml to deploy/secrets, or to the folder that is given. An existing folder stays as it is.
# Only its owner can open the folder; the files in it are readable, because containers read them as other users.
set -eu
folder="${1:-$(dirname "$0")/secrets}"
umask 022
mkdir -m 0700 "$folder"
cd "$folder"
# One folder for each service that reads it. Add replica/anthropic-api-key, replica/init-service-token and functions/runtime-key.
mkdir replica postgres nats functions

password() { od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }
superuser=$(password) database=$(password) nats=$(password)

printf %s "$superuser" > postgres/superuser-password
printf %s "$database" > postgres/database-password
printf %s "postgres://patchbay:$database@postgres:5432/patchbay" > replica/database
printf %s "$nats" > nats/password
printf %s "nats://patchbay:$nats@nats:4222" > replica/nats
