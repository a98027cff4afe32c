-- The model of the demo: two views over pgbench's accounts, which pgbench itself knows nothing of. A branch is a space.

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
