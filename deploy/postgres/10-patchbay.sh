#!/bin/sh
# The Postgres image runs this once, when its volume is empty. Patchbay needs a plain role: row-level security, the second
# barrier between organisations, does not apply to superusers or roles with bypassrls. The role owns only its database.
set -eu
password=$(cat "${DATABASE_PASSWORD_FILE:?names no file with the password of the role}")
: "${password:?is empty in $DATABASE_PASSWORD_FILE}"

psql --no-psqlrc --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname postgres \
  --set role="${DATABASE_ROLE:-patchbay}" --set password="$password" <<'SQL'
create role :"role" login nosuperuser nocreatedb nocreaterole noreplication nobypassrls password :'password';
create database :"role" owner :"role" encoding 'UTF8' template template0;
revoke all on database :"role" from public;
SQL
