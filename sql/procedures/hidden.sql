-- requires: bits
-- Which messages of [p_from, p_to) are hidden from a group (queen.hidden_messages), as a bitmap from p_from on;
-- NULL when none is. p_group_id NULL: those that are hidden from every group. only_group is the one group that is given
-- them; 0: they were deleted; -1: a clear has still to remove them (clear_queue).
CREATE OR REPLACE FUNCTION queen.hidden_bits(p_partition_id int, p_group_id int, p_from bigint, p_to bigint)
RETURNS bit varying LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_bits  text := '';
    v_range record;
BEGIN
    FOR v_range IN
        SELECT greatest(h.from_seq, p_from) AS from_seq, least(h.to_seq, p_to) AS to_seq FROM queen.hidden_messages h
        WHERE h.partition_id = p_partition_id AND h.from_seq < p_to AND h.to_seq > p_from
          -- the ranges do not overlap: only the last that begins before p_from may reach into it
          AND h.from_seq >= coalesce((SELECT b.from_seq FROM queen.hidden_messages b
                                      WHERE b.partition_id = p_partition_id AND b.from_seq <= p_from
                                      ORDER BY b.from_seq DESC LIMIT 1), 0)
          AND (h.only_group <= 0 OR h.only_group <> p_group_id)
        ORDER BY h.from_seq
    LOOP
        v_bits := v_bits || repeat('0', (v_range.from_seq - p_from)::int - length(v_bits))
                         || repeat('1', (v_range.to_seq - v_range.from_seq)::int);
    END LOOP;
    RETURN nullif(v_bits, '')::bit varying;
END $$;

-- p_settled, a bitmap from p_cursor on, with what is hidden from the group set too, as far as a lease may reach.
CREATE OR REPLACE FUNCTION queen.with_hidden(p_partition_id int, p_group_id int, p_cursor bigint, p_settled bit varying)
RETURNS bit varying LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN queen.bits_or(p_settled, queen.hidden_bits(p_partition_id, p_group_id, p_cursor, p_cursor + 10000));
END $$;

-- The first offset from p_seq on whose message is still in the log; p_seq when there is none.
CREATE OR REPLACE FUNCTION queen.first_stored(p_partition_id int, p_seq bigint)
RETURNS bigint LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN greatest(p_seq, (  -- greatest() passes over NULL
        SELECT s.base_seq FROM queen.segments s
        WHERE s.partition_id = p_partition_id AND s.payloads IS NOT NULL AND s.base_seq + s.count > p_seq
          AND s.base_seq >= coalesce((SELECT t.base_seq FROM queen.segments t
                                      WHERE t.partition_id = p_partition_id AND t.base_seq <= p_seq
                                      ORDER BY t.base_seq DESC LIMIT 1), 0)
        ORDER BY s.base_seq LIMIT 1));
END $$;

-- The first message from p_cursor on that is neither set in p_settled, a bitmap from there on, nor hidden. What was
-- cleared or expired in between is stepped over. REQUIRES: p_cursor is not in such a gap
CREATE OR REPLACE FUNCTION queen.behind_hidden(p_partition_id int, p_group_id int, p_cursor bigint, p_settled bit varying)
RETURNS bigint LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_cursor bigint := p_cursor;
    v_step   int;
BEGIN
    LOOP
        v_step := queen.bits_leading(queen.with_hidden(p_partition_id, p_group_id, v_cursor,
                                                       queen.bits_from(p_settled, v_cursor - p_cursor)));
        EXIT WHEN v_step = 0;
        v_cursor := queen.first_stored(p_partition_id, v_cursor + v_step);
    END LOOP;
    RETURN v_cursor;
END $$;

-- How many messages of [p_from, p_to) are hidden from a group (p_group_id NULL: from every group) and not set in
-- p_settled, a bitmap from p_from on.
CREATE OR REPLACE FUNCTION queen.hidden_count(p_partition_id int, p_group_id int, p_from bigint, p_to bigint,
                                              p_settled bit varying DEFAULT NULL)
RETURNS bigint LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN coalesce((
        SELECT sum(r.to_seq - r.from_seq - coalesce(bit_count(
                   substring(queen.bits_from(p_settled, r.from_seq - p_from) FROM 1 FOR (r.to_seq - r.from_seq)::int)), 0))
        FROM (SELECT greatest(h.from_seq, p_from) AS from_seq, least(h.to_seq, p_to) AS to_seq
              FROM queen.hidden_messages h
              WHERE h.partition_id = p_partition_id AND h.from_seq < p_to AND h.to_seq > p_from
                AND (h.only_group <= 0 OR h.only_group <> p_group_id)) r), 0);
END $$;
