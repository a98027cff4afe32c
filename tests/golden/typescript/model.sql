-- A column of each type, names that are none in TypeScript, and a table that people write.
create table odd (like public.odd) with (space = 'space');
create view "a \ view" as
  select id, space, small, amount, label, flag, uid, at, due, doc, """A b\", span, mood, tags, real4, real8, id + 1 as next
  from odd
  where id > params.low and mood = any(params."the moods") and flag is not distinct from params.flag;
create view plain as select id, space from odd;

create table parts (kind text, n int8, name text not null, amount numeric, ratio float8, spec jsonb, since timestamptz not null,
                    primary key (kind, n));
create view parts_of_kind as select kind, n, name, amount, spec from parts where kind = params.kind;
create table read_only (id uuid primary key, name text);
create policy write_parts on parts using (true);
create policy everyone on parts_of_kind using (true);
create policy everyone on plain using (true);
create policy everyone on "a \ view" using (true);
