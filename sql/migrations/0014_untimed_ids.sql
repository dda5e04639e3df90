-- Deduplication of transactionIds without a time inside them (dedup_runs explains). The log itself holds them; here
-- is the index over it: per partition sorted runs of hashes, made behind the pushes and merged in the background.
-- queen.dedup keeps what it has, and goes on taking ids whose time is far from that of their segment.

-- Whether ids without a time are among the transactionIds. NULL: there are none, or they were stored before this
-- column was, and are in queen.dedup.
ALTER TABLE queen.segments ADD COLUMN untimed boolean;

-- What hashes are made with: nobody who does not read this table can make two ids collide. proof is the hash of a
-- fixed text: on a server whose function hashes in another way it differs, and the runs are made anew.
CREATE TABLE queen.dedup_key (
    one   boolean PRIMARY KEY DEFAULT true CHECK (one),  -- there is one row
    seed  bigint NOT NULL,
    proof bigint NOT NULL
);
INSERT INTO queen.dedup_key (seed, proof)
SELECT k.seed, hashtextextended('queen', k.seed)
FROM (SELECT ('x' || left(gen_random_uuid()::text, 8) || left(gen_random_uuid()::text, 8))::bit(64)::bigint AS seed) k;

-- A run covers the segments of a partition from from_seq up to to_seq. Ready runs do not overlap, and segments
-- behind the last of them are searched themselves.
CREATE TABLE queen.dedup_runs (
    partition_id int NOT NULL,
    from_seq     bigint NOT NULL,
    level        int NOT NULL,             -- 1: made of segments, n + 1: merged from runs of level n
    to_seq       bigint NOT NULL,
    ids          bigint NOT NULL,          -- how many, about
    state        text NOT NULL CHECK (state IN ('ready', 'building', 'dropped')),
    parts        int NOT NULL DEFAULT 1,   -- building: in so many ranges of hashes
    built        int NOT NULL DEFAULT 0,   -- of which so many are there
    PRIMARY KEY (partition_id, from_seq, level)
) WITH (vacuum_truncate = off);
-- What the background has to do.
CREATE INDEX dedup_runs_work ON queen.dedup_runs (partition_id, from_seq, level) WHERE state <> 'ready';

-- The hashes of a run, in rows of at most about 128; equal ones are in one row. The id of hashes[i] is at offset
-- from_seq + places[i].
CREATE TABLE queen.dedup_hashes (
    partition_id int NOT NULL,
    from_seq     bigint NOT NULL,
    level        int NOT NULL,
    first_hash   bigint NOT NULL,
    hashes       bigint[] NOT NULL,
    places       int[] NOT NULL,
    PRIMARY KEY (partition_id, from_seq, level, first_hash)
) WITH (vacuum_truncate = off, autovacuum_vacuum_scale_factor = 0.1, autovacuum_analyze_threshold = 2000000000,
        autovacuum_vacuum_insert_threshold = 1000000);
ALTER TABLE queen.dedup_hashes ALTER COLUMN hashes SET STORAGE EXTERNAL, ALTER COLUMN places SET STORAGE EXTERNAL;

-- Whoever may push from SQL may go on.
DO $$
DECLARE v record;
BEGIN
    FOR v IN SELECT DISTINCT CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END AS role,
                    a.privilege_type AS privilege
             FROM pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) a
             WHERE c.oid = 'queen.dedup'::regclass AND a.grantee <> c.relowner
               AND a.privilege_type IN ('SELECT', 'INSERT') LOOP
        EXECUTE format('GRANT %s ON queen.dedup_key, queen.dedup_runs, queen.dedup_hashes TO %s', v.privilege, v.role);
    END LOOP;
END $$;
