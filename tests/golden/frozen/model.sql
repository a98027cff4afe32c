create table accounts (id int4 primary key, owner text, balance int4, at timestamptz);
create view mine as select id from accounts where owner = claims.sub and balance < params.below;
create view recent as select id, balance from accounts where at >= params.since::timestamptz and balance in (1, 2.0);
create policy members on mine using (space.name = any(claims.spaces));
create policy members on recent using (space.name = any(claims.spaces));
