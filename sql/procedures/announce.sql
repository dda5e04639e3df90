-- For procedures: tells every broker that these partitions may have become ready, or with -queue_id
-- that what is believed of a queue no longer holds. In plpgsql, which keeps its plan.
CREATE OR REPLACE FUNCTION queen.announce(p_partitions int[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF cardinality(p_partitions) > 0 THEN
        INSERT INTO queen.batches (broker, n, partitions) VALUES (0, nextval('queen.sql_batches'), p_partitions);
    END IF;
END $$;
