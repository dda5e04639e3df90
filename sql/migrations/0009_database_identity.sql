-- Who this database is, whatever its address: a broker's file buffer keeps the id with the messages it holds, and
-- replays them into no other database. Copies of the database (a standby, a restored dump) have the same id.
CREATE TABLE queen.database_identity (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),  -- there is one row
    id  uuid NOT NULL DEFAULT gen_random_uuid()
);
INSERT INTO queen.database_identity DEFAULT VALUES;
