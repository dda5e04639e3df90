-- For procedures: tells every broker that these partitions may have become ready, or with -queue_id
-- that what is believed of a queue no longer holds.
CREATE OR REPLACE FUNCTION queen.announce(p_partitions int[]) RETURNS void LANGUAGE sql AS $$
    INSERT INTO queen.batches (broker, n, partitions)
    SELECT 0, nextval('queen.sql_batches'), p_partitions WHERE cardinality(p_partitions) > 0
$$;
