#include "ledger/grants.hpp"

namespace viewgate::ledger {
namespace {

// All that serving uses, by name: what is new in the schema is nobody's until it is listed here. What changes what is captured,
// seen or kept is an administrator's; append and tag are a back-end's. Revoking is a right that is asked for by name. Nothing here
// moves the counter of revocations, by which nodes find new ones. Of commits a node only locks those that it prunes, for which
// the right to one column will do: one that no update may change.
constexpr const char* kRights = R"(
with wanted(place, kind, object, name, privilege, optional) as (
  select 1, 'schema ', 'viewgate'::regnamespace::oid, 'viewgate', 'usage', false
  union all select 2, '', c.oid, c.oid::regclass::text, 'select', false
    from pg_class c where c.relnamespace = 'viewgate'::regnamespace and c.relkind in ('r', 'v')
  union all select 2, '', c.oid, c.oid::regclass::text, privilege, false
    from (values ('arming', 'insert'), ('changes', 'insert, delete'), ('clients', 'insert, update'),
                 ('commits', 'insert, update (stamp), delete'), ('horizons', 'insert, update'), ('keys', 'insert'),
                 ('looks', 'insert, update, delete'), ('pruned_versions', 'insert, delete'),
                 ('records', 'insert, update, delete'), ('tickets', 'insert, update, delete'),
                 ('waiting', 'insert, delete')) t(name, rights)
    join pg_class c on c.relnamespace = 'viewgate'::regnamespace and c.relname = t.name,
    regexp_split_to_table(t.rights, ', ') privilege
  union all select 3, 'sequence ', c.oid, c.oid::regclass::text, privilege, false
    from (values ('bell', 'select'), ('bell', 'update'), ('change_counter', 'usage')) t(name, privilege)
    join pg_class c on c.relnamespace = 'viewgate'::regnamespace and c.relname = t.name
  union all select 4, 'function ', p.oid, p.oid::regprocedure::text, 'execute', p.proname = 'revoke'
    from pg_proc p where p.pronamespace = 'viewgate'::regnamespace and p.proname in (
      'append_commit', 'arm_bell', 'canonical', 'capture_obstacle', 'check_captures', 'column_marks', 'creation_lock',
      'first_kept', 'force_durable', 'is_durable', 'is_read_committed', 'issue_ticket', 'keep_versions', 'last_look',
      'lock_space', 'look', 'moves', 'need_read_committed', 'number', 'object_text', 'open_mutation', 'open_mutations',
      'places', 'position_stamp', 'prunable', 'prune_batch', 'prune_before', 'pruner_lock', 'random_mark', 'read_log',
      'receipts', 'retained_from', 'revoke', 'ring', 'settled_head', 'signed_fields', 'signed_id', 'space_key',
      'told_versions', 'triggers_of', 'use_ticket', 'waiting_in', 'watermark', 'with_own', 'write_mutation',
      'write_mutations', 'writer')
  union all select 5, 'schema ', n.oid, quote_ident(n.nspname), 'usage', false
    from pg_namespace n where n.oid in (select c.relnamespace from viewgate.captures k join pg_class c on c.oid = k.relation)
  union all select 5, 'database ', d.oid, quote_ident(d.datname), 'connect', false
    from pg_database d where d.datname = current_database()
  union all select 6, '', k.relation::oid, k.relation::regclass::text, 'select', false from viewgate.captures k
),
held(grantee, kind, object, name, privilege) as (
  select a.grantee, 'schema ', n.oid, 'viewgate', lower(a.privilege_type) from pg_namespace n, aclexplode(n.nspacl) a
    where n.oid = 'viewgate'::regnamespace and a.grantee <> n.nspowner
  union all
  select a.grantee, case c.relkind when 'S' then 'sequence ' else '' end, c.oid, c.oid::regclass::text, lower(a.privilege_type)
    from pg_class c, aclexplode(c.relacl) a where c.relnamespace = 'viewgate'::regnamespace and a.grantee <> c.relowner
  union all
  select a.grantee, '', c.oid, c.oid::regclass::text, format('%s (%I)', lower(a.privilege_type), t.attname)
    from pg_class c join pg_attribute t on t.attrelid = c.oid, aclexplode(t.attacl) a
    where c.relnamespace = 'viewgate'::regnamespace and a.grantee <> c.relowner
  union all
  select a.grantee, 'function ', p.oid, p.oid::regprocedure::text, 'execute' from pg_proc p, aclexplode(p.proacl) a
    where p.pronamespace = 'viewgate'::regnamespace and a.grantee <> p.proowner
))";

constexpr const char* kStatements = R"(,
role as (select oid from pg_roles where rolname = $1::text),
needed as (select * from wanted where not optional or $2::bool),
statements(place, verb, kind, name, privileges) as (
  select 0, 'revoke', kind, name, string_agg(privilege, ', ' order by privilege) from held
    where grantee = (select oid from role) and (kind, object, privilege) not in (select kind, object, privilege from needed)
    group by kind, object, name
  union all
  select place, 'grant', kind, name, string_agg(privilege, ', ' order by privilege) from needed group by place, kind, object, name
)
select format('%s %s on %s%s %s %I;', verb, privileges, kind, name, case verb when 'grant' then 'to' else 'from' end, $1::text)
from statements order by place, name)";

// A role that was granted all that is wanted in our schema is a node's. One of an application has a part of it, or other rights.
constexpr const char* kFindings = R"(,
asking as (
  select r.oid, n.nspowner as owner, r.rolsuper or pg_has_role(n.nspowner, 'usage') as owns
  from pg_namespace n, pg_roles r where n.nspname = 'viewgate' and r.rolname = current_user
),
lacking(text) as (
  select format('%s on %s%s', string_agg(w.privilege, ', ' order by w.privilege), w.kind, w.name) from wanted w, asking a
  where not a.owns and not w.optional and not case w.kind
    when 'schema ' then has_schema_privilege(w.object, w.privilege)
    when 'database ' then has_database_privilege(w.object, w.privilege)
    when 'sequence ' then has_sequence_privilege(w.object, w.privilege)
    when 'function ' then has_function_privilege(w.object, w.privilege)
    else case when w.privilege like '% (%)'
      then has_column_privilege(w.object, substring(w.privilege from ' \((.*)\)'), split_part(w.privilege, ' ', 1))
      else has_table_privilege(w.object, w.privilege) end end
  group by w.place, w.kind, w.object, w.name order by w.place, w.name
),
lacks(number, shown) as (select count(*), array_to_string((array_agg(text))[1:5], '; ') from lacking),
others(oid, name) as (
  select distinct h.grantee, h.grantee::regrole::text from held h where h.grantee <> 0
),
judged as (
  select o.*, not exists (
    select w.kind, w.object, w.privilege from wanted w where w.place < 5 and not w.optional
    except select h.kind, h.object, p.each from held h, unnest(array[h.privilege, h.privilege || ' (stamp)']) p(each)
      where h.grantee = o.oid) as serves  -- who has it on a table has it on its column
  from others o
),
rights(oid, text) as (
  select h.grantee, format('%s on %s%s', string_agg(h.privilege, ', ' order by h.privilege), h.kind, h.name)
  from held h join judged j on j.oid = h.grantee
  where h.kind <> 'function ' and h.privilege <> 'usage' and not j.serves
    or j.serves and (h.kind, h.object, h.privilege) not in (select kind, object, privilege from wanted)
  group by h.grantee, h.kind, h.object, h.name
),
summed(oid, number, shown) as (
  select oid, count(*), array_to_string((array_agg(text order by text))[1:5], '; ') from rights group by oid
),
hidden(oid, tables) as (  -- where row_security = off makes an error of every snapshot (ddl-rowsecurity)
  select r.oid, string_agg(k.relation::text, ', ' order by k.relation::text)
  from viewgate.captures k join pg_class t on t.oid = k.relation, pg_roles r
  where t.relrowsecurity and not (r.rolsuper or r.rolbypassrls) and (t.relforcerowsecurity or not pg_has_role(r.oid, t.relowner, 'usage'))
    and r.oid in (select a.oid from asking a union all select j.oid from judged j where j.serves)
  group by r.oid
)
select 'ok', format('%I has the schema of %s', current_user, a.owner::regrole) from asking a where a.owns
union all
select 'ok', format('%I is no owner and has all that serving needs', current_user) from asking a, lacks l where not a.owns and l.number = 0
union all
select 'fail', format('%I lacks %s%s: run what `viewgate grants --role %1$I` prints, as %4$s', current_user, l.shown,
                      case when l.number > 5 then format('; and %s more', l.number - 5) end, a.owner::regrole)
from asking a, lacks l where l.number > 0
union all
select 'fail', 'everybody may use the schema: revoke all on schema viewgate from public' where exists (
  select from held where grantee = 0 and kind = 'schema ')
union all
select 'warn', format('everybody may %s on %s: the log holds all values', string_agg(h.privilege, ', ' order by h.privilege), h.name)
from held h where h.grantee = 0 and h.kind = '' group by h.object, h.name
union all
select 'ok', format('%s has what `viewgate grants` prints', j.name) from judged j, asking a where j.serves and (a.owns or j.oid <> a.oid)
union all
select 'warn', format(case when j.serves then '%s has more than serving needs: %s%s; what `viewgate grants --role %1$s` prints takes it'
                      else '%s has %s%s: the log holds all values' end, j.name, s.shown,
                      case when s.number > 5 then format('; and %s more', s.number - 5) end)
from judged j join summed s using (oid), asking a, lacks l where j.oid <> a.oid or l.number = 0
union all
select case when h.oid = a.oid then 'fail' else 'warn' end,
       format('row security hides rows of %s from %s, and views over that are unavailable to everybody: alter role %2$s bypassrls',
              h.tables, h.oid::regrole)
from hidden h, asking a)";

}  // namespace

std::string grants_sql() { return std::string(kRights) + kStatements; }

std::string examine_roles_sql() { return std::string(kRights) + kFindings; }

}  // namespace viewgate::ledger
