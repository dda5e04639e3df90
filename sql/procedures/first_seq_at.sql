-- The offset of the first message of a partition created at or after p_time; its end when there is
-- none. created_at rises with base_seq, so a binary search on the primary key finds it.
CREATE OR REPLACE FUNCTION queen.first_seq_at(p_partition_id int, p_time timestamptz)
RETURNS bigint LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_low     queen.segments.base_seq%TYPE;  -- a place whose segment began at or before p_time
    v_high    queen.segments.base_seq%TYPE;
    v_middle  bigint;
    v_segment record;
BEGIN
    SELECT base_seq, count, created_at INTO v_segment FROM queen.segments
    WHERE partition_id = p_partition_id ORDER BY base_seq LIMIT 1;
    IF NOT FOUND THEN RETURN 0; END IF;
    IF v_segment.created_at >= p_time THEN RETURN v_segment.base_seq; END IF;
    v_low := v_segment.base_seq;

    SELECT base_seq, count, created_at INTO v_segment FROM queen.segments
    WHERE partition_id = p_partition_id ORDER BY base_seq DESC LIMIT 1;
    v_high := v_segment.base_seq;
    IF v_segment.created_at <= p_time THEN v_low := v_high; END IF;

    WHILE v_low < v_high LOOP
        v_middle := v_low + (v_high - v_low + 1) / 2;
        SELECT base_seq, count, created_at INTO v_segment FROM queen.segments
        WHERE partition_id = p_partition_id AND base_seq <= v_middle ORDER BY base_seq DESC LIMIT 1;
        IF v_segment.created_at <= p_time THEN
            v_low := v_middle;
        ELSE
            v_high := v_segment.base_seq - 1;
        END IF;
    END LOOP;

    SELECT base_seq, count, created_at INTO v_segment FROM queen.segments
    WHERE partition_id = p_partition_id AND base_seq <= v_low ORDER BY base_seq DESC LIMIT 1;
    RETURN v_segment.base_seq
         + least(v_segment.count, (extract(epoch FROM p_time - v_segment.created_at) * 1000000)::bigint);
END $$;
