-- The transactionIds of a partition for a broker's memory, a page of whole segments at a time: from p_from upwards, or
-- with p_from NULL from p_to downwards. txns is NULL where the segment has no ids without a time inside. No row: there
-- are no segments there. A segment that is seen is seen with all before it, so the rows leave nothing out.
CREATE OR REPLACE FUNCTION queen.load_ids(p_partition_id int, p_from bigint, p_to bigint)
RETURNS TABLE (base_seq bigint, count int, txns text) LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_segments_max CONSTANT int := 1000;
    v_ids_max      CONSTANT int := 10000;
BEGIN
    RETURN QUERY
    SELECT g.base_seq, g.count, CASE WHEN g.untimed IS DISTINCT FROM false THEN g.txns END
    FROM (SELECT s.*, row_number() OVER w AS place, sum(CASE WHEN s.untimed IS DISTINCT FROM false THEN s.count ELSE 0 END) OVER w AS ids
          FROM (SELECT x.base_seq, x.count, x.untimed, x.txns FROM queen.segments x
                WHERE p_from IS NULL AND x.partition_id = p_partition_id AND x.base_seq < p_to
                ORDER BY x.base_seq DESC LIMIT v_segments_max) s
          WINDOW w AS (ORDER BY s.base_seq DESC)) g
    WHERE g.place = 1 OR g.ids <= v_ids_max
    UNION ALL
    SELECT g.base_seq, g.count, CASE WHEN g.untimed IS DISTINCT FROM false THEN g.txns END
    FROM (SELECT s.*, row_number() OVER w AS place, sum(CASE WHEN s.untimed IS DISTINCT FROM false THEN s.count ELSE 0 END) OVER w AS ids
          FROM (SELECT x.base_seq, x.count, x.untimed, x.txns FROM queen.segments x
                WHERE x.partition_id = p_partition_id AND x.base_seq >= p_from AND x.base_seq < p_to
                ORDER BY x.base_seq LIMIT v_segments_max) s
          WINDOW w AS (ORDER BY s.base_seq)) g
    WHERE g.place = 1 OR g.ids <= v_ids_max;
END $$;
