-- The model of the demo. First two views over pgbench's accounts, which pgbench itself knows nothing of. A branch is a space.

create table accounts (like public.pgbench_accounts) with (space = 'bid');

-- Records cross zero all the time, so they enter and leave.
create view overdrawn as
  select aid, bid, abalance from accounts
  where abalance < 0;

-- What one teller watches: a range of their choice, and only the accounts that are theirs.
create view watch as
  select aid, abalance from accounts
  where abalance between params.low and params.high and aid % 10 = claims.digit::int;

create policy everyone on overdrawn using (true);
create policy tellers on watch using (claims.sub is not null);

-- The board: cards that the people themselves write, through viewgate. A project is a space.
create table cards (id uuid primary key, list text not null, title text not null, note text, assignee text, priority int4 not null,
                    due date, place numeric not null)
  with (conflict_group_plan = 'priority, due', conflict_group_position = 'list, place');

-- Who leads sees every card; everybody else their own and those that nobody has. So a card that is handed over leaves one screen
-- and enters another, in one commit.
create view board as
  select id, list, title, note, assignee, priority, due, place from cards
  where claims.role = 'lead' or assignee = claims.sub or assignee is null;

create policy people on board using (claims.role is not null);
create policy see on cards for select using (true);
create policy add on cards for insert with check (claims.role is not null);
create policy work on cards for update using (claims.role = 'lead' or assignee = claims.sub or assignee is null)
  with check (claims.role is not null);
create policy clear on cards for delete using (claims.role = 'lead');
