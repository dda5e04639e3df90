-- For procedures: tells every broker but p_broker (0: every one) that these partitions may have become
-- ready, or with -queue_id that what is believed of a queue no longer holds. A negative n is nobody's
-- batch: nobody will ask what became of it. In plpgsql, which keeps its plan.
CREATE OR REPLACE FUNCTION queen.announce(p_partitions int[], p_broker bigint DEFAULT 0)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF cardinality(p_partitions) > 0 THEN
        INSERT INTO queen.batches (broker, n, partitions)
        VALUES (p_broker, -nextval('queen.sql_batches'), p_partitions);
    END IF;
END $$;
