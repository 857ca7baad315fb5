#!/bin/sh
# Run once, by the Postgres image, when its volume is empty. Row-level security, the second wall between organisations, does
# not bind superusers or roles that may bypass it: Patchbay must come as a plain role. It owns its database, nothing else.
set -eu

psql --no-psqlrc --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname postgres \
  --set role="${DATABASE_ROLE:-patchbay}" --set password="$DATABASE_PASSWORD" <<'SQL'
create role :"role" login nosuperuser nocreatedb nocreaterole noreplication nobypassrls password :'password';
create database :"role" owner :"role" encoding 'UTF8' template template0;
revoke all on database :"role" from public;
SQL
