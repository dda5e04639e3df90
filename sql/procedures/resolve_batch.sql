-- What became of a write transaction whose connection was lost? Inserts its key again, waiting for it if
-- it still runs. committed: it is stored, and where. Not committed: it never will be, from the commit of
-- this call on.
CREATE OR REPLACE FUNCTION queen.resolve_batch(p_broker bigint, p_n bigint)
RETURNS TABLE (committed boolean, partitions int[], base_seqs bigint[]) LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO queen.batches (broker, n) VALUES (p_broker, p_n) ON CONFLICT DO NOTHING;
    IF FOUND THEN
        RETURN QUERY SELECT false, NULL::int[], NULL::bigint[];
    ELSE
        RETURN QUERY SELECT true, b.partitions, b.base_seqs FROM queen.batches b WHERE b.broker = p_broker AND b.n = p_n;
    END IF;
END $$;
