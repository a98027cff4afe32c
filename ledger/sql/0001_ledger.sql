-- The ledger: every space's numbered log of commits, and how changes get into it.
--
--   an application's write ─► trigger of a captured table ─┐ changes, and one marker in `waiting`
--   viewgate.append(…)     ─► managed records             ─┘ per (transaction, space): no lock, no number
--   a client's mutation    ─► open_mutations(), write_mutations(): under the space's lock, numbered at once
--                 COMMIT ─► viewgate.look() or number(): under the space row's lock, each marker becomes a commit
--                        ─► viewgate.read_log(): whole commits in order
--
-- Rules that everything below keeps:
--   * Only append_commit() consumes a sequence, under the space row's lock, in READ COMMITTED. So sequences have no gaps, and
--     the order in which commits become visible is the order of their numbers.
--   * A writer never waits for another because of us and never fails because of us: no lock, whatever its isolation level.
--   * Order inside a space is by each transaction's last change in change_counter. The counter is drawn after the row locks, and
--     whoever depended on a transaction changed something after that one had committed: number order is commit order.
--   * Text of a record is to_jsonb(row)::text under pinned settings, the same bytes wherever it is read.
--
-- Errors: VG001 a table cannot be captured · VG002 bad input of append · VG003 TRUNCATE under an old snapshot ·
-- VG004 wrong isolation level · VG005 the log is append-only · VG006 a record that still exists is not erased ·
-- VG007 write_mutations was given what cannot be.
--
-- Space names are given and shown as they are; keys hold space_key(name).

create schema if not exists viewgate;
revoke all on schema viewgate from public;

create table viewgate.schema_version (
  version int primary key,
  hash text not null,
  applied_at timestamptz not null default now()
);

-- ── tables ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

-- A space: where its readable log begins. A lock on this row is the space's lock. The row changes only when the log is pruned:
-- a row that changed with every numbering would leave versions that a long reader keeps alive, and finding the newest one
-- among them would cost more with every second. So the head is not here but in `commits`, which only grows: see view `spaces`.
create table viewgate.horizons (
  space text collate "C" primary key,
  name text not null,
  retained_from bigint not null default 1,   -- the first commit that is still readable
  base_stamp bigint not null default 0,      -- stamp of commit retained_from - 1
  erased_through bigint not null default 0,  -- the last commit of which values were erased: no view goes on from before it
  moved xid8 not null default pg_current_xact_id()  -- the transaction that changed this row last: how look() finds it
);
create index horizons_moved on viewgate.horizons (moved);

-- A numbered commit. Its changes are those of (space, part).
create table viewgate.commits (
  space text collate "C",
  sequence bigint,
  stamp bigint not null,                     -- random, never 0: two histories that reuse a number differ in it
  part bigint not null,
  changes bigint not null,
  statements int not null,                   -- how many statements wrote it: with one, its changes need no ordering
  source text not null,                      -- 'capture', 'append' or 'mutation'
  role name not null,                        -- the database role of the writer
  at timestamptz not null,                   -- when the writer's transaction began
  numbered xid8 not null,                    -- the transaction that gave the number: how look() finds spaces that moved
  numbered_at timestamptz not null default clock_timestamp(),  -- when: a commit's age is counted from here
  request_id text,                           -- what the writer calls it: see tag()
  fields text,                               -- free provenance of the writer: JSON object
  principal text,                            -- of a mutation, as the next four: who sent it
  client text collate "C",                   -- from which client
  number bigint,                             -- as which of its requests
  receipt text,                              -- what it was answered, byte by byte
  body text,                                 -- what it asked for, byte by byte; null once it was erased
  body_hash bytea,                           -- sha256 of that; stays
  primary key (space, sequence)
);
create index commits_numbered on viewgate.commits (numbered);
-- A request is processed once. It is also how its receipt is found; a receipt goes with its commit when the log is pruned.
create unique index commits_requests on viewgate.commits (space, client, number) where client is not null;
-- From a record's version to the sequence, where an append gave it: see records.
create index commits_appends on viewgate.commits (space, part) where source = 'append';

-- The spaces with their heads. The newest commit is the head; where all are pruned, the horizon remembers it (what still lies
-- below the horizon says nothing: two who prune delete in no common order). Exact in any snapshot, since
-- commits become visible in the order of their numbers; to go on from it, hold the space's lock and read it in a later statement
-- than the one that took the lock.
create view viewgate.spaces as
  select h.space, h.name, coalesce(c.sequence, h.retained_from - 1) as head, coalesce(c.stamp, h.base_stamp) as head_stamp,
         h.retained_from, h.base_stamp, h.erased_through
  from viewgate.horizons h
  left join lateral (select c.sequence, c.stamp from viewgate.commits c where c.space = h.space and c.sequence >= h.retained_from
                     order by c.sequence desc limit 1) c on true;

-- A change of a record, written in the writer's own transaction, before anybody knows its number.
create table viewgate.changes (
  space text collate "C",
  part bigint,                               -- counter of the first change of its transaction in this space
  counter bigint,                            -- change_counter, drawn when the record was locked by the writer
  kind "char" not null,                      -- c created, u updated, d deleted, m moved to another space, e erased: what
                                             -- happened is not told any more (no CHECK: each statement would parse it
                                             -- again, a tenth of a capture's cost)
  collection text collate "C" not null,
  key text collate "C" not null,             -- JSON array of the primary key's columns
  before text,                               -- null for created and erased
  after text,                                -- null for deleted, moved and erased
  groups text[],                             -- the conflict groups that it moved; null for captured tables and erased
  overtaken boolean,                         -- true: told after a later change of the record: see places. Else null or false
  primary key (space, part, counter)
);

-- Markers: one row per (transaction, space) that is not numbered yet. Found by transaction, so that neither long readers nor long
-- writers make finding them expensive; rows come and go at the rate of the application's commits.
create table viewgate.waiting (
  txid xid8,
  space text collate "C",
  name text not null,
  part bigint not null,
  changes bigint not null,
  last bigint not null,                      -- counter of the last change: the order of numbering
  statements int not null default 1,
  source text not null,
  role name not null,
  at timestamptz not null,
  request_id text,
  fields text,
  principal text,                            -- this and the next four: only in the markers of mutations, which never wait
  client text,
  number bigint,
  receipt text,
  body text,
  primary key (txid, space)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0,
        autovacuum_vacuum_insert_threshold = -1);

-- What looks have found: whatever is visible in `seen` is numbered. Only look() writes here, and it believes no row but those that
-- their own transaction wrote in this very cluster (a dump that is restored elsewhere brings ids that mean nothing there).
create table viewgate.looks (
  numbered xid8 primary key,
  seen pg_snapshot not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_insert_threshold = -1);

-- The captured tables. `capture` is part of every view's version: a table that may have been written unseen gets another one.
create table viewgate.captures (
  relation regclass primary key,
  capture bigint not null,                   -- random; 0 while the capture is broken
  collection text collate "C" not null unique,  -- schema.table, as the changes name it
  space_column text not null,
  key_columns text[] not null,
  shape text not null,                       -- fingerprint of everything that the record's text depends on (shape_of)
  triggers text not null,                    -- fingerprint of the triggers, with the transactions that touched them last
  state text not null check (state in ('ok', 'broken')),
  reason text,                               -- why it is broken
  captured_at timestamptz not null default now()
);

-- Managed collections: the current state of records that mutations and append() write.
create table viewgate.records (
  space text collate "C",
  collection text collate "C",
  key text collate "C",
  value jsonb not null,
  -- Conflict group -> the sequence of the last commit that changed it; below 0: the part of an append, which cannot know its
  -- sequence when it writes.
  versions jsonb not null default '{}',
  primary key (space, collection, key)
);

-- What the parts of appends in `versions` mean whose commits are pruned: see prune_batch. Not in the records themselves, since
-- who prunes must not lock what the application writes.
create table viewgate.pruned_versions (
  space text collate "C",
  collection text collate "C",
  key text collate "C",
  part bigint,
  sequence bigint not null,
  primary key (space, collection, key, part)
);

-- The declared conflict groups: of the model in force. What none of them holds is the group 'record'.
create table viewgate.conflict_groups (
  collection text collate "C",
  name text collate "C",
  place int not null,
  columns text[] not null,
  primary key (collection, name)
);

-- Clients that send mutations, by space. Stays when the log is pruned: a number is never used twice.
create table viewgate.clients (
  space text collate "C",
  client text collate "C",
  principal text not null,                   -- who used the id first; nobody else may
  last bigint not null,                      -- the number of the last processed request
  primary key (space, client)
) with (fillfactor = 70);

-- The model in force: one row.
create table viewgate.model (
  one boolean primary key default true check (one),
  version bigint not null,
  text text not null,
  hash text not null,
  applied_at timestamptz not null default now(),
  applied_by name not null default session_user
);

-- Secrets that seal cursors, shared by all nodes.
create table viewgate.keys (
  id int primary key,
  secret bytea not null,
  created timestamptz not null default now()
);

-- Moves whenever captures or the model change, in commit order (its row is locked until then).
create table viewgate.registry (one boolean primary key default true check (one), mark bigint not null);
insert into viewgate.registry (mark) values (1);

create sequence viewgate.change_counter;

-- Where arm_bell() draws a transaction id; always empty.
create table viewgate.arming (one boolean);

-- The bell: last value 2 = armed (somebody sleeps), 1 = not. A sequence, because its value moves outside transactions.
create sequence viewgate.bell minvalue 1 maxvalue 2 cycle;
select setval('viewgate.bell', 1);

-- ── small helpers ─────────────────────────────────────────────────────────────────────────────────────────────────────────

-- A space's name as a key: long names would not fit into an index, and a write must succeed whatever they are.
create function viewgate.space_key(name text) returns text language sql stable as $$
  select case when octet_length(name) > 200 or starts_with(name, '#')
              then '#' || encode(sha256(convert_to(name, 'UTF8')), 'hex')
              else name end collate "C"
$$;

-- Random, 64 bits, never 0.
create function viewgate.random_mark() returns bigint language sql volatile as $$
  select coalesce(nullif(uuid_hash_extended(gen_random_uuid(), 0), 0), 1)
$$;

-- The role that writes, also seen from inside a SECURITY DEFINER function.
create function viewgate.writer() returns name language sql stable as $$
  select case when current_setting('role') = 'none' then session_user else current_setting('role')::name end
$$;

-- JSON as jsonb prints it, or null where it is not one object of at most so many bytes.
create function viewgate.object_text(json text, bytes_max int) returns text language plpgsql immutable
set search_path = pg_catalog, pg_temp as $$
declare
  printed text;
begin
  printed := json::jsonb::text;
  return case when starts_with(printed, '{') and octet_length(printed) <= bytes_max then printed end;
exception when data_exception or program_limit_exceeded then
  return null;
end $$;

-- How the writer has signed its transaction: see tag(). Any session can set these settings by itself, so what is taken of them
-- is what tag() would have taken, or nothing: `fields` is one JSON object, printed by us, of a bounded size.
create function viewgate.signed_id() returns text language sql stable as $$
  select case when octet_length(current_setting('viewgate.request_id', true)) between 1 and 200
              then current_setting('viewgate.request_id', true) end
$$;
create function viewgate.signed_fields() returns text language sql stable as $$
  select case when octet_length(current_setting('viewgate.fields', true)) between 1 and 4096
              then viewgate.object_text(current_setting('viewgate.fields', true), 4096) end
$$;

-- What is numbered must not be lost in a crash: readers have seen it. In force at COMMIT, hence not a SET clause of a function
-- (that ends with the function). A stronger setting stays. Captured writers keep the application's own choice: a commit that a
-- crash takes away takes its changes and its marker with it, and numbering it (a later commit, flushed) flushes it too.
create function viewgate.is_durable() returns boolean language sql stable as $$
  select current_setting('synchronous_commit') not in ('off', 'local', 'remote_write')
$$;
create function viewgate.force_durable() returns void language plpgsql as $$
begin
  if not viewgate.is_durable() then
    perform set_config('synchronous_commit', 'on', true);
  end if;
end $$;

-- Numbering reads what others have just committed, after waiting for a lock: an older snapshot would not show it.
create function viewgate.is_read_committed() returns boolean language sql stable as $$
  select current_setting('transaction_isolation') = 'read committed'
$$;
create function viewgate.need_read_committed(who text) returns void language plpgsql as $$
begin
  if not viewgate.is_read_committed() then
    raise exception using errcode = 'VG004',
      message = format('viewgate.%s needs READ COMMITTED, and this transaction is %s', who,
                       upper(current_setting('transaction_isolation')));
  end if;
end $$;

-- Wakes who sleeps. NOTIFY takes a lock over the whole database until COMMIT, so only the first writer after a quiet time rings;
-- and PREPARE TRANSACTION refuses after NOTIFY, so where that exists the sleeper sees the bell disarmed when it looks next.
create function viewgate.ring() returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  perform setval('viewgate.bell', 1);
  if current_setting('max_prepared_transactions') = '0' then
    perform pg_notify('viewgate', '');
  end if;
end $$;

-- Arms the bell. A transaction that runs now may have looked at the bell before: they have all ended once a snapshot's xmin has
-- reached the returned xid. Arm, then look, then sleep.
--
-- That xid must be younger than every one given out before the bell was armed. A snapshot's xmax is not (it is the latest
-- *completed* xid + 1), nor is our own, which setval takes before it writes: so a subtransaction draws another one.
create function viewgate.arm_bell() returns xid8 language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare
  own bigint;
  younger bigint;
begin
  perform viewgate.need_read_committed('arm_bell');
  perform set_config('synchronous_commit', 'off', true);  -- in a crash who armed it loses its connection, and arms it again
  perform setval('viewgate.bell', 2);
  begin
    insert into viewgate.arming values (true) returning xmin::text::bigint into younger;
    raise exception using errcode = 'VG000', message = 'the row has served';
  exception when sqlstate 'VG000' then
    own := pg_current_xact_id()::text::bigint;
  end;
  -- xmin has the lower 32 bits.
  return (own + ((younger - own % 4294967296 + 4294967296) % 4294967296))::text::xid8;
end $$;

-- The snapshot in which our own transaction, too, counts as visible, as it will be once it has committed.
create function viewgate.with_own(snapshot pg_snapshot) returns pg_snapshot language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare
  own constant bigint := pg_current_xact_id()::text::bigint;
  limit_ constant bigint := pg_snapshot_xmax(snapshot)::text::bigint;
  running bigint[];
begin
  -- Ids from xmax on are all unseen, ours among them. Name those below ours one by one, unless there are many (a transaction with
  -- thousands of savepoints): then our own moves are told once more, which does no harm.
  if own < limit_ or own - limit_ > 1000 then return snapshot; end if;
  running := array(select x::text::bigint from pg_snapshot_xip(snapshot) x) || array(select generate_series(limit_, own - 1));
  return format('%s:%s:%s', coalesce(running[1], own + 1), own + 1, array_to_string(running, ','))::pg_snapshot;
end $$;

-- ── the log is append-only ────────────────────────────────────────────────────────────────────────────────────────────────

-- For everybody, the owner included. prune_batch deletes what no reader may ask for any more, erase_record empties values; the
-- setting by which they are known opens nothing else, see the triggers below it.
create function viewgate.refuse_rewriting() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  if TG_OP = 'DELETE' and current_setting('viewgate.rewriting', true) = 'prune'
     or TG_OP = 'UPDATE' and current_setting('viewgate.rewriting', true) = 'erase' then
    return null;
  end if;
  raise exception using errcode = 'VG005',
    message = format('%s on viewgate.%s: the log is append-only (viewgate.prune and prune_batch shorten it, erase_record empties it)',
                     TG_OP, TG_TABLE_NAME);
end $$;

-- Whoever prunes: a commit that is still readable stays.
create function viewgate.refuse_pruning_readable() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  if exists (select from gone g join viewgate.horizons h on h.space = g.space where g.sequence >= h.retained_from) then
    raise exception using errcode = 'VG005', message = 'DELETE on viewgate.commits: the log is append-only down to retained_from';
  end if;
  return null;
end $$;

-- … and so do its changes, and those that have no number yet: whatever goes is of a commit below the horizon. The setting
-- viewgate.pruning_through only says how far to look for it.
create function viewgate.refuse_deleting_readable() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare
  through constant bigint := coalesce(nullif(current_setting('viewgate.pruning_through', true), '')::bigint, 9223372036854775807);
  touched record;
begin
  for touched in select g.space, min(h.retained_from) as retained_from
                 from (select distinct d.space from gone d) g left join viewgate.horizons h on h.space = g.space group by g.space
  loop
    if exists (select g.part from gone g where g.space = touched.space
               except
               select c.part from viewgate.commits c
               where c.space = touched.space and c.sequence < touched.retained_from and c.sequence <= through) then
      raise exception using errcode = 'VG005', message = 'DELETE on viewgate.changes: the log is append-only down to retained_from';
    end if;
  end loop;
  return null;
end $$;

-- Whoever erases: a change loses its values and nothing else.
create function viewgate.refuse_changing_values() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  if exists (select from told t where t.kind <> 'e' or t.before is not null or t.after is not null)
     or exists (select from held h where not exists (
                  select from told t where (t.space, t.part, t.counter, t.collection, t.key)
                                         = (h.space, h.part, h.counter, h.collection, h.key)
                                       and t.overtaken is not distinct from h.overtaken)) then
    raise exception using errcode = 'VG005', message = 'UPDATE on viewgate.changes: the log is append-only but for erasing values';
  end if;
  return null;
end $$;

-- … and a commit what was asked for, and what its writer said of it.
create function viewgate.refuse_changing_commits() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  if exists (select from held h where not exists (select from told t where (t.space, t.sequence) = (h.space, h.sequence)
                                                    and (t.fields is null or t.fields is not distinct from h.fields)
                                                    and to_jsonb(t) = to_jsonb(h) || jsonb_build_object('body', null, 'fields', t.fields))) then
    raise exception using errcode = 'VG005', message = 'UPDATE on viewgate.commits: the log is append-only but for erasing values';
  end if;
  return null;
end $$;

create trigger append_only before update or delete or truncate on viewgate.commits
  for each statement execute function viewgate.refuse_rewriting();
create trigger append_only before update or delete or truncate on viewgate.changes
  for each statement execute function viewgate.refuse_rewriting();
create trigger only_pruned after delete on viewgate.commits referencing old table as gone
  for each statement execute function viewgate.refuse_pruning_readable();
create trigger only_pruned after delete on viewgate.changes referencing old table as gone
  for each statement execute function viewgate.refuse_deleting_readable();
create trigger only_erased after update on viewgate.commits referencing old table as held new table as told
  for each statement execute function viewgate.refuse_changing_commits();
create trigger only_erased after update on viewgate.changes referencing old table as held new table as told
  for each statement execute function viewgate.refuse_changing_values();
alter table viewgate.commits enable always trigger append_only;
alter table viewgate.commits enable always trigger only_pruned;
alter table viewgate.commits enable always trigger only_erased;
alter table viewgate.changes enable always trigger append_only;
alter table viewgate.changes enable always trigger only_pruned;
alter table viewgate.changes enable always trigger only_erased;

create function viewgate.move_registry() returns trigger language plpgsql security definer
  set search_path = pg_catalog, pg_temp as $$
begin
  update viewgate.registry set mark = mark + 1;
  return null;
end $$;
create trigger registry after insert or update or delete or truncate on viewgate.captures
  for each statement execute function viewgate.move_registry();
create trigger registry after insert or update or delete or truncate on viewgate.model
  for each statement execute function viewgate.move_registry();
alter table viewgate.captures enable always trigger registry;
alter table viewgate.model enable always trigger registry;

-- ── numbering ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

-- The only place that consumes sequences. The caller holds the locks of the markers' spaces, since an earlier statement (else the
-- primary key refuses: no number is given twice); markers of one space are numbered in the order given. `promised`: the sequences
-- that their receipts tell already (null: none do); what would get another one is left out. Returns how many were appended.
create function viewgate.append_commit(markers viewgate.waiting[], promised bigint[] default null) returns bigint language plpgsql as $$
declare
  appended bigint;
  one viewgate.waiting;
begin
  if cardinality(markers) = 1 then
    one := markers[1];
    insert into viewgate.commits (space, sequence, stamp, part, changes, statements, source, role, at, numbered,
                                  request_id, fields, principal, client, number, receipt, body, body_hash)
    select one.space, s.head + 1, viewgate.random_mark(), one.part, one.changes, one.statements, one.source, one.role, one.at,
           pg_current_xact_id(), one.request_id, one.fields, one.principal, one.client, one.number, one.receipt, one.body,
           sha256(convert_to(one.body, 'UTF8'))
    from viewgate.spaces s where s.space = one.space and (promised is null or promised[1] = s.head + 1);
    get diagnostics appended = row_count;
    if appended = 0 and promised is null then
      raise exception using errcode = 'VG001', message = format('viewgate.append_commit: there is no space %s', one.space);
    end if;
    return appended;
  end if;
  -- A space's head is read once, with its first marker; without the space there is none, and the sequence would be null.
  insert into viewgate.commits (space, sequence, stamp, part, changes, statements, source, role, at, numbered,
                                request_id, fields, principal, client, number, receipt, body, body_hash)
  select n.space, n.sequence, viewgate.random_mark(), n.part, n.changes, n.statements, n.source, n.role, n.at, pg_current_xact_id(),
         n.request_id, n.fields, n.principal, n.client, n.number, n.receipt, n.body, sha256(convert_to(n.body, 'UTF8'))
  from (select m.*, max(m.head) over (partition by m.space) + m.nth_in_space as sequence
        from (select g.*, case when g.nth_in_space = 1 then (select s.head from viewgate.spaces s where s.space = g.space) end as head
              from (select u.*, row_number() over (partition by u.space order by u.nth) as nth_in_space
                    from unnest(markers) with ordinality
                         u(txid, space, name, part, changes, last, statements, source, role, at,
                           request_id, fields, principal, client, number, receipt, body, nth)) g) m) n
  where promised is null or promised[n.nth] = n.sequence;
  get diagnostics appended = row_count;
  return appended;
end $$;

-- Whoever makes a space's row takes this advisory lock first: another who would make it can then pass by, as with SKIP LOCKED.
create function viewgate.creation_lock(space text) returns bigint language sql immutable as $$
  select hashtextextended(space collate "C", 8532188541)
$$;

-- Locks a space against numbering until the end of the transaction; makes it where it does not exist. Writers do not notice.
-- Returns retained_from, which moves only under this lock.
--
-- A snapshot exactly at W, where something waits (else see settled_head), needs two connections:
--   L: begin isolation level read committed; select viewgate.lock_space(S);
--   R: begin isolation level repeatable read read only; lock table … in access share mode; select pg_current_snapshot();
--   L: select * from viewgate.number(S, that snapshot); commit;      -- W = the returned head
--   R: reads the tables: their state is exactly that after commit W.
create function viewgate.lock_space(space text) returns bigint language plpgsql as $$
#variable_conflict use_column
declare
  wanted text collate "C" := viewgate.space_key($1);
  retained bigint;
begin
  -- Asked first: to call what finds nothing to do costs as much as the lock.
  if not viewgate.is_read_committed() then perform viewgate.need_read_committed('lock_space'); end if;
  if not viewgate.is_durable() then perform viewgate.force_durable(); end if;
  select h.retained_from into retained from viewgate.horizons h where h.space = wanted for no key update;
  if not found then
    perform pg_advisory_xact_lock(viewgate.creation_lock(wanted));
    insert into viewgate.horizons (space, name) values (wanted, $1) on conflict do nothing;
    select h.retained_from into retained from viewgate.horizons h where h.space = wanted for no key update;
  end if;
  return retained;
end $$;

-- The newest of what looks have found; null = nothing is known, everything must be read.
create function viewgate.last_look() returns viewgate.looks language plpgsql as $$
declare
  newest viewgate.looks;
begin
  select l.* into newest from viewgate.looks l
    where l.numbered < pg_snapshot_xmax(pg_current_snapshot())
      and l.xmin::text::bigint = l.numbered::text::bigint % 4294967296
    order by l.numbered desc limit 1;
  return newest;
end $$;

-- What waits in a space, where all that is visible in `numbered` (what last_look() has seen) is numbered: found as look() finds it. One
-- plain query, so that it becomes a part of each that calls it.
create function viewgate.waiting_in(space text, numbered pg_snapshot) returns setof viewgate.waiting language sql stable as $$
  select w.* from viewgate.waiting w
    where w.txid >= coalesce(pg_snapshot_xmax(numbered), '0') and w.space = waiting_in.space collate "C"
  union all
  select w.* from viewgate.waiting w
    where w.txid = any(array(select pg_snapshot_xip(numbered))) and w.space = waiting_in.space collate "C"
$$;

-- Numbers a space's waiting transactions: all that are visible, or only those visible in `snapshot`.
create function viewgate.number(space text, snapshot pg_snapshot default null)
returns table (head bigint, stamp bigint) language plpgsql
set search_path = pg_catalog, pg_temp set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  wanted text collate "C" := viewgate.space_key($1);
  looked pg_snapshot;
  markers viewgate.waiting[];
begin
  perform viewgate.lock_space($1);
  looked := (viewgate.last_look()).seen;
  -- A statement of its own: it sees what was committed while we waited for the lock.
  with gone as (
    delete from viewgate.waiting w
    where w.space = wanted and w.txid = any(array(select i.txid from viewgate.waiting_in(wanted, looked) i
                                                  where $2 is null or pg_visible_in_snapshot(i.txid, $2)))
    returning w.*
  )
  select array_agg(g::viewgate.waiting order by g.last) into markers from gone g;
  if markers is not null then
    perform viewgate.append_commit(markers);
  end if;
  return query select s.head, s.head_stamp from viewgate.spaces s where s.space = wanted;
end $$;

-- The head of a space where nothing of it waits for a number in the caller's snapshot, which then shows exactly the state after that
-- commit: a captured write and its marker are visible together, and the marker goes in the transaction that gives the number. No row
-- where something waits, nor on a standby, whose head may be an old one. Only for a transaction in REPEATABLE READ that has locked what it
-- will read (elsewhere last_look() would see more than the statement does); writes nothing and waits for nobody.
create function viewgate.settled_head(space text) returns table (head bigint, stamp bigint) language plpgsql stable
set search_path = pg_catalog, pg_temp set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  wanted text collate "C" := viewgate.space_key($1);
  looked pg_snapshot := (viewgate.last_look()).seen;
begin
  if pg_is_in_recovery() then return; end if;
  if exists (select from viewgate.waiting_in(wanted, looked)) then return; end if;
  return query select coalesce(s.head, 0), coalesce(s.head_stamp, 0)  -- one that is not there has no commit
    from (select) one left join viewgate.spaces s on s.space = wanted;
end $$;

-- The spaces that moved since `previous`, in the shape of look()'s rows. Ids beyond our own snapshot are another cluster's.
create function viewgate.moves(previous pg_snapshot)
returns table (space text, name text, head bigint, stamp bigint, retained_from bigint, erased_through bigint,
               snapshot pg_snapshot, numbered bigint, skipped boolean, bell bigint, mark bigint)
language sql stable as $$
  with since as (
    select pg_snapshot_xmax(previous) as youngest, array(select pg_snapshot_xip(previous)) as running,
           greatest(pg_snapshot_xmax(pg_current_snapshot()), pg_current_xact_id_if_assigned()) as latest
  ), moved as (
    select c.space from since, viewgate.commits c where c.numbered >= since.youngest and c.numbered <= since.latest
    union
    select c.space from since, viewgate.commits c where c.numbered = any(since.running)
    union
    select h.space from since, viewgate.horizons h where h.moved >= since.youngest and h.moved <= since.latest
    union
    select h.space from since, viewgate.horizons h where h.moved = any(since.running)
  )
  select s.space::text, s.name, s.head, s.head_stamp, s.retained_from, s.erased_through,
         null::pg_snapshot, null::bigint, null::boolean, null::bigint, null::bigint
  from moved m join viewgate.spaces s on s.space = m.space
$$;

-- One look for all spaces: numbers what waits and says which spaces moved since `previous`, the snapshot that the last look
-- returned. Null = the first look: reports only the summary.
--
-- Rows with a space: it moved. Then exactly one summary row (space null): `snapshot` to pass next time, how many commits were
-- `numbered`, whether some work was `skipped` (a space's lock was taken, or there was too much: look again soon), the `bell`'s value
-- (2 = armed) and the registry's `mark`. The rows are true once the transaction has committed: read them after the end of the
-- command.
--
-- How it finds what is new: what is visible in the last look's snapshot was numbered then. So whatever is new carries a transaction
-- that this snapshot does not show: its id was running then, or is at least its xmax. That rule is exact: neither long readers nor
-- long writers widen it. Moves are found by the same rule from the caller's own `previous`.
create function viewgate.look(previous pg_snapshot default null)
returns table (space text, name text, head bigint, stamp bigint, retained_from bigint, erased_through bigint,
               snapshot pg_snapshot, numbered bigint, skipped boolean, bell bigint, mark bigint)
language plpgsql set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  batch_max constant int := 50000;
  spaces_max constant int := 1000;  -- each costs a lock, and a transaction may have written into any number of them
  has_written constant boolean := pg_current_xact_id_if_assigned() is not null;
  last viewgate.looks;
  youngest xid8;
  running xid8[];
  seen pg_snapshot;
  told pg_snapshot;
  wanted text[];
  named text[];                     -- what those spaces are called
  locked text[];
  held jsonb;                       -- the same as a set: an array would be walked for every marker
  markers viewgate.waiting[];
  done bigint := 0;
  left_over boolean := false;
begin
  perform viewgate.need_read_committed('look');
  last := viewgate.last_look();
  youngest := coalesce(pg_snapshot_xmax(last.seen), '0');
  running := array(select pg_snapshot_xip(last.seen));
  -- The snapshot and what waits in it, in one statement: what it shows and is not wanted here does not wait.
  select pg_current_snapshot(), coalesce(array_agg(u.space order by u.space), '{}'),
         coalesce(array_agg(u.name order by u.space), '{}')
    into seen, wanted, named
    from (select distinct on (w.space) w.space, w.name
          from (select w.space, w.name from viewgate.waiting w where w.txid >= youngest
                union all
                select w.space, w.name from viewgate.waiting w where w.txid = any(running)) w
          order by w.space limit spaces_max) u;
  told := seen;
  if cardinality(wanted) > 0 then
    perform viewgate.force_durable();
    told := viewgate.with_own(seen);
    if exists (select from unnest(wanted) x where not exists (select from viewgate.horizons h where h.space = x)) then
      insert into viewgate.horizons (space, name)
        select x.space, x.name
        from (select u.* from unnest(wanted, named) u(space, name)
              where not exists (select from viewgate.horizons h where h.space = u.space) offset 0) x
        where pg_try_advisory_xact_lock(viewgate.creation_lock(x.space))
        order by x.space
        on conflict do nothing;
    end if;
    locked := array(select h.space from viewgate.horizons h where h.space = any(wanted) order by h.space
                    for no key update skip locked);
    left_over := cardinality(locked) < cardinality(wanted) or cardinality(wanted) = spaces_max;
    held := jsonb_object(locked, locked);
    -- A statement of its own, after the locks: it sees what their last holders did.
    with picked as (
      select w.ctid from (select w.ctid, w.space, w.last from viewgate.waiting w where w.txid >= youngest
                          union all
                          select w.ctid, w.space, w.last from viewgate.waiting w where w.txid = any(running)) w
      where held ? w.space
      order by w.last limit batch_max
    ), gone as (
      delete from viewgate.waiting w where w.ctid = any(array(select p.ctid from picked p)) returning w.*
    )
    select array_agg(g::viewgate.waiting order by g.last) into markers from gone g;
    if markers is not null then
      done := viewgate.append_commit(markers);
      left_over := left_over or done = batch_max;
    end if;
    -- A transaction that wrote before it looked may write again after it: what it shows as visible is then not all numbered.
    if not left_over and not has_written then
      insert into viewgate.looks (numbered, seen) values (pg_current_xact_id(), seen);
      -- Only the newest counts. The others go now and then: where a long reader keeps the dead ones, each deletion passes them all.
      if random() < 0.01 then
        delete from viewgate.looks l
        where l.ctid = any(array(select o.ctid from viewgate.looks o where o.numbered < last.numbered for update skip locked));
      end if;
    end if;
  end if;
  if previous is not null then
    return query select m.* from viewgate.moves(previous) m;
  end if;
  return query
    select null::text, null::text, null::bigint, null::bigint, null::bigint, null::bigint,
           told, done, left_over, pg_sequence_last_value('viewgate.bell'::regclass), r.mark
    from viewgate.registry r;
end $$;

-- ── reading ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

create function viewgate.watermark(space text) returns bigint language sql stable as $$
  select coalesce((select s.head from viewgate.spaces s where s.space = viewgate.space_key($1)), 0)
$$;

create function viewgate.retained_from(space text) returns bigint language sql stable as $$
  select coalesce((select h.retained_from from viewgate.horizons h where h.space = viewgate.space_key($1)), 1)
$$;

-- The stamp at a sequence: 0 at 0, kept for the last pruned commit, null where the ledger does not know that sequence (any more).
create function viewgate.position_stamp(space text, sequence bigint) returns bigint language sql stable as $$
  select case when $2 = 0 then 0 else coalesce(
    (select c.stamp from viewgate.commits c
     where c.space = viewgate.space_key($1) and c.sequence = $2 and c.sequence >= viewgate.retained_from($1)),
    (select h.base_stamp from viewgate.horizons h where h.space = viewgate.space_key($1) and h.retained_from - 1 = $2)) end
$$;

-- The places of a part's changes whose order of counters is not the order in which the record changed. That happens when
-- statements nest: a trigger (or a function in a query) of the application changes a row again before the outer statement's
-- own trigger has told us the first change; or MERGE deletes and inserts under one key. Each change leads from a state to a
-- state, and one walk uses them all (Hierholzer): the counters of such a key are dealt out again in the order of that walk.
-- A walk that ends where it began may begin anywhere, so its end must be known: it is what the last change made that was not
-- overtaken when it was told. For the last one of all was not, and whatever is told after it is, unless it made the same.
create function viewgate.places(of_space text, of_part bigint) returns table (counter bigint, place bigint)
language plpgsql stable strict set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  broken record;
  edges int;
  used boolean[];
  at_state text[];      -- the walk's stack: states …
  by_edge int[];        -- … and the edges that led there (0 for the first)
  backwards int[];
  here text;
  edge int;
begin
  for broken in
    select k.collection, k.key, array_agg(k.counter order by k.counter) as counters,
           array_agg(coalesce(k.before, '') order by k.counter) as froms, array_agg(coalesce(k.after, '') order by k.counter) as tos,
           (array_agg(coalesce(k.after, '') order by k.counter desc) filter (where k.overtaken is not true))[1] as last
    from (select h.collection, h.key from
            (select c.collection, c.key, c.before, c.overtaken, row_number() over w as nth, lag(c.after) over w as state
             from viewgate.changes c where c.space = of_space and c.part = of_part
             window w as (partition by c.collection, c.key order by c.counter)) h
          where h.nth > 1 and (h.before is distinct from h.state or h.overtaken) group by h.collection, h.key) b
    join viewgate.changes k on k.space = of_space and k.part = of_part and k.collection = b.collection and k.key = b.key
    group by k.collection, k.key
  loop
    edges := cardinality(broken.counters);
    used := array_fill(false, array[edges]);
    -- The walk starts where more changes lead away than lead to; a closed one where it ends.
    select s.state into here from (select unnest(broken.froms) as state, 1 as n union all select unnest(broken.tos), -1) s
      group by s.state having sum(s.n) > 0 limit 1;
    at_state := array[coalesce(here, broken.last, broken.froms[1])];
    by_edge := array[0];
    backwards := '{}';
    while cardinality(at_state) > 0 loop
      here := at_state[cardinality(at_state)];
      select e.nth into edge from unnest(broken.froms, used) with ordinality e(state, done, nth)
        where e.state = here and not e.done order by e.nth limit 1;
      if found then
        used[edge] := true;
        at_state := at_state || broken.tos[edge];
        by_edge := by_edge || edge;
      else
        edge := by_edge[cardinality(by_edge)];
        if edge > 0 then backwards := backwards || edge; end if;
        at_state := at_state[: cardinality(at_state) - 1];
        by_edge := by_edge[: cardinality(by_edge) - 1];
      end if;
    end loop;
    -- No such walk (the table was altered in between): the counters stand.
    if cardinality(backwards) = edges then
      return query select broken.counters[b.e], broken.counters[edges + 1 - b.nth]
                   from unnest(backwards) with ordinality b(e, nth);
    end if;
  end loop;
end $$;

-- The log of several spaces, each after its own sequence: whole commits in order, as many per space as fit `max_changes` (a commit
-- without changes counts as one; the first one always comes). Rows come ordered: by space as given, sequence, and inside a commit
-- by ordinal (0..n-1), or by (collection, key, ordinal) where it has more than 500 changes, or more than `part_bytes` of text
-- (null: no such limit). A commit without changes gives one row with ordinal -1; so does, before its changes, one that a client or
-- a tag has signed: only that row has the columns from request_id to body. `stamps`: of `afters`; where the ledger has another one,
-- the space gives no row (null: not asked). `large` (null: there is none such): a commit of more changes, or of several that have
-- more than sixteen times `part_bytes` of text, is only told, by one row with ordinal -2: who reads many spaces has it read apart,
-- and takes nothing of the space that follows it. One plain statement that PostgreSQL inlines: rows stream, a commit of a million
-- changes is never held whole. Missing sequences mean that the log was pruned there: compare with retained_from.
create function viewgate.read_log(spaces text[], afters bigint[], max_changes int, stamps bigint[] default null,
                                  part_bytes bigint default null, with_requests boolean default true, large int default null)
returns table (space text, sequence bigint, stamp bigint, source text, role text, at text, changes bigint,
               ordinal bigint, kind "char", collection text, key text, before text, after text, groups text[],
               request_id text, fields text, principal text, client text, number bigint, receipt text, body text, by_key boolean)
language sql stable as $$
  select s.name, c.sequence, c.stamp, c.source, c.role::text,
         to_char(c.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), c.changes,
         coalesce(d.ordinal, -1), d.kind, d.collection, d.key, d.before, d.after, d.groups,
         d.request_id, d.fields, d.principal, d.client, d.number, d.receipt, d.body, c.by_key
  from unnest(spaces, afters, stamps) with ordinality s(name, after, stamp, nth)
  cross join lateral (
    select b.*,
           b.changes > 500 or coalesce(z.bytes > part_bytes, false) as by_key,
           coalesce(b.changes > large or large is not null and z.bytes > 16 * part_bytes, false) as is_large
    from (
      select c.*, sum(greatest(c.changes, 1)) over (order by c.sequence) as total
      from (select c.* from viewgate.commits c
            where c.space = viewgate.space_key(s.name) and c.sequence > s.after
              and (s.stamp is null or s.stamp = coalesce(
                    (select k.stamp from viewgate.commits k where k.space = viewgate.space_key(s.name) and k.sequence = s.after),
                    (select h.base_stamp from viewgate.horizons h
                     where h.space = viewgate.space_key(s.name) and h.retained_from - 1 = s.after), s.stamp))
            order by c.sequence limit max_changes) c) b
    left join lateral (
      select sum(coalesce(octet_length(h.before), 0) + coalesce(octet_length(h.after), 0)) as bytes from viewgate.changes h
      where h.space = b.space and h.part = b.part
        and b.changes > 1 and (b.changes <= 500 or b.changes <= large)) z on true  -- whose size makes a difference
    where b.total <= max_changes or b.total = greatest(b.changes, 1)
    order by b.sequence offset 0) c
  left join lateral (
    (select case when c.is_large then -2 else -1 end::bigint as ordinal, null::"char" as kind, null::text as collection, null::text as key, null::text as before,
            null::text as after, null::text[] as groups,
            c.request_id, c.fields, c.principal, c.client::text, c.number, c.receipt, case when with_requests then c.body end as body
     where c.is_large or c.client is not null or c.request_id is not null or c.fields is not null)
    union all
    -- Nearly every commit: written by one statement, read in the order of the index.
    (select row_number() over (order by h.counter) - 1, h.kind, h.collection, h.key, h.before, h.after, h.groups,
            null, null, null, null, null, null, null
     from viewgate.changes h
     where h.space = c.space and h.part = c.part and c.statements = 1 and not c.by_key and not c.is_large
     order by h.counter)
    union all
    (select o.*, null, null, null, null, null, null, null from (
       select row_number() over (order by h.counter) - 1 as ordinal, h.kind, h.collection, h.key, h.before, h.after, h.groups
       from viewgate.changes h
       where h.space = c.space and h.part = c.part and c.statements = 1 and c.by_key and not c.is_large) o
     order by o.collection, o.key, o.ordinal)
    union all
    (select o.*, null, null, null, null, null, null, null from (
       select row_number() over (order by coalesce(p.place, h.counter)) - 1 as ordinal,
              h.kind, h.collection, h.key, h.before, h.after, h.groups
       from viewgate.changes h left join viewgate.places(c.space, c.part) p on p.counter = h.counter
       where h.space = c.space and h.part = c.part and c.statements > 1 and not c.is_large) o
     order by case when c.by_key then o.collection end, case when c.by_key then o.key end, o.ordinal)
  ) d on true
$$;

-- The receipts of a client with numbers above `after` that are still readable, in order: at most `count_max`, and not more than
-- `bytes_max` of text but for the first one. `last`: the client's last number, also in a row without receipt where there is none.
-- No row: nobody has used the client id in this space, or another principal has, which is answered alike.
create function viewgate.receipts(space text, client text, principal text, after bigint, count_max int, bytes_max bigint)
returns table (last bigint, number bigint, sequence bigint, receipt text) language sql stable as $$
  select l.last, k.number, k.sequence, k.receipt
  from viewgate.clients l
  left join lateral (
    select n.*, sum(octet_length(n.receipt)) over (order by n.number) as bytes
    from (select c.number, c.sequence, c.receipt from viewgate.commits c
          where c.space = l.space and c.client = l.client and c.number > $4 and c.sequence >= viewgate.retained_from($1)
          order by c.number limit $5) n) k
    on k.bytes <= $6 or k.bytes = octet_length(k.receipt)
  where l.space = viewgate.space_key($1) and l.client = $2 and l.principal = $3
  order by k.number
$$;

-- ── retention ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

-- How long commits stay readable. The rule of a space counts alone; '#default' (no space has such a key) is for all without one.
-- A commit goes as soon as one limit is passed; no limit = kept for ever, as is everything without a rule.
create table viewgate.retention (
  space text collate "C" primary key,
  name text,                                 -- null: the default
  commits bigint check (commits >= 0),       -- how many are kept
  age interval check (age >= '0'),           -- for how long, since they were numbered
  set_at timestamptz not null default now(),
  set_by name not null default session_user
);

-- `space` null = the default.
create function viewgate.set_retention(space text, commits bigint, age interval) returns void language sql
set search_path = pg_catalog, pg_temp as $$
  insert into viewgate.retention (space, name, commits, age)
  values (coalesce(viewgate.space_key($1), '#default'), $1, $2, $3)
  on conflict on constraint retention_pkey do update
    set commits = excluded.commits, age = excluded.age, set_at = now(), set_by = session_user
$$;

-- The space follows the default again; without a default, everything is kept. False: it had no rule.
create function viewgate.clear_retention(space text) returns boolean language sql
set search_path = pg_catalog, pg_temp as $$
  with gone as (delete from viewgate.retention r where r.space = coalesce(viewgate.space_key($1), '#default') returning 1)
  select exists (select from gone)
$$;

-- The first commit that stays where these limits hold (null = no limit): what prune_before is to be given.
--
-- Age counts from when a commit was numbered, never from its writer's own clock: a transaction may have been open for longer
-- than everything is kept. The walk begins at the oldest commit and ends at the first one that is young enough, so a clock that
-- was set back keeps more than asked for, and never less.
create function viewgate.first_kept(space_key text, commits bigint, age interval) returns bigint
language plpgsql stable
set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  s record;
  kept bigint;
  oldest timestamptz;
begin
  select x.head, x.retained_from into s from viewgate.spaces x where x.space = $1;
  kept := greatest(s.retained_from, s.head - $2 + 1);
  if age is not null then
    oldest := clock_timestamp() - age;
    kept := coalesce((select c.sequence from viewgate.commits c
                      where c.space = $1 and c.sequence >= kept and c.numbered_at > oldest order by c.sequence limit 1),
                     greatest(kept, s.head + 1));
  end if;
  return kept;
end $$;

-- Up to `batch` spaces after `after` (a key) where something is to be done: their rules let commits go, or commits that lie
-- below the horizon are still there. `kept`: the first commit that stays.
create function viewgate.prunable(after text, batch int) returns table (space text, name text, kept bigint)
language sql stable
set search_path = pg_catalog, pg_temp as $$
  select h.space, h.name, f.kept
  from viewgate.horizons h
  left join lateral (select r.* from viewgate.retention r where r.space in (h.space, '#default')
                     order by r.space = '#default' limit 1) r on true
  cross join lateral (select case when r.commits is null and r.age is null then h.retained_from
                                  else viewgate.first_kept(h.space, r.commits, r.age) end as kept) f
  where h.space > after
    and (f.kept > h.retained_from
         or exists (select from viewgate.commits c where c.space = h.space and c.sequence < h.retained_from))
  order by h.space limit batch
$$;

-- Whose session holds this advisory lock prunes: one node at a time.
create function viewgate.pruner_lock() returns bigint language sql immutable as $$ select 8532188541131617382 $$;

-- Raises the horizon: commits below `kept` are not readable any more. Returns retained_from. Deletes nothing: a reader that
-- sees a commit gone must see the raised horizon too, so prune_batch deletes in later transactions. Nothing is renumbered, also
-- where no commit stays.
create function viewgate.prune_before(space text, kept bigint) returns bigint language plpgsql
set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  wanted text collate "C" := viewgate.space_key($1);
  horizon bigint;
begin
  perform viewgate.lock_space($1);
  -- A statement of its own, after the lock: it sees the head.
  update viewgate.horizons h
  set retained_from = n.kept,
      base_stamp = (select c.stamp from viewgate.commits c where c.space = wanted and c.sequence = n.kept - 1),
      moved = pg_current_xact_id()
  from (select least($2, s.head + 1) as kept from viewgate.spaces s where s.space = wanted) n
  where h.space = wanted and n.kept > h.retained_from;
  select h.retained_from into horizon from viewgate.horizons h where h.space = wanted;
  return horizon;
end $$;

-- The same by count: keeps the newest `keep` commits readable.
create function viewgate.prune(space text, keep bigint) returns bigint language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  if keep < 0 then
    raise exception 'viewgate.prune: keep is a number of commits, not %', keep;
  end if;
  perform viewgate.lock_space($1);
  return viewgate.prune_before($1, viewgate.watermark($1) - keep + 1);
end $$;

-- Before changes of managed records go: what the records' versions mean is kept, of those whose commits are about to go; and what
-- was kept and is not in any version any more goes.
create function viewgate.keep_versions(space_key text, changes tid[]) returns void language plpgsql
set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
begin
  with touched as materialized (
    select distinct h.collection, h.key from viewgate.changes h where h.ctid = any($2) and position('.' in h.collection) = 0
  ), referred as materialized (
    select t.collection, t.key, array_agg(-v.value::bigint) filter (where v.value::bigint < 0) as parts
    from touched t
    left join lateral (select r.versions from viewgate.records r
                       where r.space = $1 and r.collection = t.collection and r.key = t.key offset 0) r on true
    left join lateral jsonb_each_text(r.versions) v on true
    group by t.collection, t.key
  ), gone as (
    delete from viewgate.pruned_versions p using referred r
    where p.space = $1 and p.collection = r.collection and p.key = r.key and (p.part = any(r.parts)) is not true
  )
  insert into viewgate.pruned_versions (space, collection, key, part, sequence)
  select $1, r.collection, r.key, c.part, c.sequence
  from referred r cross join lateral (select distinct x as part from unnest(r.parts) x) x
  cross join lateral (select c.part, c.sequence from viewgate.commits c
                      where c.space = $1 and c.part = x.part and c.source = 'append' offset 0) c
  where c.sequence < (select h.retained_from from viewgate.horizons h where h.space = $1)
  on conflict do nothing;
end $$;

-- Deletes up to `batch` commits below the horizon, oldest first; returns how many (of a very large one a piece at a time), 0 =
-- nothing is left to delete.
create function viewgate.prune_batch(space text, batch int) returns bigint language plpgsql
set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  changes_max constant int := 50000;  -- in one transaction: it holds no lock that anybody waits for, but its end is waited for
  wanted text collate "C" := viewgate.space_key($1);
  old record;
  going tid[];
  deleted bigint;
begin
  perform viewgate.need_read_committed('prune_batch');
  perform viewgate.force_durable();
  if exists (select from viewgate.horizons h where h.space = wanted and h.moved = pg_current_xact_id()) then
    raise exception 'viewgate.prune_batch: the horizon was raised in this transaction, and commits go in a later one';
  end if;
  select array_agg(x.sequence) filter (where x.total <= changes_max) as sequences,
         array_agg(x.part) filter (where x.total <= changes_max) as parts,
         min(x.sequence) as first, max(x.sequence) as last, (array_agg(x.part order by x.sequence))[1] as first_part
    into old
    from (select c.sequence, c.part, sum(c.changes) over (order by c.sequence) as total
          from (select o.sequence, o.part, o.changes from viewgate.commits o
                where o.space = wanted
                  and o.sequence < (select h.retained_from from viewgate.horizons h where h.space = wanted)
                order by o.sequence limit batch for update skip locked) c) x;
  if old.first is null then return 0; end if;
  perform set_config('viewgate.rewriting', 'prune', true), set_config('viewgate.pruning_through', old.last::text, true);
  if old.sequences is null then
    going := array(select k.ctid from viewgate.changes k where k.space = wanted and k.part = old.first_part limit changes_max);
    perform viewgate.keep_versions(wanted, going);
    delete from viewgate.changes h where h.ctid = any(going);
    get diagnostics deleted = row_count;
    if deleted < changes_max then
      delete from viewgate.commits c where c.space = wanted and c.sequence = old.first;
    end if;
  else
    going := array(select h.ctid from viewgate.changes h where h.space = wanted and h.part = any(old.parts));
    perform viewgate.keep_versions(wanted, going);
    delete from viewgate.changes h where h.space = wanted and h.part = any(old.parts);
    delete from viewgate.commits c where c.space = wanted and c.sequence = any(old.sequences);
  end if;
  perform set_config('viewgate.rewriting', '', true), set_config('viewgate.pruning_through', '', true);
  return greatest(1, coalesce(cardinality(old.sequences), 0));
end $$;

-- ── erasure ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

-- Whether a captured table still has the record with this key (a JSON array as text). What jsonb holds as a text or a number is cast
-- back to the column's type, so that the table's index is used; an array or a composite has no such text, and is compared as jsonb,
-- printed under a capture's settings.
create function viewgate.is_in_table(collection text, key text) returns boolean language plpgsql stable
set search_path = pg_catalog, pg_temp set "TimeZone" = 'UTC' set "DateStyle" = 'ISO, YMD' set "IntervalStyle" = 'postgres'
set extra_float_digits = 1 set bytea_output = 'hex' set lc_monetary = 'C' set quote_all_identifiers = off as $$
declare
  c viewgate.captures;
  found_one boolean;
begin
  select k.* into c from viewgate.captures k where k.collection = $1;
  if c.relation is null then return false; end if;
  execute format('select exists (select from %s r where %s)', c.relation,
                 (select string_agg(format(case when jsonb_typeof(key::jsonb -> (k.nth - 1)::int) in ('array', 'object')
                                                  or t.typoutput = 'jsonb_out'::regproc  -- a domain's is that of its base type
                                                  or t.typnamespace <> 'pg_catalog'::regnamespace  -- whose = may be out of sight
                                                then 'to_jsonb(r.%1$I) = %2$L::jsonb -> %3$s' else 'r.%1$I = (%2$L::jsonb ->> %3$s)::%4$s' end,
                                           k.name, key, k.nth - 1, format_type(a.atttypid, a.atttypmod)), ' and ')
                  from unnest(c.key_columns) with ordinality k(name, nth)
                  join pg_attribute a on a.attrelid = c.relation and a.attname = k.name
                  join pg_type t on t.oid = a.atttypid))
    into found_one;
  return found_one;
end $$;

-- Takes the values of a record that is gone out of the history of a space; returns of how many changes. Sequences, receipts, the key
-- and that something happened to it stay: each of its changes becomes one of kind e, without before and after. No view goes on from
-- before the last of them, since it could not tell who was inside: such readers start anew.
--
-- The record must be gone first (VG006), or its next change would bring the values back. A table of the application is the
-- application's to delete from.
create function viewgate.erase_record(space text, collection text, key text) returns bigint language plpgsql
set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  wanted text collate "C" := viewgate.space_key($1);
  of_key text collate "C" := ($3::jsonb)::text;
  parts bigint[];
  named jsonb;
begin
  if exists (select from viewgate.records r where r.space = wanted and r.collection = $2 and r.key = of_key)
     or viewgate.is_in_table($2, of_key) then
    raise exception using errcode = 'VG006',
      message = format('record %s of %s still exists: delete it, then erase its history', of_key, $2);
  end if;
  perform viewgate.number($1);  -- after that: the commit that deleted it is one of those that are emptied
  perform set_config('viewgate.rewriting', 'erase', true);
  with emptied as (
    update viewgate.changes h set kind = 'e', before = null, after = null, groups = null
    where h.space = wanted and h.collection = $2 and h.key = of_key and h.kind <> 'e'
    returning h.part
  )
  select array_agg(e.part) into parts from emptied e;
  -- What clients asked for holds proposed values, also where it was refused (which record that was is not known any more), and
  -- where it left the record as it was (then its acknowledgement names it). Who wrote a change may have said more of it.
  named := jsonb_build_object('acknowledgement', jsonb_build_array(jsonb_build_object('collection', $2, 'key', of_key::jsonb)));
  update viewgate.commits c set body = null, fields = null
  where c.space = wanted and (c.body is not null or c.fields is not null)
    and (c.part = any(parts) or c.body is not null and (c.changes = 0 or c.receipt::jsonb @> named));
  perform set_config('viewgate.rewriting', '', true);
  if parts is null then return 0; end if;
  update viewgate.horizons h
  set erased_through = greatest(h.erased_through, (select max(c.sequence) from viewgate.commits c
                                                   where c.space = wanted and c.part = any(parts))),
      moved = pg_current_xact_id()
  where h.space = wanted;
  return cardinality(parts);
end $$;

-- Forgets a space: its records, and every commit. One more commit is numbered first, of one erased change, and none stays
-- readable: so readers who hold the last one also learn that what they show is gone. Returns the head. prune_batch deletes what
-- this makes unreadable.
--
-- The space's name, its numbering and the horizon stay: a name that is used again must not repeat numbers. So do its clients, with
-- who used them first and the last number: a request that comes once more is not processed once more.
--
-- Appends may run meanwhile. The records go first, which waits for those who have written one; then, of all who wrote, exactly
-- those are numbered who are visible in a snapshot that shows no record any more. Who comes later finds no record, and writes
-- commits that the log keeps.
create function viewgate.erase_space(space text) returns bigint language plpgsql
set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  wanted text collate "C" := viewgate.space_key($1);
  counter bigint := nextval('viewgate.change_counter');
  seen pg_snapshot;
  is_empty boolean;
begin
  perform viewgate.lock_space($1);
  loop
    perform from viewgate.records r where r.space = wanted order by r.collection, r.key for update;  -- as append locks them
    delete from viewgate.records r where r.space = wanted;
    select pg_current_snapshot(), not exists (select from viewgate.records r where r.space = wanted) into seen, is_empty;
    exit when is_empty;
  end loop;
  perform viewgate.number($1, seen);
  insert into viewgate.changes (space, part, counter, kind, collection, key) values (wanted, counter, counter, 'e', '', '[]');
  perform viewgate.append_commit(array[jsonb_populate_record(null::viewgate.waiting, jsonb_build_object(
    'txid', pg_current_xact_id()::text, 'space', wanted, 'name', $1, 'part', counter, 'changes', 1, 'last', counter,
    'statements', 1, 'source', 'erase', 'role', viewgate.writer(), 'at', now()))]);
  perform viewgate.prune($1, 0);
  delete from viewgate.pruned_versions v where v.space = wanted;
  delete from viewgate.retention r where r.space = wanted;
  return viewgate.watermark($1);
end $$;

-- ── capture ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

-- Why a table cannot be captured, or null.
create function viewgate.capture_obstacle(relation oid, space_column text) returns text language plpgsql stable
set search_path = pg_catalog, pg_temp as $$
declare
  t record;
  us constant oid := (select n.nspowner from pg_namespace n where n.nspname = 'viewgate');
begin
  select c.*, n.nspname into t from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.oid = relation;
  return case
    when t.oid is null then 'it does not exist'
    when t.relkind = 'p' then 'it is partitioned'
    when t.relkind = 'v' then 'it is a view: capture the tables that it reads'
    when t.relkind = 'm' then 'it is a materialized view: capture the tables that it reads'
    when t.relkind = 'f' then 'it is a foreign table: capture it where it lives'
    when t.relkind <> 'r' then 'it is not a table'
    when t.relpersistence = 't' then 'it is temporary'
    when t.relpersistence = 'u' then 'it is unlogged, and empty after a crash'
    when t.nspname in ('pg_catalog', 'information_schema', 'pg_toast', 'viewgate') then 'it belongs to the schema ' || t.nspname
    when t.relispartition then 'it is a partition'
    when exists (select from pg_inherits i where relation in (i.inhrelid, i.inhparent)) then 'it takes part in inheritance'
    when exists (select from pg_subscription_rel s where s.srrelid = relation)
      then 'it is fed by logical replication, which fires no statement''s trigger'
    when not exists (select from pg_attribute a where a.attrelid = relation and a.attname = space_column
                     and a.attnum > 0 and not a.attisdropped)
      then format('its space column %s does not exist', quote_ident(space_column))
    when not exists (select from pg_constraint k where k.conrelid = relation and k.contype = 'p') then 'it has no primary key'
    when exists (select from pg_constraint k where k.conrelid = relation and k.contype = 'p' and k.condeferrable)
      then 'its primary key is deferrable, so two rows may have one key for a while'
    when not has_table_privilege(us, relation, 'SELECT')
      then format('the owner of schema viewgate, %s, may not read it', us::regrole)
    when t.relrowsecurity and not (select r.rolsuper or r.rolbypassrls from pg_roles r where r.oid = us)
         and (t.relforcerowsecurity or not pg_has_role(us, t.relowner, 'USAGE'))
      then format('row security hides rows of it from the owner of schema viewgate, %s', us::regrole)
    end;
end $$;

-- Fingerprint of each column: what the text of its values depends on, its type all the way down (enum labels, attributes, base
-- types; PostgreSQL's own never change). And the transaction that wrote its catalog row: ALTER COLUMN TYPE to the same type rewrites
-- values without a trigger, and leaves no other trace (it writes the rows of the columns behind it anew, too: they get other marks
-- with it). Part of the version of every view that uses the column, and of no other's. In plpgsql, which keeps the plan: each look
-- at the captures asks this of every table.
create function viewgate.column_marks(relation oid) returns table (name text, mark text) language plpgsql stable
set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
  return query with recursive used(attnum, type) as (
    select a.attnum, t.oid from pg_attribute a join pg_type t on t.oid = a.atttypid
    where a.attrelid = relation and a.attnum > 0 and not a.attisdropped and t.typnamespace <> 'pg_catalog'::regnamespace
    union
    select u.attnum, n.oid from used u join pg_type t on t.oid = u.type cross join lateral (
      select t.typelem union all select t.typbasetype
      union all select a.atttypid from pg_attribute a where a.attrelid = t.typrelid and a.attnum > 0 and not a.attisdropped
      union all select r.rngsubtype from pg_range r where r.rngtypid = t.oid) x(type)
    join pg_type n on n.oid = x.type and n.typnamespace <> 'pg_catalog'::regnamespace
  )
  select a.attname::text, md5(concat_ws(' | ',
    format('%s %L %s %s %s %s', a.attnum, a.attname, a.atttypid, a.atttypmod, a.attgenerated, a.xmin), d.types))
  from pg_attribute a left join (
    select u.attnum, string_agg(format('%s %s %s %s', t.oid, t.typname,
             (select string_agg(e.enumlabel, ',' order by e.enumsortorder) from pg_enum e where e.enumtypid = t.oid),
             (select string_agg(format('%s %L %s', p.attnum, p.attname, p.atttypid), ',' order by p.attnum)
              from pg_attribute p where p.attrelid = t.typrelid and p.attnum > 0 and not p.attisdropped)),
             ', ' order by t.oid) as types
    from used u join pg_type t on t.oid = u.type group by u.attnum) d on d.attnum = a.attnum
  where a.attrelid = relation and a.attnum > 0 and not a.attisdropped;
end $$;

-- Fingerprint of what a capture as a whole depends on: the table's name and kind, and its primary key.
create function viewgate.frame_of(relation oid) returns text language sql stable
set search_path = pg_catalog, pg_temp as $$
  select md5(concat_ws(' | ',
    (select format('%s.%s %s %s', n.nspname, c.relname, c.relkind, c.relpersistence)
     from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.oid = relation),
    (select k.conkey::text from pg_constraint k where k.conrelid = relation and k.contype = 'p')))
$$;

-- Both, in one text: what it was when somebody looked last.
create function viewgate.shape_of(relation oid) returns text language sql stable
set search_path = pg_catalog, pg_temp as $$
  select viewgate.frame_of(relation) || ' ' || (select md5(string_agg(m.mark, ' ' order by m.name)) from viewgate.column_marks(relation) m)
$$;

-- Fingerprint of a capture's triggers and function, with the transactions that wrote their catalog rows: a trigger that was
-- disabled and enabled again between two checks is not what it was. Null where one is missing or does not always fire.
create function viewgate.triggers_of(relation oid) returns text language sql stable
set search_path = pg_catalog, pg_temp as $$
  select case when count(*) = 4 and bool_and(t.tgenabled = 'A' and f.oid is not null)
              then md5(string_agg(format('%s %s %s %s %s', t.tgname, t.oid, t.xmin, t.tgfoid, f.xmin), ', ' order by t.tgname)) end
  from pg_trigger t
  left join pg_proc f on f.oid = t.tgfoid and f.proname = 'capture_' || relation
    and f.pronamespace = (select n.oid from pg_namespace n where n.nspname = 'viewgate')
  where t.tgrelid = relation and t.tgname in ('viewgate_insert', 'viewgate_update', 'viewgate_delete', 'viewgate_truncate')
$$;

create function viewgate.key_columns_of(relation oid) returns text[] language sql stable
set search_path = pg_catalog, pg_temp as $$
  select array_agg(a.attname::text order by k.nth)
  from pg_constraint c cross join lateral unnest(c.conkey) with ordinality k(attnum, nth)
  join pg_attribute a on a.attrelid = c.conrelid and a.attnum = k.attnum
  where c.conrelid = relation and c.contype = 'p'
$$;

-- Whether every write of the table has been captured since, and is now, under the same name and key; its columns may be others.
create function viewgate.goes_on(known viewgate.captures) returns boolean language sql stable
set search_path = pg_catalog, pg_temp as $$
  select coalesce(known.state = 'ok' and known.triggers = viewgate.triggers_of(known.relation)
                  and split_part(known.shape, ' ', 1) = viewgate.frame_of(known.relation)
                  and known.key_columns = viewgate.key_columns_of(known.relation), false)
$$;

-- Pieces of a trigger function's text. `record` is an expression: the record as jsonb.
create function viewgate.key_text(record text, key_columns text[]) returns text language sql immutable
set search_path = pg_catalog, pg_temp as $$
  select format('jsonb_build_array(%s)::text', string_agg(format('%s -> %L', record, k), ', ' order by nth))
  from unnest(key_columns) with ordinality u(k, nth)
$$;

create function viewgate.has_key_text(record text, key_columns text[]) returns text language sql immutable
set search_path = pg_catalog, pg_temp as $$
  select string_agg(format('%s ? %L', record, k), ' and ') from unnest(key_columns) k
$$;

create function viewgate.records_text(rows text, space_column text, key_columns text[]) returns text language sql immutable
set search_path = pg_catalog, pg_temp as $$
  select format('(select j ->> %L as name, %s as key, j::text as doc from (select to_jsonb(r.*) as j from %s r offset 0) x where %s)',
                space_column, viewgate.key_text('j', key_columns), rows, viewgate.has_key_text('j', key_columns))
$$;

create function viewgate.write_text(events text, collection text, overtaken text) returns text language sql immutable
set search_path = pg_catalog, pg_temp as $$
  select format($text$
    with events(name, kind, key, before, after) as (
      %s
    ), counted as materialized (
      select viewgate.space_key(e.name) as space, e.*, nextval('viewgate.change_counter') as counter from events e
    ), marked as (
      insert into viewgate.waiting as w (txid, space, name, part, changes, last, source, role, at, request_id, fields)
      select pg_current_xact_id(), c.space, min(c.name), min(c.counter), count(*), max(c.counter), 'capture', viewgate.writer(), now(),
             viewgate.signed_id(), viewgate.signed_fields()
      from counted c group by c.space
      on conflict (txid, space) do update
        set changes = w.changes + excluded.changes, last = excluded.last, statements = w.statements + 1
      returning w.space, w.part
    )
    insert into viewgate.changes (space, part, counter, kind, collection, key, before, after, overtaken)
    select c.space, m.part, c.counter, c.kind::"char", %L, c.key, c.before, c.after, %s
    from counted c join marked m on m.space = c.space$text$, events, collection, overtaken)
$$;

-- Whether a statement inside this one may have told of this table before it, in the same command of the client: one that a trigger
-- of this statement runs is more triggers deep. Then this one's changes may be told after later ones. Gives the counter after which
-- the command's statements have told, null where no deeper one has. The greatest depth and the counter are kept until the
-- transaction ends, with the command that they are from.
create function viewgate.told_inside(relation oid, depth int) returns bigint language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare
  setting constant text := 'viewgate.told_' || relation;
  command constant text := statement_timestamp()::text || '|';
  told constant text := case when starts_with(current_setting(setting, true), command) then current_setting(setting, true) end;
  deepest constant int := coalesce(split_part(told, '|', 2)::int, 0);
  since constant bigint := coalesce(split_part(told, '|', 3)::bigint, pg_sequence_last_value('viewgate.change_counter'::regclass), 0);
begin
  if depth > deepest then perform set_config(setting, command || depth || '|' || since, true); end if;
  return case when depth < deepest then since end;
end $$;

-- What a capture asks then: what is now in the table under the keys of its transition tables (of those in `told` alone, unless that
-- is null), as an object: key -> space and a hash of the text. It compares columns with columns of the same type by the operator of
-- the primary key's index, which it is to use: no cast, and no = that is out of sight. The table may have a column `told`.
create function viewgate.present_text(relation oid, space_column text, key_columns text[], rows text[]) returns text
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  columns text;
  key text;
  pairs text;
begin
  select string_agg(format('s.%I as k%s', a.attname, k.nth), ', '),
         format('jsonb_build_array(%s)::text', string_agg(format('s.%I', a.attname), ', ' order by k.nth)),
         string_agg(format('r.%I operator(%I.%s) k.k%s', a.attname, n.nspname, o.oprname, k.nth), ' and ')
    into columns, key, pairs
    from pg_index i cross join lateral unnest(i.indkey::int2[], i.indclass::oid[]) with ordinality k(attnum, class, nth)
    join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
    join pg_opclass c on c.oid = k.class
    join pg_amop m on m.amopfamily = c.opcfamily and m.amoplefttype = c.opcintype and m.amoprighttype = c.opcintype
                  and m.amopstrategy = 3
    join pg_operator o on o.oid = m.amopopr join pg_namespace n on n.oid = o.oprnamespace
    where i.indrelid = relation and i.indisprimary;
  return format('select coalesce(jsonb_object_agg(p.key, jsonb_build_array(p.name, hashtextextended(p.doc, 0))), ''{}'') from %s p',
                viewgate.records_text(
                  format('(select y.* from (%s) k cross join lateral (select r.* from only %s r where %s offset 0) y)',
                         (select string_agg(format('select %s from %I s where capture.told is null or capture.told ? %s', columns, u, key),
                                            ' union all ') from unnest(rows) u),
                         relation::regclass, pairs), space_column, key_columns));
end $$;

-- Whether a record is not what a change made of it; null where it was not asked for. Called for each row: PostgreSQL inlines it.
create function viewgate.is_overtaken(told jsonb, present jsonb, space text, key text, after text) returns boolean
language sql stable as $$
  select case when present is null or not told ? key then null
              when after is null then present -> key ->> 0 is not distinct from space
              else present -> key is distinct from jsonb_build_array(space, hashtextextended(after, 0)) end
$$;

-- The text of a captured table's trigger function. `present`: present_text for an INSERT, a DELETE and an UPDATE.
--
-- It takes key and space from the record's JSON, not from columns: a column that is renamed or dropped must not make the
-- application's writes fail (the record then has no key and is passed over; check_captures notices). One-row statements, which is
-- nearly all of them, take the short way with o and n, the record before and after; the others pair old and new rows by key:
--   same space: updated, unless the text is the same · space changed: moved there, created here · old key only: deleted ·
--   new key only: created · no space (NULL): told to nobody.
-- Where foreign keys may write the table, one statement can change a row several times: old and new rows are then paired as they
-- come, and each pair is a step. A statement inside another tells of its changes first (told_inside): then records are compared with
-- the table, those of both statements where few were told inside, else all: as good, and without a list. Where that fails nothing
-- comes of it, since the write must not fail. In SERIALIZABLE there is no comparison: what a transaction has read there, pages of an
-- index included, can make it or another one fail.
-- SECURITY DEFINER: who may write the table needs no right on the ledger.
create function viewgate.capture_function(collection text, space_column text, key_columns text[], present text[]) returns text
language plpgsql immutable set search_path = pg_catalog, pg_temp as $generator$
declare
  table_mark constant text := chr(1);
  old_side constant text := viewgate.records_text('old_rows', space_column, key_columns);
  new_side constant text := viewgate.records_text('new_rows', space_column, key_columns);
  created constant text := 'select n.name, ''c'', n.key, null, n.doc from ' || new_side || ' n where n.name is not null';
  deleted constant text := 'select o.name, ''d'', o.key, o.doc, null from ' || old_side || ' o where o.name is not null';
  emptied constant text := 'select o.name, ''d'', o.key, o.doc, null from '
    || viewgate.records_text('only ' || table_mark, space_column, key_columns) || ' o where o.name is not null';
  changed constant text :=
    'select e.* from ' || old_side || ' o full join ' || new_side || ' n on n.key = o.key cross join lateral (values '
    '(o.name, case when o.name = n.name then ''u'' when n.key is null then ''d'' else ''m'' end, o.key, o.doc,'
    ' case when o.name = n.name then n.doc end), '
    '(case when o.name = n.name then null else n.name end, ''c'', n.key, null, n.doc)) e(name, kind, key, before, after) '
    'where e.name is not null and e.before is distinct from e.after';
  stepped constant text :=
    'select e.name, e.kind, e.key, e.before, e.after from (select s.*, row_number() over () as nth from ' || old_side || ' s) o '
    'join (select s.*, row_number() over () as nth from ' || new_side || ' s) n on n.nth = o.nth cross join lateral (values '
    '(1, o.name, case when o.key <> n.key then ''d'' when o.name = n.name then ''u'' else ''m'' end, o.key, o.doc,'
    ' case when o.key = n.key and o.name = n.name then n.doc end), '
    '(2, case when o.key = n.key and o.name = n.name then null else n.name end, ''c'', n.key, null, n.doc))'
    ' e(half, name, kind, key, before, after) where e.name is not null and e.before is distinct from e.after order by o.nth, e.half';
  overtaken constant text :=
    'viewgate.is_overtaken(told, present, c.name, c.key, c.after)';
begin
  return format($text$
#variable_conflict use_column
<<capture>>
declare
  o jsonb;
  n jsonb;
  more boolean;
  since bigint;
  told jsonb;
  scans text;
  present jsonb;
  overtaken boolean;
  space text;
  part bigint;
  counter bigint;
begin
  if TG_OP = 'UPDATE' then
    select (select to_jsonb(r.*) from old_rows r limit 1), (select to_jsonb(r.*) from new_rows r limit 1),
           exists (select from new_rows r offset 1) into o, n, more;
  elsif TG_OP = 'INSERT' then
    select (select to_jsonb(r.*) from new_rows r limit 1), exists (select from new_rows r offset 1) into n, more;
  elsif TG_OP = 'DELETE' then
    select (select to_jsonb(r.*) from old_rows r limit 1), exists (select from old_rows r offset 1) into o, more;
  else
    if current_setting('transaction_isolation') <> 'read committed' then
      raise exception using errcode = 'VG003',
        message = format('TRUNCATE of captured table %%s needs READ COMMITTED: this transaction''s snapshot may not show all of its rows',
                         TG_RELID::regclass);
    end if;
    execute replace(%1$L, %2$L, TG_RELID::regclass::text);
    if pg_sequence_last_value('viewgate.bell'::regclass) = 2 then perform viewgate.ring(); end if;
    return null;
  end if;
  if o is null and n is null then return null; end if;

  -- Nearly always false, and then it costs next to nothing.
  if (pg_trigger_depth() > 1 or current_setting('viewgate.told_' || TG_RELID, true) <> '')
     and current_setting('transaction_isolation') <> 'serializable'
     and starts_with(current_setting('viewgate.told_' || TG_RELID, true),
                     statement_timestamp() || '|' || pg_trigger_depth() || '|') is not true then
    begin
      since := viewgate.told_inside(TG_RELID, pg_trigger_depth());
      -- Under another name it is not known to be the table that the text names, until check_captures has looked.
      if since is not null and TG_TABLE_SCHEMA || '.' || TG_TABLE_NAME = %6$L then
        -- A plan that is kept must not be one for the table as it was when it was small.
        scans := current_setting('enable_seqscan');
        perform set_config('enable_seqscan', 'off', true);
        if more and pg_sequence_last_value('viewgate.change_counter'::regclass) - since < 1000 then
          told := (select coalesce(jsonb_object_agg(c.key, null), '{}')
                   from viewgate.waiting w join viewgate.changes c on c.space = w.space and c.part = w.part
                   where w.txid = pg_current_xact_id() and c.collection = %6$L and c.counter > since);
        end if;
        if TG_OP = 'INSERT' then present := (%11$s);
        elsif TG_OP = 'DELETE' then present := (%12$s);
        else present := (%13$s);
        end if;
        perform set_config('enable_seqscan', scans, true);
      end if;
    exception when others then
      present := null;
    end;
  end if;

  if (not more and case when TG_OP = 'UPDATE' then o <> n and o ->> %3$L = n ->> %3$L and %4$s
                        else coalesce(n, o) ->> %3$L is not null end and %5$s) then
    insert into viewgate.waiting as w (txid, space, name, part, changes, last, source, role, at, request_id, fields)
    select pg_current_xact_id(), viewgate.space_key(x.name), x.name, x.counter, 1, x.counter, 'capture', viewgate.writer(), now(),
           viewgate.signed_id(), viewgate.signed_fields()
    from (select coalesce(n, o) ->> %3$L as name, nextval('viewgate.change_counter') as counter) x
    on conflict (txid, space) do update
      set changes = w.changes + 1, last = excluded.last, statements = w.statements + 1
    returning w.space, w.part, w.last into space, part, counter;
    if present is not null then
      overtaken := viewgate.is_overtaken(told, present, coalesce(n, o) ->> %3$L, %7$s, n::text);
    end if;
    insert into viewgate.changes (space, part, counter, kind, collection, key, before, after, overtaken)
    values (space, part, counter, case when o is null then 'c' when n is null then 'd' else 'u' end::"char",
            %6$L, %7$s, o::text, n::text, overtaken);
  elsif TG_OP = 'INSERT' then %9$s;
  elsif TG_OP = 'DELETE' then %10$s;
  elsif exists (select from pg_constraint k where k.conrelid = TG_RELID and k.contype = 'f'
                and (k.confupdtype in ('c', 'n', 'd') or k.confdeltype in ('n', 'd'))) then %14$s;
  else %8$s;
  end if;
  if pg_sequence_last_value('viewgate.bell'::regclass) = 2 then perform viewgate.ring(); end if;
  return null;
end $text$,
    viewgate.write_text(emptied, collection, 'null::boolean'), table_mark,
    space_column,
    (select string_agg(format('o ->> %1$L = n ->> %1$L', k), ' and ') from unnest(key_columns) k),
    viewgate.has_key_text('coalesce(n, o)', key_columns),
    collection, viewgate.key_text('coalesce(n, o)', key_columns),
    viewgate.write_text(changed, collection, overtaken), viewgate.write_text(created, collection, overtaken),
    viewgate.write_text(deleted, collection, overtaken), present[1], present[2], present[3],
    viewgate.write_text(stepped, collection, overtaken));
end $generator$;

-- Makes or replaces the function; it belongs to the owner of the schema.
create function viewgate.install_capture_function(relation oid, collection text, space_column text, key_columns text[])
returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  signature constant text := format('viewgate.%I()', 'capture_' || relation);
begin
  execute format(
    'create or replace function %s returns trigger language plpgsql security definer'
    ' set search_path = pg_catalog, pg_temp set "TimeZone" = ''UTC'' set "DateStyle" = ''ISO, YMD'''
    ' set "IntervalStyle" = ''postgres'' set extra_float_digits = 1 set bytea_output = ''hex'' set lc_monetary = ''C'''
    ' set quote_all_identifiers = off set row_security = off as %L',
    signature, viewgate.capture_function(collection, space_column, key_columns, array[
      viewgate.present_text(relation, space_column, key_columns, '{new_rows}'),
      viewgate.present_text(relation, space_column, key_columns, '{old_rows}'),
      viewgate.present_text(relation, space_column, key_columns, '{old_rows,new_rows}')]));
  execute format('revoke all on function %s from public', signature);
  execute format('alter function %s owner to %s', signature,
                 (select n.nspowner::regrole from pg_namespace n where n.nspname = 'viewgate'));
end $$;

-- Captures a table: from the commit of this transaction on, every write of it is in the log of the space that its column
-- `space` names. Returns the capture's id; the same one where nothing has changed. Waits for the table's running writers.
create function viewgate.capture(relation regclass, space text) returns bigint language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare
  obstacle text;
  known viewgate.captures;
  named text;
  gone oid;
  keys text[];
  operation text;
  id bigint;
begin
  obstacle := viewgate.capture_obstacle(relation, space);
  if obstacle is null then
    execute format('lock table only %s in share row exclusive mode', relation);
    obstacle := viewgate.capture_obstacle(relation, space);
  end if;
  if obstacle is not null then
    raise exception using errcode = 'VG001', message = format('table %s cannot be captured: %s', relation, obstacle);
  end if;
  select c.* into known from viewgate.captures c where c.relation = $1 for update;
  keys := viewgate.key_columns_of(relation);
  if known.space_column = space and viewgate.goes_on(known) then
    -- Only then: each statement over this table tells the nodes of a change.
    if known.shape <> viewgate.shape_of(relation) then
      update viewgate.captures k set shape = viewgate.shape_of($1) where k.relation = $1;
    end if;
    return known.capture;
  end if;

  select format('%s.%s', n.nspname, c.relname) into named
    from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.oid = relation;
  -- A table of that name which was dropped is forgotten, as check_captures would.
  for gone in delete from viewgate.captures c where c.collection = named and not exists (select from pg_class t where t.oid = c.relation)
              returning c.relation::oid loop
    execute format('drop function if exists viewgate.%I()', 'capture_' || gone);
  end loop;
  if exists (select from viewgate.captures c where c.collection = named and c.relation <> $1) then
    raise exception using errcode = 'VG001',
      message = format('table %s cannot be captured: another captured table is called %s, too', relation, named);
  end if;
  perform viewgate.install_capture_function(relation, named, space, keys);
  foreach operation in array array['insert', 'update', 'delete', 'truncate'] loop
    if exists (select from pg_trigger t where t.tgrelid = relation and t.tgname = 'viewgate_' || operation) then
      execute format('drop trigger %I on %s', 'viewgate_' || operation, relation);
    end if;
    execute format('create trigger %I %s %s on %s %s for each statement execute function viewgate.%I()',
      'viewgate_' || operation, case operation when 'truncate' then 'before' else 'after' end, operation, relation,
      case operation when 'insert' then 'referencing new table as new_rows'
                     when 'update' then 'referencing old table as old_rows new table as new_rows'
                     when 'delete' then 'referencing old table as old_rows' else '' end,
      'capture_' || relation::oid);
    -- Always: also where the application says session_replication_role = replica.
    execute format('alter table %s enable always trigger %I', relation, 'viewgate_' || operation);
  end loop;
  id := viewgate.random_mark();
  insert into viewgate.captures (relation, capture, collection, space_column, key_columns, shape, triggers, state)
  values (relation, id, named, space, keys, viewgate.shape_of(relation), viewgate.triggers_of(relation), 'ok')
  on conflict on constraint captures_pkey do update
    set capture = excluded.capture, collection = excluded.collection, space_column = excluded.space_column,
        key_columns = excluded.key_columns, shape = excluded.shape, triggers = excluded.triggers, state = 'ok', reason = null,
        captured_at = now();
  return id;
end $$;

-- Leaves no trace of a capture but the log.
create function viewgate.uncapture(relation regclass) returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare
  operation text;
begin
  delete from viewgate.captures c where c.relation = $1;
  for operation in select t.tgname from pg_trigger t where t.tgrelid = relation
                   and t.tgname in ('viewgate_insert', 'viewgate_update', 'viewgate_delete', 'viewgate_truncate') loop
    execute format('drop trigger %I on %s', operation, relation);
  end loop;
  if to_regprocedure(format('viewgate.%I()', 'capture_' || relation::oid)) is not null then
    execute format('drop function viewgate.%I()', 'capture_' || relation::oid);
  end if;
end $$;

-- Compares every capture with what it was. A table that may have been written unseen, or has another name or key, gets a new id (and
-- so all its views start anew); where only columns are others, the views that use them do (column_marks). One that still has a hole is
-- 'broken', with id 0 and the reason. A dropped table is reported once and forgotten.
create function viewgate.check_captures() returns table (relation text, capture bigint, state text, reason text)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  c viewgate.captures;
  obstacle text;
  renamed text;
  keys text[];
begin
  for c in select k.* from viewgate.captures k order by k.collection loop
    obstacle := viewgate.capture_obstacle(c.relation, c.space_column);
    if obstacle is null and viewgate.triggers_of(c.relation) is null then
      obstacle := 'a trigger of it is missing, disabled or does not always fire: capture it again';
    end if;
    if obstacle is null and c.state = 'ok' and c.shape = viewgate.shape_of(c.relation)
       and c.triggers = viewgate.triggers_of(c.relation) then
      continue;
    end if;
    -- Something is to be done. Of several nodes that notice, the first one does it.
    select k.* into c from viewgate.captures k where k.relation = c.relation for update;
    continue when not found;
    if obstacle = 'it does not exist' then
      execute format('drop function if exists viewgate.%I()', 'capture_' || c.relation::oid);
      delete from viewgate.captures k where k.relation = c.relation;
      return query select c.collection::text, 0::bigint, 'broken', 'it was dropped';
    elsif obstacle is not null then
      update viewgate.captures k set capture = 0, state = 'broken', reason = obstacle
      where k.relation = c.relation and (k.state = 'ok' or k.reason is distinct from obstacle);
    else
      select format('%s.%s', n.nspname, t.relname) into renamed
        from pg_class t join pg_namespace n on n.oid = t.relnamespace where t.oid = c.relation;
      keys := viewgate.key_columns_of(c.relation);
      if renamed <> c.collection or keys <> c.key_columns then
        perform viewgate.install_capture_function(c.relation, renamed, c.space_column, keys);
      end if;
      update viewgate.captures k
      set capture = case when viewgate.goes_on(k) then k.capture else viewgate.random_mark() end,
          collection = renamed, key_columns = keys, shape = viewgate.shape_of(k.relation),
          triggers = viewgate.triggers_of(k.relation), state = 'ok', reason = null
      where k.relation = c.relation and (k.state <> 'ok' or k.shape <> viewgate.shape_of(k.relation)
                                         or k.triggers <> viewgate.triggers_of(k.relation));
    end if;
  end loop;
  return query select k.collection::text, k.capture, k.state, k.reason from viewgate.captures k order by k.collection;
end $$;

-- ── append ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

-- Writes managed records in the caller's own transaction, together with whatever else that transaction does:
--
--   begin;
--   update …;                                              -- the back-end's own tables
--   select viewgate.append('acme', '[
--     {"collection": "issues", "key": [7], "put": {"id": 7, "title": "Order paper", "status": "open"}},
--     {"collection": "issues", "key": [3], "update": {"status": "closed"}},
--     {"collection": "issues", "key": [2], "delete": true}]');
--   commit;
--
-- put: the whole record, new or not · update: some columns of a record that exists · delete: gone, also where it never was. What
-- changes nothing gives no change. Returns the number of changes. Only the records named are locked, in the order of their keys.
-- Not for PUBLIC: grant usage on schema viewgate and execute on this function to the roles that may write any record.
create function viewgate.append(space text, changes jsonb) returns bigint language plpgsql security definer
set search_path = pg_catalog, pg_temp set "TimeZone" = 'UTC' as $$
#variable_conflict use_column
declare
  wanted text collate "C" := viewgate.space_key($1);
  item record;
  old jsonb;
  new jsonb;
  counter bigint;
  part bigint;
  moved text[];
  stood jsonb;
  written bigint := 0;
begin
  if space is null then
    raise exception using errcode = 'VG002', message = 'viewgate.append: the space is null';
  elsif jsonb_typeof(changes) is distinct from 'array' then
    raise exception using errcode = 'VG002', message = 'viewgate.append: changes is not a JSON array';
  end if;
  -- The first marker of this transaction in this space says which part its changes belong to.
  part := coalesce((select w.part from viewgate.waiting w where w.txid = pg_current_xact_id() and w.space = wanted),
                   nextval('viewgate.change_counter'));
  for item in
    select c.*, c.value ->> 'collection' as collection, (c.value -> 'key')::text as key
    from (select e.value, e.nth, viewgate.append_fault(e.value) as fault from jsonb_array_elements($2) with ordinality e(value, nth)
          offset 0) c  -- so that each is looked at once
    order by c.fault is null, c.value ->> 'collection' collate "C", (c.value -> 'key')::text collate "C", c.nth
  loop
    if item.fault is not null then
      raise exception using errcode = 'VG002', message = format('viewgate.append: change %s: %s', item.nth, item.fault);
    end if;
    loop
      select r.value, r.versions into old, stood from viewgate.records r
        where r.space = wanted and r.collection = item.collection and r.key = item.key for no key update;
      exit when found;
      old := null;
      if not item.value ? 'put' then
        -- Whoever was waited for may have deleted it and made it anew, which only a later statement sees.
        exit when not exists (select from viewgate.records r
                              where r.space = wanted and r.collection = item.collection and r.key = item.key);
        continue;
      end if;
      moved := viewgate.changed_groups(item.collection, null, item.value -> 'put');
      insert into viewgate.records (space, collection, key, value, versions)
        values (wanted, item.collection, item.key, item.value -> 'put', viewgate.versions_of(moved, -part))
        on conflict do nothing;
      exit when found;
    end loop;
    new := case when item.value ? 'put' then item.value -> 'put'
                when item.value ? 'update' then old || (item.value -> 'update') end;
    if item.value ? 'update' and old is null then
      raise exception using errcode = 'VG002',
        message = format('viewgate.append: change %s: there is no record %s in %s to update', item.nth, item.key, item.collection);
    end if;
    continue when old::text is not distinct from new::text;
    if old is not null then
      moved := viewgate.changed_groups(item.collection, old, new);
    end if;
    if new is null then
      delete from viewgate.records r where r.space = wanted and r.collection = item.collection and r.key = item.key;
    elsif old is not null then
      update viewgate.records r set value = new, versions = stood || viewgate.versions_of(moved, -part)
        where r.space = wanted and r.collection = item.collection and r.key = item.key;
    end if;
    counter := nextval('viewgate.change_counter');
    insert into viewgate.waiting as w (txid, space, name, part, changes, last, source, role, at, request_id, fields)
      values (pg_current_xact_id(), wanted, $1, part, 1, counter, 'append', viewgate.writer(), now(),
              viewgate.signed_id(), viewgate.signed_fields())
      on conflict (txid, space) do update
        set changes = w.changes + 1, last = excluded.last, statements = w.statements + 1, source = 'append';
    insert into viewgate.changes (space, part, counter, kind, collection, key, before, after, groups)
      values (wanted, part, counter, case when old is null then 'c' when new is null then 'd' else 'u' end::"char",
              item.collection, item.key, old::text, new::text, moved);
    written := written + 1;
  end loop;
  if written > 0 and pg_sequence_last_value('viewgate.bell'::regclass) = 2 then
    perform viewgate.ring();
  end if;
  return written;
end $$;

-- What is wrong with one change given to append, or null.
-- This and the next functions are in PL/pgSQL because it keeps their plans; a function in SQL is planned anew in every transaction.
create function viewgate.append_fault(change jsonb) returns text language plpgsql immutable
set search_path = pg_catalog, pg_temp as $$
begin
  return case
    when jsonb_typeof(change) <> 'object' then 'it is not an object'
    when exists (select from jsonb_object_keys(change) k where k not in ('collection', 'key', 'put', 'update', 'delete'))
      then format('unknown member %s', (select to_json(k) from jsonb_object_keys(change) k
                                        where k not in ('collection', 'key', 'put', 'update', 'delete') limit 1))
    when jsonb_typeof(change -> 'collection') is distinct from 'string' then 'collection is not a string'
    when octet_length(change ->> 'collection') not between 1 and 200 then 'collection has no name, or one of over 200 bytes'
    when position('.' in change ->> 'collection') > 0 then 'collection has a dot in its name, as only captured tables do'
    when jsonb_typeof(change -> 'key') is distinct from 'array' then 'key is not an array'
    when jsonb_array_length(change -> 'key') = 0 then 'key is empty'
    when exists (select from jsonb_array_elements(change -> 'key') k where jsonb_typeof(k) not in ('string', 'number', 'boolean'))
      then 'key holds something that is not a string, number or boolean'
    when octet_length((change -> 'key')::text) > 1000 then 'key is over 1000 bytes long'
    when (change ? 'put')::int + (change ? 'update')::int + (change ? 'delete')::int <> 1
      then 'exactly one of put, update and delete is wanted'
    when change ? 'put' and jsonb_typeof(change -> 'put') <> 'object' then 'put is not an object'
    when change ? 'update' and jsonb_typeof(change -> 'update') <> 'object' then 'update is not an object'
    when change ? 'delete' and change -> 'delete' <> 'true' then 'delete is not true'
  end;
end $$;

-- Signs the changes of this transaction: the commits that they become carry `request_id`, by which whoever wrote them can wait for
-- them in a view, and `fields`, a JSON object of whatever else should be known of them. Before or after the changes, in all spaces;
-- the last call counts.
create function viewgate.tag(request_id text, fields jsonb default null) returns void language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_variable
begin
  if (octet_length(request_id) between 1 and 200) is not true then
    raise exception using errcode = 'VG002', message = 'viewgate.tag: request_id is a text of 1 to 200 bytes';
  elsif jsonb_typeof(fields) <> 'object' or octet_length(fields::text) > 4096 then
    raise exception using errcode = 'VG002', message = 'viewgate.tag: fields is a JSON object of at most 4096 bytes';
  end if;
  perform set_config('viewgate.request_id', request_id, true), set_config('viewgate.fields', coalesce(fields::text, ''), true);
  update viewgate.waiting w set request_id = $1, fields = $2::text where w.txid = pg_current_xact_id_if_assigned();
end $$;

-- ── mutations ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

-- The conflict groups of the model in force, in place of the ones before: [{"collection": …, "name": …, "columns": […]}, …].
create function viewgate.declare_conflict_groups(groups jsonb) returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  lock table viewgate.conflict_groups in share row exclusive mode;
  delete from viewgate.conflict_groups;
  insert into viewgate.conflict_groups (collection, name, place, columns)
  select g.value ->> 'collection', g.value ->> 'name', g.nth, array(select jsonb_array_elements_text(g.value -> 'columns'))
  from jsonb_array_elements(groups) with ordinality g(value, nth);
end $$;

-- The conflict groups that a change of a record moves; all of them where it is created or deleted.
create function viewgate.changed_groups(collection text, before jsonb, after jsonb) returns text[] language plpgsql stable
set search_path = pg_catalog, pg_temp as $$
begin
  return (
    with declared as (
      select g.name, g.place, g.columns from viewgate.conflict_groups g where g.collection = $1
    ), moved as (
      select k from jsonb_object_keys($2 || $3) k where ($2 -> k)::text is distinct from ($3 -> k)::text
    )
    select array_agg(g.name order by g.place) from (
      select d.name, d.place from declared d
        where $2 is null or $3 is null or exists (select from moved m where m.k = any(d.columns))
      union all
      select 'record', 2147483647
        where $2 is null or $3 is null
           or exists (select from moved m where not exists (select from declared d where m.k = any(d.columns)))
    ) g);
end $$;

create function viewgate.versions_of(groups text[], version bigint) returns jsonb language plpgsql immutable
set search_path = pg_catalog, pg_temp as $$
begin
  return (select coalesce(jsonb_object_agg(g, version), '{}') from unnest(groups) g);
end $$;

-- JSON as jsonb prints it, or null where jsonb does not take it.
create function viewgate.canonical(json text) returns text language plpgsql immutable
set search_path = pg_catalog, pg_temp as $$
begin
  return json::jsonb::text;
exception when data_exception or program_limit_exceeded then
  return null;
end $$;

create function viewgate.canonical(json text[]) returns text[] language plpgsql immutable
set search_path = pg_catalog, pg_temp as $$
begin
  return array(select j.text::jsonb::text from unnest(json) with ordinality j(text, nth) order by j.nth);
exception when data_exception or program_limit_exceeded then
  return array(select viewgate.canonical(j.text) from unnest(json) with ordinality j(text, nth) order by j.nth);
end $$;

-- The sequences that a record's versions mean, as text: those of appends are told by their parts.
create function viewgate.told_versions(space_key text, collection text, key text, versions jsonb, retained bigint) returns text
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
  if not versions @? '$.* ? (@ < 0)' then return versions::text; end if;
  return (
    select jsonb_object_agg(v.key, case when v.value::bigint > 0 then v.value::bigint else coalesce(
      (select k.sequence from viewgate.commits k where k.space = $1 and k.part = -v.value::bigint and k.source = 'append'),
      (select p.sequence from viewgate.pruned_versions p
       where p.space = $1 and p.collection = $2 and p.key = $3 and p.part = -v.value::bigint),
      retained - 1) end)::text
    from jsonb_each_text(versions) v);
end $$;

-- The first half of a transaction that writes mutations, for a batch of requests of several spaces: (spaces[of_space[i]], clients[i],
-- numbers[i], bodies[i]) is the i-th request; (spaces[mutation_space[j]], collections[j], keys[j]) the record of the j-th mutation of
-- all; jsons are JSON values to be told as jsonb prints them (null = it does not take them). Everyone names spaces in the order of their
-- names, and so nobody waits in a circle.
--
-- The spaces' locks come before the first read. What is decided here stands in the log right after the head, so it is decided on what
-- the log says there: the records are locked (an append that holds one has committed when we get it), then a snapshot is taken that
-- shows no record which is not locked, and exactly the transactions that are visible in it are numbered. A record that an append makes
-- after that is not there for us; to make it, too, is refused by its key. An append may be open for as long as its application likes:
-- a record is waited for at most `record_wait`, here and when it is written, since the whole space waits as long.
--
-- Everything is found by its full key, one after the other, by subqueries that no plan can turn around: whatever is known of the
-- tables' sizes, the cost does not grow with them. Rows, by `what`:
--   h  the head (n) of the nth space
--   c  a client (a) that is known in the nth space: its principal (b) and last number (n)
--   r  a request that was processed: its nth, sequence (n), receipt (a), and whether the body is the same (m, 0 or 1)
--   k  a record's key as jsonb prints it (a; null: it is none), and the nth of the first mutation of this record (n); with that one,
--      where the record exists, its text (b) and versions (c). No texts from where all before have more than text_bytes_max (m = 1)
--   j  one of jsons (a)
create function viewgate.open_mutations(spaces text[], of_space int[], clients text[], numbers bigint[], bodies text[],
                                        mutation_space int[], collections text[], keys text[], jsons text[],
                                        text_bytes_max bigint, record_wait text)
returns table (what "char", nth bigint, n bigint, m bigint, a text, b text, c text)
language plpgsql set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  wanted text[] collate "C" := '{}';
  retained bigint[] := '{}';
  printed constant text[] := viewgate.canonical(keys || jsons);
  canonical_keys constant text[] := printed[: cardinality(keys)];
  locked boolean[];                          -- per mutation: its record was there, and is ours
  visible boolean[];
  seen pg_snapshot;
  looked pg_snapshot;
  waiting text[];
  name text;
begin
  foreach name in array spaces loop
    wanted := wanted || viewgate.space_key(name);
    retained := retained || viewgate.lock_space(name);
  end loop;
  perform set_config('lock_timeout', record_wait, true);
  looked := (viewgate.last_look()).seen;
  loop
    select array_agg(l.key is not null order by u.nth) into locked
      from (select * from unnest(mutation_space, collections, canonical_keys) with ordinality u(place, collection, key, nth)
            order by u.place, u.collection collate "C", u.key collate "C") u  -- append() has this order, too
      left join lateral (select r.key from viewgate.records r
                         where r.space = wanted[u.place] and r.collection = u.collection and r.key = u.key
                         for no key update) l on true;
    select pg_current_snapshot(), array_agg(l.key is not null order by u.nth),
           array(select distinct w.name from unnest(wanted) u(space) cross join lateral viewgate.waiting_in(u.space, looked) w)
      into seen, visible, waiting
      from unnest(mutation_space, collections, canonical_keys) with ordinality u(place, collection, key, nth)
      left join lateral (select r.key from viewgate.records r
                         where r.space = wanted[u.place] and r.collection = u.collection and r.key = u.key offset 0) l on true;
    exit when visible = locked;
  end loop;
  foreach name in array waiting loop
    perform viewgate.number(name, seen);
  end loop;
  -- From here on, a statement that sees all that is numbered now.
  return query
    select 'h'::"char", u.nth, s.head, 0::bigint, null::text, null::text, null::text
    from unnest(wanted) with ordinality u(space, nth)
    cross join lateral (select s.head from viewgate.spaces s where s.space = u.space offset 0) s
    union all
    select 'c', q.place, l.last, 0, q.client, l.principal, null
    from (select distinct u.place, u.client from unnest(of_space, clients) u(place, client)) q
    cross join lateral (select l.last, l.principal from viewgate.clients l
                        where l.space = wanted[q.place] and l.client = q.client offset 0) l
    union all
    select 'r', q.nth, k.sequence, (k.body_hash = sha256(convert_to(q.body, 'UTF8')))::int, k.receipt, null, null
    from unnest(of_space, clients, numbers, bodies) with ordinality q(place, client, number, body, nth)
    cross join lateral (select k.sequence, k.receipt, k.body_hash from viewgate.commits k
                        where k.space = wanted[q.place] and k.client = q.client and k.number = q.number limit 1) k
    where k.sequence >= retained[q.place]
    union all
    select 'k', q.nth, q.first, (q.total > text_bytes_max)::int, q.key, case when q.total <= text_bytes_max then q.value::text end,
           case when q.versions @? '$.* ? (@ < 0)'
                then viewgate.told_versions(wanted[q.place], q.collection, q.key, q.versions, retained[q.place])
                else q.versions::text end
    from (select p.*, r.value, r.versions, coalesce(sum(octet_length(r.value::text)) over (order by p.nth), 0) as total
          from (select u.*, min(u.nth) over (partition by u.place, u.collection, u.key) as first
                from unnest(mutation_space, collections, canonical_keys, locked) with ordinality
                     u(place, collection, key, is_ours, nth)) p
          left join lateral (select r.value, r.versions from viewgate.records r
                             where p.is_ours and p.nth = p.first and r.space = wanted[p.place] and r.collection = p.collection
                               and r.key = p.key offset 0) r on true) q
    union all
    select 'j', j.nth, 0, 0, j.text, null, null from unnest(printed[cardinality(keys) + 1 :]) with ordinality j(text, nth);
end $$;

-- The same for one request of one mutation, in the same rows. That is what comes where one client writes, and who waits for it waits
-- for all of it: of a statement over arrays, most is what it costs before its first row.
create function viewgate.open_mutation(space text, client text, number bigint, body text, collection text, key text, jsons text[],
                                       text_bytes_max bigint, record_wait text)
returns table (what "char", nth bigint, n bigint, m bigint, a text, b text, c text)
language plpgsql set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  wanted text collate "C" := viewgate.space_key($1);
  canonical_key text collate "C" := viewgate.canonical($6);
  retained bigint;
  looked pg_snapshot;
  value text;
  versions jsonb;
  locked boolean;                            -- the record was there, and is ours
  visible boolean;
  seen pg_snapshot;
  waits boolean;
  head bigint;
  principal text;
  last bigint;
  json text;
begin
  retained := viewgate.lock_space($1);
  perform set_config('lock_timeout', record_wait, true);
  looked := (viewgate.last_look()).seen;
  loop
    select r.value::text, r.versions into value, versions from viewgate.records r
      where r.space = wanted and r.collection = $5 and r.key = canonical_key for no key update;
    locked := found;
    select pg_current_snapshot(), exists (select from viewgate.waiting_in(wanted, looked)),
           locked or exists (select from viewgate.records r where r.space = wanted and r.collection = $5 and r.key = canonical_key),
           s.head, l.principal, l.last
      into seen, waits, visible, head, principal, last
      from viewgate.spaces s left join viewgate.clients l on l.space = wanted and l.client = $2
      where s.space = wanted;
    exit when visible = locked;
  end loop;
  if waits then
    select x.head into head from viewgate.number($1, seen) x;
  end if;
  what := 'h'; nth := 1; n := head; m := 0;
  return next;
  if last is not null then
    what := 'c'; n := last; a := $2; b := principal;
    return next;
  end if;
  if last >= $3 then
    select k.sequence, (k.body_hash = sha256(convert_to($4, 'UTF8')))::int, k.receipt into n, m, a from viewgate.commits k
      where k.space = wanted and k.client = $2 and k.number = $3 and k.sequence >= retained;
    if found then
      what := 'r'; b := null;
      return next;
    end if;
  end if;
  what := 'k'; n := 1; m := (value is not null and octet_length(value) > text_bytes_max)::int; a := canonical_key;
  b := case when m = 1 then null else value end;
  c := viewgate.told_versions(wanted, $5, canonical_key, versions, retained);
  return next;
  what := 'j'; n := 0; m := 0; b := null; c := null;
  foreach json in array jsons loop
    a := viewgate.canonical(json);
    return next;
    nth := nth + 1;
  end loop;
end $$;

-- The second half: writes what was decided, and COMMIT follows. of_space and record_space say which of `spaces`.
--   commits   the sequences that they were told, changes (how many), principal, client, number, request_id, fields, receipt, body
--   changes   of_commit (1…, ascending), kind, collection, key, before, after, groups (each an array as text)
--   records   their last state of all: value null = deleted, existed = a row was there when they were read; one that was made and
--             deleted in this batch is not among them
-- Returns the bell's value: 2 = somebody sleeps, and is to be woken after COMMIT.
create function viewgate.write_mutations(
  spaces text[],
  of_space int[], sequences bigint[], commit_changes bigint[], principals text[], clients text[], numbers bigint[],
  request_ids text[], fields text[], receipts text[], bodies text[],
  of_commit int[], kinds text[], change_collections text[], change_keys text[], befores text[], afters text[], groups text[],
  record_space int[], record_collections text[], record_keys text[], record_values text[], record_versions text[], existed boolean[])
returns bigint language plpgsql set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  wanted text[] collate "C" := '{}';
  parts bigint[] := '{}';
  name text;
  written bigint;
  is_printed boolean;
  looked pg_snapshot;
  markers viewgate.waiting[];
begin
  foreach name in array spaces loop wanted := wanted || viewgate.space_key(name); end loop;
  for nth in 1 .. cardinality(clients) loop parts := parts || nextval('viewgate.change_counter'); end loop;
  -- All in one statement: what starts and ends each one costs as much as its work.
  with told as materialized (
    select wanted[u.place] as space, u.collection, u.key, u.text, u.text::jsonb as value, u.versions::jsonb as versions, u.existed
    from unnest(record_space, record_collections, record_keys, record_values, record_versions, existed)
         u(place, collection, key, text, versions, existed)
  ), gone as (
    delete from viewgate.records r where r.ctid = any(array(
      select l.ctid from told t cross join lateral (
        select r.ctid from viewgate.records r
        where r.space = t.space and r.collection = t.collection and r.key = t.key offset 0) l
      where t.value is null))
    returning 1
  ), changed as (
    insert into viewgate.records (space, collection, key, value, versions)
    select t.space, t.collection, t.key, t.value, t.versions from told t where t.existed and t.value is not null
    on conflict on constraint records_pkey do update set value = excluded.value, versions = excluded.versions returning 1
  ), made as (
    insert into viewgate.records (space, collection, key, value, versions)
    select t.space, t.collection, t.key, t.value, t.versions from told t where not t.existed and t.value is not null
    on conflict do nothing returning 1
  ), logged as (
    insert into viewgate.changes (space, part, counter, kind, collection, key, before, after, groups)
    select wanted[of_space[u.of_commit]], parts[u.of_commit],
           parts[u.of_commit] + row_number() over (partition by u.of_commit order by u.nth) - 1,
           u.kind::"char", u.collection, u.key, u.before, u.after, u.groups::text[]
    from unnest(of_commit, kinds, change_collections, change_keys, befores, afters, groups) with ordinality
         u(of_commit, kind, collection, key, before, after, groups, nth)
  ), counted as (
    insert into viewgate.clients as l (space, client, principal, last)
    select wanted[u.place], u.client, min(u.principal), max(u.number)
    from unnest(of_space, clients, principals, numbers) u(place, client, principal, number)
    group by u.place, u.client
    on conflict (space, client) do update set last = excluded.last
  )
  select (select count(*) from gone) + (select count(*) from changed) + (select count(*) from made),
         (select bool_and(t.value::text = t.text) from told t),
         array_agg(row(pg_current_xact_id(), wanted[u.place], spaces[u.place], parts[u.nth], u.changes, parts[u.nth], 1, 'mutation',
                       viewgate.writer(), now(), u.request_id, u.fields, u.principal, u.client, u.number, u.receipt,
                       u.body)::viewgate.waiting order by u.nth)
    into written, is_printed, markers
    from unnest(of_space, commit_changes, principals, clients, numbers, request_ids, fields, receipts, bodies) with ordinality
         u(place, changes, principal, client, number, request_id, fields, receipt, body, nth);
  if not is_printed then
    raise exception using errcode = 'VG007', message = 'viewgate.write_mutations: a record is not as jsonb prints it';
  end if;
  -- An append has made one of the records meanwhile: what was decided was decided on what is not so any more.
  if written <> cardinality(record_keys) then
    raise exception using errcode = '40001', message = 'viewgate.write_mutations: a record was made meanwhile';
  end if;
  if false = any(existed) then
    -- Or made it and deleted it again: then ours is there after that, but would stand in the log before it. Whatever waits now has
    -- committed after we looked, and whoever comes to the record from here on waits for us.
    looked := (viewgate.last_look()).seen;
    if exists (
      select from (select distinct u.place, u.collection collate "C" as collection, u.key collate "C" as key
                   from unnest(record_space, record_collections, record_keys, existed) u(place, collection, key, existed)
                   where not u.existed) u
      cross join lateral (select w.part from viewgate.waiting_in(wanted[u.place], looked) w offset 0) w
      cross join lateral (select from viewgate.changes c
                          where c.space = wanted[u.place] and c.part = w.part and c.collection = u.collection and c.key = u.key
                          limit 1) c) then
      raise exception using errcode = '40001', message = 'viewgate.write_mutations: a record came and went meanwhile';
    end if;
  end if;
  if viewgate.append_commit(markers, sequences) <> cardinality(clients) then
    raise exception using errcode = 'VG007', message = 'viewgate.write_mutations: a receipt tells another sequence than its commit has';
  end if;
  return pg_sequence_last_value('viewgate.bell'::regclass);
end $$;

-- The same for one request of one mutation. kind null: it changes nothing; before null: there was no such record.
create function viewgate.write_mutation(
  space text, sequence bigint, principal text, client text, number bigint, request_id text, fields text, receipt text, body text,
  kind text, collection text, key text, before text, after text, groups text[], versions text)
returns bigint language plpgsql set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  wanted text collate "C" := viewgate.space_key($1);
  part bigint := nextval('viewgate.change_counter');
  record jsonb := after::jsonb;
  looked pg_snapshot;
begin
  if record::text <> after then
    raise exception using errcode = 'VG007', message = 'viewgate.write_mutation: a record is not as jsonb prints it';
  end if;
  if kind is not null then
    if after is null then
      delete from viewgate.records r where r.space = wanted and r.collection = $11 and r.key = $12;
    elsif before is not null then
      update viewgate.records r set value = record, versions = $16::jsonb
        where r.space = wanted and r.collection = $11 and r.key = $12;
    else
      insert into viewgate.records (space, collection, key, value, versions) values (wanted, $11, $12, record, $16::jsonb)
        on conflict do nothing;
    end if;
    -- As in write_mutations: an append has made it meanwhile, or made it and deleted it again.
    if not found then
      raise exception using errcode = '40001', message = 'viewgate.write_mutation: the record was made meanwhile';
    end if;
    if before is null then
      looked := (viewgate.last_look()).seen;
      if exists (select from (select w.part from viewgate.waiting_in(wanted, looked) w offset 0) w
                 cross join lateral (select from viewgate.changes c where c.space = wanted and c.part = w.part
                                     and c.collection = $11 and c.key = $12 limit 1) c) then
        raise exception using errcode = '40001', message = 'viewgate.write_mutation: the record came and went meanwhile';
      end if;
    end if;
    insert into viewgate.changes (space, part, counter, kind, collection, key, before, after, groups)
      values (wanted, part, part, $10::"char", $11, $12, $13, $14, $15);
  end if;
  if viewgate.append_commit(array[row(pg_current_xact_id(), wanted, $1, part, (kind is not null)::int, part, 1, 'mutation',
                                      viewgate.writer(), now(), request_id, fields, principal, client, number, receipt,
                                      body)::viewgate.waiting], array[sequence]) <> 1 then
    raise exception using errcode = 'VG007', message = 'viewgate.write_mutation: the receipt tells another sequence than its commit has';
  end if;
  insert into viewgate.clients as l (space, client, principal, last) values (wanted, $4, $3, $5)
    on conflict on constraint clients_pkey do update set last = excluded.last;
  return pg_sequence_last_value('viewgate.bell'::regclass);
end $$;

-- ── model ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────

-- Puts a model in force, with its conflict groups (see declare_conflict_groups); returns its version, the same one where it already is.
create function viewgate.apply_model(text text, hash text, conflict_groups jsonb default '[]') returns bigint language plpgsql
set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  applied bigint;
begin
  insert into viewgate.model as m (version, text, hash) values (1, $1, $2)
  on conflict (one) do update
    set version = m.version + 1, text = excluded.text, hash = excluded.hash, applied_at = now(), applied_by = session_user
    where m.hash <> excluded.hash or m.text <> excluded.text
  returning m.version into applied;
  if applied is not null then
    perform viewgate.declare_conflict_groups($3);
  end if;
  return coalesce(applied, (select m.version from viewgate.model m));
end $$;

-- ── revocation ────────────────────────────────────────────────────────────────────────────────────────────────────────────

-- Tokens that count no more although they have not expired. Every node reads what is new here several times in a second. A row is
-- of no use once every token that it means has expired, and goes then.
create table viewgate.revocations (
  id bigint generated always as identity primary key,
  issuer text,      -- null = whoever issued the token
  principal text,   -- the sub of tokens: those issued up to `revoked`; later ones count
  token_id text,    -- the jti of one token
  revoked timestamptz not null default clock_timestamp(),
  until timestamptz not null,
  revoked_by name not null default session_user,
  check ((principal is null) <> (token_id is null))
);

-- Revokes all tokens of a principal that were issued up to now, or the token of an id; returns the revocation's id. `lasting`: at
-- least as long as the tokens live, and at most 100 years. Grant usage on schema viewgate and execute on this function to whoever may.
create function viewgate.revoke(principal text default null, token_id text default null, issuer text default null,
                                lasting interval default '400 days') returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  made bigint;
begin
  if ($1 is null) = ($2 is null) or coalesce($1, $2) = '' then
    raise exception 'viewgate.revoke: wants a principal or a token_id';
  end if;
  if $4 is null or $4 <= '0' then raise exception 'viewgate.revoke: lasting must be a time above 0, not %', $4; end if;
  if $4 > '876000 hours' then raise exception 'viewgate.revoke: lasting must be at most 876000 hours (100 years), not %', $4; end if;
  perform viewgate.force_durable();
  -- One after the other, so that ids become visible in their order: nodes ask for what is above the last one they know.
  lock table viewgate.revocations in share row exclusive mode;
  delete from viewgate.revocations where until < now();
  insert into viewgate.revocations (issuer, principal, token_id, until) values ($3, $1, $2, now() + $4) returning id into made;
  return made;
end $$;

-- ── tickets ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

-- What stands for a token, once and for a short while, on every node. Neither the ticket nor the token is here: a digest to find it by,
-- and the token sealed under a key that the ticket gives. Unlogged: a crash empties it, and then no ticket is used a second time
-- because its use was lost.
create unlogged table viewgate.tickets (
  digest text primary key,
  sealed text not null,
  principal text not null,   -- whose it is, to bound how many one has
  until timestamptz not null
);
create index tickets_principal on viewgate.tickets (principal);
create index tickets_until on viewgate.tickets (until);

-- False: the principal has as many as it may. Takes some of those away that nobody used in time.
create function viewgate.issue_ticket(digest text, sealed text, principal text, lasting interval, at_most int) returns boolean
language plpgsql set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
  delete from viewgate.tickets t
    where t.digest in (select e.digest from viewgate.tickets e where e.until < now() limit 100 for update skip locked);
  if (select count(*) from viewgate.tickets t where t.principal = $3) >= $5 then return false; end if;
  insert into viewgate.tickets values ($1, $2, $3, now() + $4);
  return true;
end $$;

-- What was sealed for it; null where there is none of this digest, its time is over, or it was used.
create function viewgate.use_ticket(digest text) returns text
language sql set search_path = pg_catalog, pg_temp as $$
  delete from viewgate.tickets t where t.digest = $1 returning case when t.until >= now() then t.sealed end
$$;

revoke all on all functions in schema viewgate from public;
